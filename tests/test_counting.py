"""Counting everything at once, and leaving out what would take too much: by rule, and saying so."""

from collections import Counter
from collections.abc import Iterable
from itertools import permutations
from random import Random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import settings as example_settings
from hypothesis import strategies as st
from tests.counted import (
    ALONE,
    assert_same,
    counted_by,
    cycles_of,
    direction_of,
    everyone,
    one_by_one,
)
from tests.histories import Fact
from tests.strategies import fact_lists, random_fact, shuffled

from casegraph import kernels
from casegraph.casebase import CaseBase
from casegraph.graph.arrays import Counts, Ids, ids
from casegraph.graph.directions import inverse
from casegraph.graph.graph import Graph
from casegraph.settings import Settings
from casegraph.similarity.clusters.assignment import EVERYONE
from casegraph.statistics.counts import (
    COST_OF_PREVIEW,
    MOST_TYPES,
    TOO_MANY,
    UNLIMITED,
    Counting,
    Hits,
    Reach,
    fair_share,
)
from casegraph.statistics.path_types import lengths, packed, single_step


def lists(columns: Iterable[Ids | Counts]) -> list[list[int]]:
    return [column.tolist() for column in columns]


def closed_paths(graph: Graph, n: int) -> list[list[int]]:
    """Hits by looking at every entity, which test_statistics compares with the oracle."""
    together = np.full(len(graph.entities), EVERYONE, dtype=np.int32)
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
    found = cycles_of(graph, n)
    columns: list[Ids | Counts] = [found.relations, found.types, found.hits]
    assert lists(columns) == closed_paths(graph, n)


@given(fact_lists(most=20), st.integers(1, 5), st.integers(1, 4))
def test_parts_of_the_entities_add_up_to_everyone(
    facts: list[Fact], n: int, parts: int
) -> None:
    graph = Graph.of(facts)
    counting = Counting(graph, Settings(max_length=n))
    entities = everyone(graph)
    whole = counting.cycles(entities)
    shares = [entities[part::parts].copy() for part in range(parts)]
    added = Hits.sum([counting.cycles(share) for share in shares])
    assert added.relations.tolist() == whole.relations.tolist()
    assert added.types.tolist() == whole.types.tolist()
    assert added.hits.tolist() == whole.hits.tolist()
    assert added.work.tolist() == whole.work.tolist()


@pytest.mark.parametrize("relations", [2, 12, 32, 33, 300])
def test_so_it_is_with_few_and_with_many_relations(relations: int) -> None:
    random = Random(relations)
    facts = set()
    for _ in range(500):
        head, tail = random.randrange(40), random.randrange(3 + random.randrange(37))
        facts.add((f"e{head}", f"r{random.randrange(relations)}", f"e{tail}"))
    graph = Graph.of(sorted(facts))
    found = cycles_of(graph, 3)
    columns: list[Ids | Counts] = [found.relations, found.types, found.hits]
    assert lists(columns) == closed_paths(graph, 3)


@pytest.mark.parametrize("threads", [1, 2])
def test_relations_that_close_no_cycle_change_nothing(threads: int) -> None:
    """Beside them, the same triangles are counted as triangles of many relations."""
    random = Random(3)
    facts = [random_fact(random, heads=30, relations=4, tails=30) for _ in range(300)]
    apart = [(f"head {k}", f"apart {k}", f"tail {k}") for k in range(40)]
    few, many = Graph.of(facts), Graph.of(facts + apart)
    found, beside_others = counted(few, threads), counted(many, threads)
    is_shared = beside_others.relations < few.directions
    assert beside_others.relations[is_shared].tolist() == found.relations.tolist()
    assert beside_others.types[is_shared].tolist() == found.types.tolist()
    assert beside_others.hits[is_shared].tolist() == found.hits.tolist()

    lengths_by_limit = [longest_counted(few, most, threads) for most in range(600)]
    assert lengths_by_limit == [
        longest_counted(many, most, threads) for most in range(600)
    ]
    assert lengths_by_limit == sorted(lengths_by_limit)
    assert set(lengths_by_limit) == {0, 1, 2}


def counted(graph: Graph, threads: int, most_kinds: int = MOST_TYPES) -> Hits:
    """The hits of paths of up to two steps, of so many kinds of cycles of each length at most."""
    limit = UNLIMITED, most_kinds
    ranks = graph.entities.ranks()
    counters = np.zeros(2, dtype=np.int64)
    return Hits(
        *kernels.cycles(
            graph.kernel, everyone(graph), ranks, 2, limit, threads, counters
        )
    )


def longest_counted(graph: Graph, most_kinds: int, threads: int) -> int:
    """The length up to which paths are counted."""
    return int((counted(graph, threads, most_kinds).work < TOO_MANY).sum())


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
    few_leaves = Graph.of(hub(1_000))
    many_leaves = Graph.of(hub(10_000))
    work_of_few = cycles_of(few_leaves).work.max()
    work_of_many = cycles_of(many_leaves).work.max()
    assert work_of_many <= 11 * work_of_few


def steps_of_squares(parallel: int) -> int:
    """What looking for cycles of four edges takes, where each pair is linked in so many ways
    and there are none.
    """
    pairs = [("hub", f"leaf {k}") for k in range(20)]
    pairs += [(f"leaf {k}", f"end {k}") for k in range(20)]
    graph = Graph.of(
        [(head, f"r{way}", tail) for head, tail in pairs for way in range(parallel)]
    )
    found = cycles_of(graph)
    assert 3 not in lengths(found.types, 3)
    return int(found.work[2] - found.work[1])


def test_paths_over_one_entity_are_not_compared_with_each_other() -> None:
    """So the steps are those for edges, and for paths over two of them: a·m + b·m²."""
    once, twice, thrice = (steps_of_squares(parallel) for parallel in (1, 2, 3))
    assert thrice == 3 * twice - 3 * once


def test_halves_that_come_from_one_entity_are_not_compared_with_each_other() -> None:
    """A ring of six, each linked with the next in four ways: every two halves that are compared
    make a cycle, which takes eight steps. Comparing all would take twice as many.
    """
    ways = 4
    ring = [(f"e{k}", f"e{(k + 1) % 6}") for k in range(6)]
    graph = Graph.of(
        [(head, f"r{way}", tail) for head, tail in ring for way in range(ways)]
    )
    found = cycles_of(graph, 5)
    steps = found.work[4] - found.work[3]
    assert steps < 12 * ways**6


def test_lengths_that_take_too_much_are_left_out_and_all_longer_ones() -> None:
    random = Random(1)
    facts = [random_fact(random, heads=12, relations=3, tails=12) for _ in range(150)]
    graph = Graph.of(facts)
    whole = cycles_of(graph, n=4)
    length_of_type = lengths(whole.types, 4)
    for shorter, work in enumerate(whole.work.tolist()):
        one_step_too_few = work - 1
        counting = Counting(graph, Settings(max_length=4, counting=one_step_too_few))
        found = counting.cycles(everyone(graph))
        kept, longest = found.within(one_step_too_few, 4)
        assert longest <= shorter
        is_kept = length_of_type <= longest
        assert kept.types.tolist() == whole.types[is_kept].tolist()
        assert kept.hits.tolist() == whole.hits[is_kept].tolist()


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
        found_together = together.ask_many(questions, top=-1)
        found_alone = alone.ask_many(questions, top=-1)
        for one, other in zip(found_together, found_alone, strict=True):
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


# Many steps more, but no cycle: so they cannot be estimated from the cycles that come and go.
TURNING = [
    ("e2", "r1", "e1"),
    ("e0", "r1", "e3"),
    ("e3", "r1", "e0"),
    ("e0", "r0", "e3"),
    ("e2", "r1", "e0"),
    ("e1", "r0", "e0"),
    ("e3", "r0", "e3"),
    ("e2", "r0", "e2"),
]


@example_settings()
@example(LEAVING, 53)
@example(TURNING, 86)
@example(GROWING, 110)
@example(GROWING, 180)
@given(fact_lists(least=8, most=20), st.integers(20, 400))
def test_an_update_of_a_graph_that_is_too_much_gives_what_a_rebuild_gives(
    facts: list[Fact], most: int
) -> None:
    assert_updated_as_rebuilt(facts, most)


def assert_updated_as_rebuilt(facts: list[Fact], most: int) -> None:
    """Add the last two facts and retract the first, where `most` steps may be taken."""
    settings = Settings(counting=most, support=1)
    retracted = facts[0]
    added = facts[-2:]
    lived = CaseBase(settings)
    lived.update(add=facts[:-2])
    lived.prepare()
    lived.update(add=added, retract=[retracted])

    rebuilt = CaseBase(settings)
    rebuilt.update(add=[fact for fact in facts if fact != retracted or fact in added])
    for head, relation, _ in rebuilt.graph.facts():
        one = lived.ask(head, relation, top=-1)
        other = rebuilt.ask(head, relation, top=-1)
        assert one.exact == other.exact
        assert list(one) == list(other)


def test_what_is_left_out_counts_as_reached_and_as_wrong() -> None:
    facts = hub(100)
    facts.append(("hub", "answers", "leaf 0"))
    facts.append(("leaf 1", "answers", "leaf 0"))
    graph = Graph.of(facts)
    knows = direction_of(graph, "knows")
    answers = direction_of(graph, "answers")
    types = np.array([packed([knows, inverse(knows)], 3)])
    counting = Counting(graph, Settings())

    limited = counting.reach(answers, types, everyone(graph), max_widths=np.array([2]))
    assert limited.reached.tolist() == [100 + 1]
    assert limited.right.tolist() == [0]
    assert limited.reached_open.tolist() == [0]
    assert limited.right_open.tolist() == [0]
    assert limited.left_out.tolist() == [1]

    whole = counting.reach(answers, types, everyone(graph))
    assert whole.reached.tolist() == [99]
    assert whole.right.tolist() == [1]
    assert whole.reached_open.tolist() == [98]
    assert whole.right_open.tolist() == [0]
    assert whole.left_out.tolist() == [0]


def crowded(seed: int) -> list[Fact]:
    """Entities with many edges, so that steps are wide.

    Some know all of a kind, some themselves.
    """
    random = Random(seed)
    of_few = [random_fact(random, heads=9, relations=2, tails=150) for _ in range(500)]
    of_many = [
        random_fact(random, heads=150, relations=3, tails=150) for _ in range(300)
    ]
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
    assert_same(in_bits, one_by_one(graph, labels, types, entities, n))


@pytest.mark.parametrize("without_askers", [0, 3, 64, 65, 20_000])
def test_ends_that_nobody_answers_with_are_found_however_many_they_are(
    without_askers: int,
) -> None:
    """So many tails that few ends of each start are marked, not held in bits."""
    starts, tails, ends_each = 900, 60_000, 100
    facts = [("collector", "leads to", f"t{k}") for k in range(tails)]
    facts += [
        (f"s{k}", "takes", f"m{k} {half}") for k in range(starts) for half in (0, 1)
    ]
    random = Random(without_askers)
    ends_of = {}
    for start in range(starts):
        ends = random.sample(range(tails), ends_each)
        ends_of[start] = ends
        facts += [(f"m{start} {end % 2}", "leads to", f"t{end}") for end in ends]
        facts.append((f"s{start}", "answers", f"t{ends[0]}"))
    # Some that are reached have no asker, too.
    lacking = set(random.sample(range(tails), without_askers))
    facts += [
        (f"x{end}", "answers", f"t{end}") for end in range(tails) if end not in lacking
    ]
    graph = Graph.of(facts)
    steps = [direction_of(graph, "takes"), direction_of(graph, "leads to")]
    found = counted_by(
        ALONE,
        graph,
        ids([direction_of(graph, "answers")]),
        np.array([packed(steps, 2)]),
        everyone(graph),
        2,
    )
    askers = Counter(ends[0] for ends in ends_of.values())
    open_ends = 0
    for ends in ends_of.values():
        for end in ends:
            others = askers[end] - (end == ends[0])
            open_ends += end in lacking and others == 0
    assert found.reached.tolist() == [starts * ends_each]
    assert found.reached_open.tolist() == [open_ends]


def test_many_hits_of_clusters_are_sorted_and_those_of_each() -> None:
    graph = Graph.of(crowded(0))
    clusters = everyone(graph)[::-1] % 5
    wanted = np.zeros(0, dtype=np.bool)

    def found(entities: Ids) -> list[tuple[int, ...]]:
        counters = np.zeros(2, dtype=np.int64)
        columns = kernels.closed_paths(
            graph.kernel, entities, clusters, wanted, 3, 3, 2, counters
        )
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
    found = cycles_of(Graph.of(facts))
    rows = list(zip(found.relations.tolist(), found.types.tolist(), strict=True))
    assert len(rows) > 1 << 10
    assert rows == sorted(set(rows))


def costs(facts: list[Fact], relation: str, n: int) -> list[list[int]]:
    """What counting the path types of a relation takes, each column sorted:
    ids give the order of steps.
    """
    graph = Graph.of(facts)
    asked = direction_of(graph, relation)
    found = cycles_of(graph, n)
    types = found.types[found.relations == asked]
    columns = kernels.reach_cost(graph.kernel, asked, types, n, UNLIMITED, 2)
    return [sorted(column) for column in lists(columns)]


@given(fact_lists(least=1, most=20), st.integers(1, 5), st.integers(0, 5))
def test_what_counting_takes_is_a_matter_of_the_facts(
    facts: list[Fact], n: int, seed: int
) -> None:
    relation = facts[0][1]
    in_other_order = shuffled(Random(seed), facts)
    assert costs(facts, relation, n) == costs(in_other_order, relation, n)


def test_the_cost_of_counting_follows_from_walks_that_do_not_turn_back() -> None:
    """Three know the hub, and one of them is asked for:
    looking is 2 steps, following an edge 8, four ends are one.
    """
    knowing = [(f"leaf {k}", "knows", "hub") for k in range(3)]
    graph = Graph.of([*knowing, ("leaf 0", "asks", "leaf 1")])
    knows = direction_of(graph, "knows")
    asks = direction_of(graph, "asks")
    types = np.array([packed([knows, inverse(knows)], 3)])
    of_step, visits_of_step, dearest_step, visits = kernels.reach_cost(
        graph.kernel, asks, types, 3, UNLIMITED, 1
    )
    assert of_step.tolist() == [0, 2 * 1 + 8 * 1, 2 * 1 + (3 - 1) // 4]
    assert visits_of_step.tolist() == [0, 1, 1]
    assert dearest_step.tolist() == [10]
    assert visits.tolist() == [2]

    no_budget = 0
    of_nothing = kernels.reach_cost(graph.kernel, asks, types, 3, no_budget, 1)
    assert lists(of_nothing) == [[], [], [], []]


def test_a_path_type_that_is_too_much_to_look_at_is_left_out_for_everyone() -> None:
    graph = Graph.of(hub(30))
    knows = direction_of(graph, "knows")
    found = cycles_of(graph)
    is_known = (found.relations == knows) & (found.hits > 1)
    is_other = found.types != single_step(knows)
    types = found.types[is_known & is_other]
    counting = Counting(graph, Settings(counting=10))
    widest = counting.max_widths(knows, types)
    assert widest is not None
    is_skipped = widest == 0
    assert is_skipped.any()

    heads = graph.edges(knows).heads
    reach = counting.reach(knows, types, heads, max_widths=widest)
    assert reach.reached[is_skipped].sum() == 0
    assert reach.right[is_skipped].sum() == 0
    assert set(reach.left_out[is_skipped].tolist()) == {len(heads)}

    first_half = heads[::2].copy()
    second_half = heads[1::2].copy()
    of_first_half = counting.reach(knows, types, first_half, max_widths=widest)
    of_second_half = counting.reach(knows, types, second_half, max_widths=widest)
    both_halves = of_first_half.left_out + of_second_half.left_out
    assert both_halves.tolist() == reach.left_out.tolist()


@given(fact_lists(least=4, most=24), st.integers(1, 2), st.integers(1, 2_000))
def test_what_a_bound_of_the_cost_finds_affordable_is(
    facts: list[Fact], n: int, budget: int
) -> None:
    graph = Graph.of(facts)
    counting = Counting(graph, Settings(max_length=n, counting=budget))
    found = cycles_of(graph, n)
    for relation in range(graph.directions):
        types = found.types[found.relations == relation]
        if len(types) and counting._is_affordable_by_steps(relation, types):
            most = budget // COST_OF_PREVIEW
            cost, *_ = kernels.reach_cost(graph.kernel, relation, types, n, most, 1)
            assert len(cost)
            assert cost.sum() <= budget


def test_the_bound_of_the_cost_is_one_that_decides() -> None:
    graph = Graph.of(hub(100))
    knows = direction_of(graph, "knows")
    found = cycles_of(graph, 2)
    types = found.types[found.relations == knows]
    total = int(kernels.reach_cost(graph.kernel, knows, types, 2, 1 << 60, 1)[0].sum())
    counting = Counting(graph, Settings(max_length=2, counting=8 * total))
    assert counting._is_affordable_by_steps(knows, types)
    assert not Counting(
        graph, Settings(max_length=2, counting=total)
    )._is_affordable_by_steps(knows, types)


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
    for budget, is_exact in ((4_000_000_000, True), (100, False)):
        cases = CaseBase(Settings(counting=budget))
        cases.update(add=facts)
        answers = cases.ask("leaf 3", "knows")
        assert answers.exact is is_exact


def test_too_many_kinds_of_paths_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    found = cycles_of(Graph.of(hub(10)))
    kinds_by_length = np.bincount(lengths(found.types, 3), minlength=4)
    kinds = int(kinds_by_length[3])
    assert kinds < MOST_TYPES
    monkeypatch.setattr("casegraph.statistics.counts.MOST_TYPES", kinds - 1)
    _, longest = found.within(UNLIMITED - 1, 3)
    assert longest == 2


def test_an_entity_that_came_later_reaches_nothing_on_an_earlier_graph() -> None:
    graph = Graph.of(hub(10))
    counting = Counting(graph, Settings())
    knows = direction_of(graph, "knows")
    types = np.array([packed([knows, inverse(knows)], 3)])
    now = counting.reach(knows, types, everyone(graph))
    assert now.reached.sum() > 0

    _, later = graph.entities.extended([f"later {k}" for k in range(100_000)])
    nothing = lists(Reach.nowhere(types))
    assert lists(counting.reach(knows, types, later)) == nothing

    first_type = np.zeros(len(later), dtype=np.int32)
    each = (later, first_type)
    nobody = (ids(), ids())
    from_each = counting.reach_around(knows, types, starts=each, ends=nobody)
    to_each = counting.reach_around(knows, types, starts=nobody, ends=each)
    assert lists(from_each) == nothing
    assert lists(to_each) == nothing
