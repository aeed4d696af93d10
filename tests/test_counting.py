"""Counting everything at once, and leaving out what would take too much: by rule, and saying so."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.histories import Fact
from tests.strategies import fact_lists, shuffled

from casegraph import kernels
from casegraph.casebase import CaseBase
from casegraph.graph.arrays import Ids
from casegraph.graph.graph import Graph
from casegraph.settings import Settings
from casegraph.statistics.counts import KINDS, TOO_MANY, UNLIMITED, Counting, Hits, fair_share
from casegraph.statistics.path_types import lengths, packed


def everyone(graph: Graph) -> Ids:
    return np.arange(len(graph.entities), dtype=np.int32)


def closed_paths(graph: Graph, n: int) -> list[list[int]]:
    """Hits by looking at every entity, which test_statistics compares with the oracle."""
    together = np.full(len(graph.entities), -1, dtype=np.int32)
    wanted, counters = np.zeros(0, dtype=np.bool), np.zeros(2, dtype=np.int64)
    columns = kernels.closed_paths(
        graph.kernel, everyone(graph), together, wanted, n, n, 2, counters
    )
    return [column.tolist() for column in columns[1:]]


@given(fact_lists(most=20), st.integers(1, 5))
def test_finding_every_cycle_once_gives_the_hits_of_looking_at_every_entity(
    facts: list[Fact], n: int
) -> None:
    graph = Graph.of(facts)
    found = Counting(graph, Settings(max_length=n)).cycles(everyone(graph))
    assert [found.relations.tolist(), found.types.tolist(), found.hits.tolist()] == closed_paths(
        graph, n
    )


@given(fact_lists(most=20), st.integers(1, 5), st.integers(1, 4))
def test_parts_of_the_entities_add_up_to_everyone(facts: list[Fact], n: int, parts: int) -> None:
    graph = Graph.of(facts)
    counting = Counting(graph, Settings(max_length=n))
    whole = counting.cycles(everyone(graph))
    added = Hits.sum(
        [counting.cycles(everyone(graph)[part::parts].copy()) for part in range(parts)]
    )
    for column in ("relations", "types", "hits", "work"):
        assert getattr(whole, column).tolist() == getattr(added, column).tolist()


def hub(leaves: int) -> list[Fact]:
    """One entity that all others know, in two ways, and a few that know each other."""
    some = [
        (f"leaf {k}", relation, "hub") for k in range(leaves) for relation in ("knows", "likes")
    ]
    return [*some, *((f"leaf {k}", "knows", f"leaf {k + 1}") for k in range(20))]


def test_no_cycle_is_looked_for_through_an_entity_that_has_more_edges() -> None:
    work = []
    for leaves in (1_000, 10_000):
        graph = Graph.of(hub(leaves))
        work.append(Counting(graph, Settings()).cycles(everyone(graph)).work.max())
    assert work[1] <= 11 * work[0]


def test_lengths_that_take_too_much_are_left_out_and_all_longer_ones() -> None:
    random = Random(1)
    facts = [
        (f"e{random.randrange(12)}", f"r{random.randrange(3)}", f"e{random.randrange(12)}")
        for _ in range(150)
    ]
    graph = Graph.of(facts)
    whole = Counting(graph, Settings(max_length=4)).cycles(everyone(graph))
    for longest, most in enumerate(whole.work.tolist()):
        settings = Settings(max_length=4, counting=most - 1)
        kept, found = Counting(graph, settings).cycles(everyone(graph)).within(most - 1, 4)
        assert found <= longest
        rows = lengths(whole.types, 4) <= found
        assert kept.types.tolist() == whole.types[rows].tolist()
        assert kept.hits.tolist() == whole.hits[rows].tolist()


@given(fact_lists(least=8, most=20), st.integers(0, 5), st.integers(20, 400))
def test_what_is_left_out_does_not_depend_on_order_or_company(
    facts: list[Fact], seed: int, most: int
) -> None:
    settings = Settings(counting=most, support=1)
    together, alone = CaseBase(settings), CaseBase(settings)
    together.update(add=facts)
    together.prepare()
    alone.update(add=shuffled(Random(seed), facts))
    for relation in sorted({relation for _, relation, _ in facts}):
        heads = sorted({head for head, *_ in facts})
        one, other = (
            cases.ask_many([(h, relation) for h in heads], top=-1) for cases in (together, alone)
        )
        assert [(a.exact, list(a)) for a in one] == [(a.exact, list(a)) for a in other]


@given(fact_lists(least=8, most=20), st.integers(20, 400))
def test_an_update_of_a_graph_that_is_too_much_gives_what_a_rebuild_gives(
    facts: list[Fact], most: int
) -> None:
    lived, rebuilt = (
        CaseBase(Settings(counting=most, support=1)),
        CaseBase(Settings(counting=most, support=1)),
    )
    lived.update(add=facts[:-2])
    lived.prepare()
    lived.update(add=facts[-2:], retract=facts[:1])
    rebuilt.update(add=[fact for fact in facts if fact != facts[0] or fact in facts[-2:]])
    for head, relation, _ in rebuilt.graph.facts():
        one, other = lived.ask(head, relation, top=-1), rebuilt.ask(head, relation, top=-1)
        assert (one.exact, list(one)) == (other.exact, list(other))


def test_what_is_left_out_counts_as_reached_and_as_wrong() -> None:
    graph = Graph.of([*hub(100), ("hub", "answers", "leaf 0"), ("leaf 1", "answers", "leaf 0")])
    types = np.array([1 + (2 << 20)])  # knows, and back
    answers = graph.relations.find("answers")
    assert answers is not None
    knows = np.full(1, 2 * answers, dtype=np.int32)
    counting = Counting(graph, Settings())
    reached, right, left_out = counting.reach(
        knows, types, everyone(graph), max_widths=np.array([2])
    )
    assert (reached.tolist(), right.tolist(), left_out.tolist()) == ([100 + 1], [0], [1])
    whole = counting.reach(knows, types, everyone(graph))
    assert [column.tolist() for column in whole] == [[99], [1], [0]]


def crowded(seed: int) -> list[Fact]:
    """Entities with many edges, so that steps are wide.

    Some know all of a kind, some themselves.
    """
    random = Random(seed)
    few = [
        (f"e{random.randrange(9)}", f"r{random.randrange(2)}", f"e{random.randrange(150)}")
        for _ in range(500)
    ]
    return [
        *few,
        *(
            (f"e{random.randrange(150)}", f"r{random.randrange(3)}", f"e{random.randrange(150)}")
            for _ in range(300)
        ),
    ]


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_counting_the_ends_of_wide_steps_in_bits_is_counting_them_one_by_one(
    seed: int, n: int
) -> None:
    graph = Graph.of(crowded(seed))
    counting, entities = Counting(graph, Settings(max_length=n)), everyone(graph)
    found = counting.cycles(entities)
    labels, types = found.relations[::3].copy(), found.types[::3].copy()
    every = (
        np.arange(len(entities) + 1) * len(types),
        np.tile(np.arange(len(types), dtype=np.int32), len(entities)),
    )
    in_bits, one_by_one = (
        counting.reach(labels, types, entities),
        counting.reach(labels, types, entities, every),
    )
    assert [column.tolist() for column in in_bits] == [column.tolist() for column in one_by_one]


def test_many_hits_of_clusters_are_sorted_and_those_of_each() -> None:
    graph = Graph.of(crowded(0))
    clusters, wanted = everyone(graph)[::-1] % 5, np.zeros(0, dtype=np.bool)

    def found(entities: Ids) -> list[tuple[int, ...]]:
        counters = np.zeros(2, dtype=np.int64)
        columns = kernels.closed_paths(graph.kernel, entities, clusters, wanted, 3, 3, 2, counters)
        return list(zip(*(column.tolist() for column in columns), strict=True))

    whole = found(everyone(graph))
    assert len(whole) > 1 << 10
    assert whole == [
        row
        for cluster in range(5)
        for row in found(np.flatnonzero(clusters == cluster).astype(np.int32))
    ]
    assert [row[:3] for row in whole] == sorted({row[:3] for row in whole})


def test_hits_of_many_relations_are_sorted() -> None:
    graph = Graph.of(
        [
            (f"a{k}", f"r{relation}", f"b{k}")
            for k in range(2_000)
            for relation in (k, k * 7 % 2_000)
        ]
    )
    found = Counting(graph, Settings()).cycles(everyone(graph))
    rows = list(zip(found.relations.tolist(), found.types.tolist(), strict=True))
    assert len(rows) > 1 << 10
    assert rows == sorted(set(rows))


def costs(facts: list[Fact], relation: str, n: int) -> list[list[int]]:
    """What counting the path types of a relation takes, each column sorted:
    ids give the order of steps.
    """
    graph = Graph.of(facts)
    asked = graph.relations.find(relation)
    assert asked is not None
    found = Counting(graph, Settings(max_length=n)).cycles(everyone(graph))
    types = found.types[found.relations == 2 * asked]
    return [
        sorted(column.tolist())
        for column in kernels.reach_cost(graph.kernel, 2 * asked, types, n, UNLIMITED, 2)
    ]


@given(fact_lists(least=1, most=20), st.integers(1, 5), st.integers(0, 5))
def test_what_counting_takes_is_a_matter_of_the_facts(facts: list[Fact], n: int, seed: int) -> None:
    relation = facts[0][1]
    assert costs(facts, relation, n) == costs(shuffled(Random(seed), facts), relation, n)


def test_what_counting_takes_is_known_from_the_walks_that_turn_not_back_at_once() -> None:
    """Three know the hub, and one of them is asked for:
    looking is 2 steps, following an edge 8, four ends are one.
    """
    graph = Graph.of(
        [*((f"leaf {k}", "knows", "hub") for k in range(3)), ("leaf 0", "asks", "leaf 1")]
    )
    knows, known_by = 0, 1
    asks = graph.relations.find("asks")
    assert (asks, graph.directions) == (1, 4)
    types = np.array([packed([knows, known_by], 3)])
    of_step, visits, dearest, of_type = kernels.reach_cost(graph.kernel, 2, types, 3, UNLIMITED, 1)
    assert of_step.tolist() == [0, 2 * 1 + 8 * 1, 2 * 1 + (3 - 1) // 4]
    assert (visits.tolist(), dearest.tolist(), of_type.tolist()) == ([0, 1, 1], [10], [2])
    assert [len(column) for column in kernels.reach_cost(graph.kernel, 2, types, 3, 0, 1)] == [
        0,
        0,
        0,
        0,
    ]


def test_a_path_type_that_is_too_much_to_look_at_is_left_out_for_everyone() -> None:
    graph = Graph.of(hub(30))
    found = Counting(graph, Settings()).cycles(everyone(graph))
    types = found.types[(found.relations == 0) & (found.hits > 1) & (found.types != 1)]
    counting = Counting(graph, Settings(counting=10))
    widest = counting.max_widths(0, types)
    assert widest is not None
    assert (widest == 0).any()
    heads = graph.edges(0).heads
    reached, right, left_out = counting.reach(0, types, heads, max_widths=widest)
    assert (reached[widest == 0].sum(), right[widest == 0].sum()) == (0, 0)
    assert set(left_out[widest == 0].tolist()) == {len(heads)}
    halves = [
        counting.reach(0, types, heads[part::2].copy(), max_widths=widest)[2] for part in (0, 1)
    ]
    assert (halves[0] + halves[1]).tolist() == left_out.tolist()


def test_a_crowd_is_answered_within_its_budget() -> None:
    """Everyone knows everyone, in five ways:
    a billion cycles of four, of which a million steps find none.
    """
    facts = [
        (f"e{a}", f"r{k}", f"e{b}")
        for a in range(40)
        for b in range(40)
        if a != b
        for k in range(5)
    ]
    graph = Graph.of(facts)
    assert Counting(graph, Settings(counting=10**6)).cycles(everyone(graph)).work.tolist()[1:] == [
        TOO_MANY,
        TOO_MANY,
    ]
    cases = CaseBase(Settings(counting=10**6))
    cases.update(add=facts)
    assert cases.ask("e0", "r0").exact is False


@given(st.lists(st.integers(0, 50), min_size=1, max_size=20), st.integers(0, 400))
def test_a_share_is_as_large_as_fits(needed: list[int], most: int) -> None:
    if sum(needed) > most:
        share = fair_share(np.array(needed), most)
        assert (
            sum(min(one, share) for one in needed)
            <= most
            < sum(min(one, share + 1) for one in needed)
        )


def test_answers_say_whether_counting_was_exact() -> None:
    facts = hub(30)
    for counting, exact in ((4_000_000_000, True), (100, False)):
        cases = CaseBase(Settings(counting=counting))
        cases.update(add=facts)
        assert cases.ask("leaf 3", "knows").exact is exact


def test_too_many_kinds_of_paths_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph.of(hub(10))
    found = Counting(graph, Settings()).cycles(everyone(graph))
    kinds = np.bincount(lengths(found.types, 3), minlength=4).tolist()
    monkeypatch.setattr("casegraph.statistics.counts.KINDS", kinds[3] - 1)
    assert found.within(UNLIMITED - 1, 3)[1] == 2
    assert kinds[3] < KINDS


def test_an_entity_that_came_later_reaches_nothing_on_an_earlier_graph() -> None:
    graph = Graph.of(hub(10))
    counting, types = Counting(graph, Settings()), np.array([1 + (2 << 20)])
    assert counting.reach(0, types, everyone(graph))[0].sum() > 0
    _, later = graph.entities.extended([f"later {k}" for k in range(100_000)])
    reached, right, left_out = counting.reach(0, types, later)
    assert (reached.tolist(), right.tolist(), left_out.tolist()) == ([0], [0], [0])
    only = np.arange(len(later) + 1, dtype=np.int64), np.zeros(len(later), dtype=np.int32)
    back = counting.reach_back(0, types, later, only, (everyone(graph)[:0], everyone(graph)[:0]))
    assert [column.tolist() for column in back] == [[0], [0]]
