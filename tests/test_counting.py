"""Counting everything at once, and leaving out what would take too much: by rule, and saying so."""

from collections.abc import Iterable
from itertools import permutations
from random import Random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.histories import Fact
from tests.strategies import fact_lists, random_fact, shuffled

from casegraph import kernels
from casegraph.casebase import CaseBase
from casegraph.graph.arrays import Counts, Ids, ids
from casegraph.graph.graph import Graph
from casegraph.settings import Settings
from casegraph.statistics.counts import (
    MOST_TYPES,
    TOO_MANY,
    UNLIMITED,
    Counting,
    Hits,
    Reach,
    fair_share,
)
from casegraph.statistics.path_types import lengths, packed


def everyone(graph: Graph) -> Ids:
    return np.arange(len(graph.entities), dtype=np.int32)


def lists(columns: Iterable[Ids | Counts]) -> list[list[int]]:
    return [column.tolist() for column in columns]


def closed_paths(graph: Graph, n: int) -> list[list[int]]:
    """Hits by looking at every entity, which test_statistics compares with the oracle."""
    together = np.full(len(graph.entities), -1, dtype=np.int32)
    wanted = np.zeros(0, dtype=np.bool)
    counters = np.zeros(2, dtype=np.int64)
    columns = kernels.closed_paths(
        graph.kernel, everyone(graph), together, wanted, n, n, 2, counters
    )
    return lists(columns[1:])


@given(fact_lists(most=20), st.integers(1, 5))
def test_finding_every_cycle_once_gives_the_hits_of_looking_at_every_entity(
    facts: list[Fact], n: int
) -> None:
    graph = Graph.of(facts)
    found = Counting(graph, Settings(max_length=n)).cycles(everyone(graph))
    columns: list[Ids | Counts] = [found.relations, found.types, found.hits]
    assert lists(columns) == closed_paths(graph, n)


@given(fact_lists(most=20), st.integers(1, 5), st.integers(1, 4))
def test_parts_of_the_entities_add_up_to_everyone(facts: list[Fact], n: int, parts: int) -> None:
    graph = Graph.of(facts)
    counting = Counting(graph, Settings(max_length=n))
    whole = counting.cycles(everyone(graph))
    shares = [everyone(graph)[part::parts].copy() for part in range(parts)]
    added = Hits.sum([counting.cycles(share) for share in shares])
    for column in ("relations", "types", "hits", "work"):
        assert getattr(whole, column).tolist() == getattr(added, column).tolist()


def hub(leaves: int) -> list[Fact]:
    """One entity that all others know, in two ways, and a few that know each other."""
    facts = []
    for k in range(leaves):
        facts.append((f"leaf {k}", "knows", "hub"))
        facts.append((f"leaf {k}", "likes", "hub"))
    for k in range(20):
        facts.append((f"leaf {k}", "knows", f"leaf {k + 1}"))
    return facts


def test_no_cycle_is_looked_for_through_an_entity_that_has_more_edges() -> None:
    work = []
    for leaves in (1_000, 10_000):
        graph = Graph.of(hub(leaves))
        work.append(Counting(graph, Settings()).cycles(everyone(graph)).work.max())
    assert work[1] <= 11 * work[0]


def test_lengths_that_take_too_much_are_left_out_and_all_longer_ones() -> None:
    random = Random(1)
    facts = [random_fact(random, heads=12, relations=3, tails=12) for _ in range(150)]
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
    together = CaseBase(settings)
    alone = CaseBase(settings)
    together.update(add=facts)
    together.prepare()
    alone.update(add=shuffled(Random(seed), facts))
    heads = sorted({head for head, *_ in facts})
    for relation in sorted({relation for _, relation, _ in facts}):
        questions = [(head, relation) for head in heads]
        for one, other in zip(
            together.ask_many(questions, top=-1), alone.ask_many(questions, top=-1), strict=True
        ):
            assert one.exact == other.exact
            assert list(one) == list(other)


# A few cycles more take many steps more.
GROWING = [
    *(("e0", "r0", tail) for tail in ("e0", "e1", "e2", "e3")),
    ("e0", "r1", "e1"),
    *(("e1", "r0", tail) for tail in ("e0", "e1", "e2")),
]

# The first fact is the only one of e1, and goes: the steps of the rest are just enough.
LEAVING = [
    *(("e0", "r0", tail) for tail in ("e1", "e0", "e2", "e3", "e4")),
    ("e0", "r1", "e4"),
    ("e2", "r0", "e0"),
    ("e3", "r0", "e3"),
]


@example(LEAVING, 53)
@example(GROWING, 110)
@example(GROWING, 180)
@given(fact_lists(least=8, most=20), st.integers(20, 400))
def test_an_update_of_a_graph_that_is_too_much_gives_what_a_rebuild_gives(
    facts: list[Fact], most: int
) -> None:
    lived = CaseBase(Settings(counting=most, support=1))
    rebuilt = CaseBase(Settings(counting=most, support=1))
    lived.update(add=facts[:-2])
    lived.prepare()
    lived.update(add=facts[-2:], retract=facts[:1])
    rebuilt.update(add=[fact for fact in facts if fact != facts[0] or fact in facts[-2:]])
    for head, relation, _ in rebuilt.graph.facts():
        one = lived.ask(head, relation, top=-1)
        other = rebuilt.ask(head, relation, top=-1)
        assert one.exact == other.exact
        assert list(one) == list(other)


def test_what_is_left_out_counts_as_reached_and_as_wrong() -> None:
    graph = Graph.of([*hub(100), ("hub", "answers", "leaf 0"), ("leaf 1", "answers", "leaf 0")])
    types = np.array([1 + (2 << 20)])  # knows, and back
    answers = graph.relations.find("answers")
    assert answers is not None
    knows = np.full(1, 2 * answers, dtype=np.int32)
    counting = Counting(graph, Settings())
    limited = counting.reach(knows, types, everyone(graph), max_widths=np.array([2]))
    assert lists(limited) == [[100 + 1], [0], [0], [0], [1]]
    whole = counting.reach(knows, types, everyone(graph))
    assert lists(whole) == [[99], [1], [98], [0], [0]]


def crowded(seed: int) -> list[Fact]:
    """Entities with many edges, so that steps are wide.

    Some know all of a kind, some themselves.
    """
    random = Random(seed)
    of_few = [random_fact(random, heads=9, relations=2, tails=150) for _ in range(500)]
    of_many = [random_fact(random, heads=150, relations=3, tails=150) for _ in range(300)]
    return of_few + of_many


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_counting_the_ends_of_wide_steps_in_bits_is_counting_them_one_by_one(
    seed: int, n: int
) -> None:
    graph = Graph.of(crowded(seed))
    counting = Counting(graph, Settings(max_length=n))
    entities = everyone(graph)
    found = counting.cycles(entities)
    labels = found.relations[::3].copy()
    types = found.types[::3].copy()
    in_bits = counting.reach(labels, types, entities)
    one_by_one = Reach.nowhere(types)
    for entity in entities:
        of_entity = counting.reach(labels, types, ids([entity]))
        for sums, counts in zip(one_by_one, of_entity, strict=True):
            sums[:] += counts
    assert lists(in_bits) == lists(one_by_one)


def test_many_hits_of_clusters_are_sorted_and_those_of_each() -> None:
    graph = Graph.of(crowded(0))
    clusters = everyone(graph)[::-1] % 5
    wanted = np.zeros(0, dtype=np.bool)

    def found(entities: Ids) -> list[tuple[int, ...]]:
        counters = np.zeros(2, dtype=np.int64)
        columns = kernels.closed_paths(graph.kernel, entities, clusters, wanted, 3, 3, 2, counters)
        return list(zip(*lists(columns), strict=True))

    whole = found(everyone(graph))
    assert len(whole) > 1 << 10
    of_clusters = []
    for cluster in range(5):
        members = np.flatnonzero(clusters == cluster).astype(np.int32)
        of_clusters += found(members)
    assert whole == of_clusters
    keys = [row[:3] for row in whole]
    assert keys == sorted(set(keys))


def test_hits_of_many_relations_are_sorted() -> None:
    facts = []
    for k in range(2_000):
        facts.append((f"a{k}", f"r{k}", f"b{k}"))
        facts.append((f"a{k}", f"r{k * 7 % 2_000}", f"b{k}"))
    graph = Graph.of(facts)
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
    columns = kernels.reach_cost(graph.kernel, 2 * asked, types, n, UNLIMITED, 2)
    return [sorted(column) for column in lists(columns)]


@given(fact_lists(least=1, most=20), st.integers(1, 5), st.integers(0, 5))
def test_what_counting_takes_is_a_matter_of_the_facts(facts: list[Fact], n: int, seed: int) -> None:
    relation = facts[0][1]
    assert costs(facts, relation, n) == costs(shuffled(Random(seed), facts), relation, n)


def test_what_counting_takes_is_known_from_the_walks_that_turn_not_back_at_once() -> None:
    """Three know the hub, and one of them is asked for:
    looking is 2 steps, following an edge 8, four ends are one.
    """
    knowing = [(f"leaf {k}", "knows", "hub") for k in range(3)]
    graph = Graph.of([*knowing, ("leaf 0", "asks", "leaf 1")])
    knows = 0
    known_by = 1
    asks = graph.relations.find("asks")
    assert asks == 1
    assert graph.directions == 4
    types = np.array([packed([knows, known_by], 3)])
    of_step, visits, dearest, of_type = kernels.reach_cost(graph.kernel, 2, types, 3, UNLIMITED, 1)
    assert of_step.tolist() == [0, 2 * 1 + 8 * 1, 2 * 1 + (3 - 1) // 4]
    assert lists([visits, dearest, of_type]) == [[0, 1, 1], [10], [2]]
    without_limit = kernels.reach_cost(graph.kernel, 2, types, 3, 0, 1)
    assert lists(without_limit) == [[], [], [], []]


def test_a_path_type_that_is_too_much_to_look_at_is_left_out_for_everyone() -> None:
    graph = Graph.of(hub(30))
    found = Counting(graph, Settings()).cycles(everyone(graph))
    is_known = (found.relations == 0) & (found.hits > 1)
    types = found.types[is_known & (found.types != 1)]
    counting = Counting(graph, Settings(counting=10))
    widest = counting.max_widths(0, types)
    assert widest is not None
    is_skipped = widest == 0
    assert is_skipped.any()
    heads = graph.edges(0).heads
    reach = counting.reach(0, types, heads, max_widths=widest)
    assert reach.reached[is_skipped].sum() == 0
    assert reach.right[is_skipped].sum() == 0
    assert set(reach.left_out[is_skipped].tolist()) == {len(heads)}

    of_first_half = counting.reach(0, types, heads[::2].copy(), max_widths=widest)
    of_second_half = counting.reach(0, types, heads[1::2].copy(), max_widths=widest)
    both_halves = of_first_half.left_out + of_second_half.left_out
    assert both_halves.tolist() == reach.left_out.tolist()


def test_a_crowd_is_answered_within_its_budget() -> None:
    """Everyone knows everyone, in five ways:
    a billion cycles of four, of which a million steps find none.
    """
    facts = []
    for a, b in permutations(range(40), 2):
        facts += [(f"e{a}", f"r{k}", f"e{b}") for k in range(5)]
    graph = Graph.of(facts)
    settings = Settings(counting=10**6)
    found = Counting(graph, settings).cycles(everyone(graph))
    assert found.work.tolist()[1:] == [TOO_MANY, TOO_MANY]
    cases = CaseBase(settings)
    cases.update(add=facts)
    assert cases.ask("e0", "r0").exact is False


@given(st.lists(st.integers(0, 50), min_size=1, max_size=20), st.integers(0, 400))
def test_a_share_is_as_large_as_fits(needed: list[int], most: int) -> None:
    if sum(needed) > most:
        share = fair_share(np.array(needed), most)
        taken = sum(min(one, share) for one in needed)
        with_one_more = sum(min(one, share + 1) for one in needed)
        assert taken <= most < with_one_more


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
    monkeypatch.setattr("casegraph.statistics.counts.MOST_TYPES", kinds[3] - 1)
    assert found.within(UNLIMITED - 1, 3)[1] == 2
    assert kinds[3] < MOST_TYPES


def test_an_entity_that_came_later_reaches_nothing_on_an_earlier_graph() -> None:
    graph = Graph.of(hub(10))
    counting = Counting(graph, Settings())
    types = np.array([1 + (2 << 20)])
    assert counting.reach(0, types, everyone(graph))[0].sum() > 0
    _, later = graph.entities.extended([f"later {k}" for k in range(100_000)])
    assert lists(counting.reach(0, types, later)) == [[0]] * 5
    each = (later, np.zeros(len(later), dtype=np.int32))
    nobody = everyone(graph)[:0]
    for starts, ends in ((each, (nobody, nobody)), ((nobody, nobody), each)):
        assert lists(counting.reach_around(0, types, starts, ends)) == [[0]] * 5
