from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import oracle
from tests.strategies import (
    ENTITIES,
    Fact,
    Step,
    fact_lists,
    facts,
    histories,
    played,
    random_fact,
    random_facts,
    shuffled,
    surviving,
)

from casegraph import kernels
from casegraph.graph.arrays import ids
from casegraph.graph.batches import BATCH_SIZE
from casegraph.graph.change import NO_ROWS, Change, net_change
from casegraph.graph.directions import forward, inverse, relation_of
from casegraph.graph.edges import (
    FEW_ADDED,
    heads_of,
    key,
    sorted_reversed_keys,
    tails_of,
    with_keys,
)
from casegraph.graph.graph import Graph
from casegraph.graph.names import Names


def assert_equal(graph: Graph, other: Graph) -> None:
    """The same names under the same ids, and the same edges, array for array."""
    assert graph.entities.names == other.entities.names
    assert graph.relations.names == other.relations.names
    for relation in range(graph.directions):
        for array, expected in zip(
            graph.edges(relation), other.edges(relation), strict=True
        ):
            assert array.dtype == np.int32
            np.testing.assert_array_equal(array, expected)


def with_names_of(graph: Graph, named: list[Fact]) -> Graph:
    """A graph of facts in which the names of another were interned first, in its order."""
    other = Graph(Names(graph.entities.names), Names(graph.relations.names))
    other.add(named)
    return other


@given(histories())
def test_any_history_leaves_the_graph_of_the_facts_that_survive_it(
    history: list[Step],
) -> None:
    lived = played(history, Graph())
    rebuilt = Graph.of(surviving(history))
    assert_equal(lived.compacted(), rebuilt.compacted())


@given(histories())
def test_any_history_leaves_the_arrays_of_one_add_under_the_same_names(
    history: list[Step],
) -> None:
    graph = played(history, Graph())
    assert_equal(graph, with_names_of(graph, sorted(surviving(history))))


@given(fact_lists(), st.lists(st.integers(0, 14)), st.randoms(use_true_random=False))
def test_any_order_and_any_batches_give_the_same_graph(
    added: list[Fact], cuts: list[int], random: Random
) -> None:
    split = Graph()
    order = shuffled(random, added)
    for start, end in pairwise([0, *sorted(cuts), len(order)]):
        split.add(order[start:end])
    assert_equal(split.compacted(), Graph.of(added).compacted())


@given(histories())
def test_the_canonical_form_is_its_own_canonical_form(history: list[Step]) -> None:
    graph = played(history, Graph()).compacted()
    assert_equal(graph, graph.compacted())
    assert graph.entities.names == sorted(oracle.entities(surviving(history)))
    assert graph.relations.names == sorted(
        {relation for _, relation, _ in surviving(history)}
    )


@given(fact_lists(), st.lists(facts, max_size=8))
def test_facts_retracted_from_a_copy_stay_in_the_original(
    added: list[Fact], retracted: list[Fact]
) -> None:
    graph = Graph.of(added)
    untouched = Graph.of(added)
    copy = graph.copy()
    copy.retract(retracted)
    assert_equal(copy, with_names_of(graph, sorted(set(added) - set(retracted))))
    assert_equal(graph, untouched)
    copy.retract(added)
    assert_equal(graph, untouched)


@given(histories(), fact_lists())
def test_a_graph_and_its_copy_can_each_go_on(
    history: list[Step], more: list[Fact]
) -> None:
    graph = played(history, Graph())
    copy = graph.copy()
    left = surviving(history)
    assert_equal(copy, graph)
    assert copy.changed_since(graph) == graph.changed_since(copy) == []
    copy.add(more)
    copy.retract(more[:1])
    assert set(graph.facts()) == left
    graph.retract(sorted(left))
    assert set(copy.facts()) == (left | set(more)) - set(more[:1])
    assert len(graph) == 0


@given(histories())
def test_rows_are_the_edges_of_a_relation_and_make_the_graph_again(
    history: list[Step],
) -> None:
    graph = played(history, Graph())
    assert graph.directions == 2 * len(graph.relations)
    for relation in range(graph.directions):
        rows = graph.rows(relation).tolist()
        expected = []
        for entity in range(len(graph.entities)):
            tails = graph.answers(entity, relation).tolist()
            expected += [[entity, relation, tail] for tail in tails]
        assert rows == sorted(expected)

    forward_rows = [NO_ROWS]
    forward_rows += [
        graph.rows(forward(relation)) for relation in range(len(graph.relations))
    ]
    again = Graph.of_rows(
        Names(graph.entities.names),
        Names(graph.relations.names),
        np.concatenate(forward_rows),
    )
    assert_equal(again, graph)


@pytest.mark.parametrize(
    "rows",
    [
        [[0, 0, 2]],
        [[2, 0, 0]],
        [[0, 2, 1]],
        [[0, -2, 1]],
        [[-1, 0, 1]],
        [[0, 1]],
        [0, 0, 1],
    ],
    ids=str,
)
def test_rows_that_name_what_is_not_there_are_refused(rows: list[Any]) -> None:
    with pytest.raises(ValueError, match="entities or relations that do not exist"):
        Graph.of_rows(Names("ab"), Names("r"), np.array(rows, dtype=np.int32))


@given(histories())
def test_prominence_is_the_order_by_number_of_facts_and_then_by_name(
    history: list[Step],
) -> None:
    graph = Graph()
    for step in history:
        played([step], graph)
        known = Counter(head for head, _, _ in oracle.both_ways(graph.facts()))
        by_prominence = sorted(
            graph.entities.names, key=lambda name: (-known[name], name)
        )
        places = graph.prominence().tolist()
        assert [by_prominence[place] for place in places] == graph.entities.names


@given(histories())
def test_a_relation_has_changed_exactly_if_its_edges_differ(
    history: list[Step],
) -> None:
    graph = Graph()
    graph.add([("e0", f"r{k}", "e0") for k in range(3)])
    for doing, named in history:
        before = graph.copy()
        act = graph.add if doing == "add" else graph.retract
        change = act(named)
        changed = graph.changed_since(before)
        for relation in range(6):
            pairs = zip(before.edges(relation), graph.edges(relation), strict=True)
            differs = any(not np.array_equal(*pair) for pair in pairs)
            assert (relation_of(relation) in changed) == differs
            assert (relation in change.relations) == differs


@given(histories(), fact_lists())
def test_a_graph_before_a_change_is_the_graph_that_was_changed(
    history: list[Step], more: list[Fact]
) -> None:
    graph = played(history, Graph())
    before = graph.copy()
    change = net_change(
        [graph.retract(more[:2]), graph.add(more), graph.retract(more[1:3])]
    )
    assert set(graph.before(change).facts()) == set(before.facts())


@given(histories(), fact_lists())
def test_a_compacted_graph_has_the_same_facts_and_no_other_names(
    history: list[Step], more: list[Fact]
) -> None:
    graph = played(history, Graph())
    graph.add(more)
    graph.retract(more)
    compacted = graph.compacted()
    facts = set(graph.facts())
    assert set(compacted.facts()) == facts
    assert compacted.entities.names == sorted(oracle.entities(facts))
    assert compacted.relations.names == sorted({fact.relation for fact in facts})


@given(histories())
def test_a_change_tells_what_came_and_went_and_counts_the_rest(
    history: list[Step],
) -> None:
    graph = Graph()
    known = set[Fact]()
    for doing, named in history:
        if doing == "add":
            change = graph.add(named)
            new = set(named) - known
            assert set(names(graph, change.added)) == new
            assert len(change.added) == len(new)
            assert change.repeated == len(named) - len(new)
            assert change.absent == 0
            assert not len(change.retracted)
        else:
            change = graph.retract(named)
            gone = set(named) & known
            assert set(names(graph, change.retracted)) == gone
            assert len(change.retracted) == len(gone)
            assert change.repeated == 0
            assert change.absent == len(named) - len(gone)
            assert not len(change.added)
        assert_sorted_and_touched(graph, change)
        known = surviving([("add", sorted(known)), (doing, named)])
        assert len(graph) == len(known)


def assert_sorted_and_touched(graph: Graph, change: Change) -> None:
    rows = [*change.added.tolist(), *change.retracted.tolist()]
    assert rows == sorted(rows, key=lambda row: (row[1], row[0], row[2]))
    heads = {head for head, _, _ in rows}
    tails = {tail for _, _, tail in rows}
    assert change.entities.tolist() == sorted(heads | tails)
    directions = {direction for _, direction, _ in rows}
    inverses = {inverse(direction) for direction in directions}
    assert change.relations.tolist() == sorted(directions | inverses)


def names(
    graph: Graph, rows: np.ndarray[tuple[int, int], np.dtype[np.int32]]
) -> Iterator[Fact]:
    for head, direction, tail in rows.tolist():
        relation = graph.relations[relation_of(direction)]
        yield graph.entities[head], relation, graph.entities[tail]


@given(fact_lists())
def test_every_edge_is_there_in_both_directions(added: list[Fact]) -> None:
    graph = Graph.of(added)
    found = set()
    for direction in range(graph.directions):
        relation = graph.relation_name(direction)
        for entity, head in enumerate(graph.entities.names):
            for tail in graph.answers(entity, direction).tolist():
                found.add((head, relation, graph.entities[tail]))
    inverses = {(tail, f"{relation}⁻¹", head) for head, relation, tail in added}
    assert found == set(added) | inverses


def test_the_inverse_of_the_inverse_is_the_relation() -> None:
    for direction in range(6):
        assert inverse(direction) != direction
        assert inverse(inverse(direction)) == direction


@given(fact_lists())
def test_edges_are_grouped_by_head_and_sorted(added: list[Fact]) -> None:
    graph = Graph.of(added)
    for relation in range(graph.directions):
        heads, offsets, tails = graph.edges(relation)
        assert heads.tolist() == sorted(set(heads.tolist()))
        assert offsets[0] == 0
        assert offsets[-1] == len(tails)
        assert len(offsets) == len(heads) + 1
        for row, head in enumerate(heads.tolist()):
            own = tails[offsets[row] : offsets[row + 1]].tolist()
            assert own
            assert own == sorted(set(own))
            assert graph.answers(head, relation).tolist() == own


@given(histories(), facts)
def test_a_fact_is_in_the_graph_while_it_survives(
    history: list[Step], fact: Fact
) -> None:
    graph = played(history, Graph())
    assert (fact in graph) == (fact in surviving(history))
    assert ("never seen", *fact[1:]) not in graph
    assert (fact[0], "never seen", fact[2]) not in graph


@given(histories())
def test_facts_are_sorted_and_make_the_graph_again(history: list[Step]) -> None:
    graph = played(history, Graph())
    listed = list(graph.facts())
    assert listed == sorted(surviving(history), key=by_relation)
    assert_equal(Graph.of(listed).compacted(), graph.compacted())


def by_relation(fact: Fact) -> Fact:
    head, relation, tail = fact
    return relation, head, tail


def test_reading_a_graph_changes_nothing_in_it() -> None:
    graph = Graph.of([("a", "r", "b")])
    assert ("c", "s", "d") not in graph
    graph.retract([("c", "s", "d")])
    graph.copy().retract([("c", "s", "d"), ("a", "r", "b")])
    assert_equal(graph, Graph.of([("a", "r", "b")]))


def test_many_facts_in_odd_batches_give_the_graph_of_one_bulk_add() -> None:
    random = Random(7)
    many = [random_fact(random, 20_000, 11, 20_000) for _ in range(100_000)]
    bulk = Graph.of(iter(many))
    batched = Graph()
    start = 0
    while start < len(many):
        size = random.choice([1, 3, 37, 999, 2_501, 30_011])
        batched.add(many[start : start + size])
        start += size
    assert_equal(batched, with_names_of(batched, many))
    assert_equal(batched.compacted(), bulk.compacted())
    assert len(bulk) == len(set(many))


def test_a_failed_add_leaves_a_graph_that_can_be_read() -> None:
    def broken() -> Iterator[Fact]:
        yield from ((f"new {k}", "new", "b") for k in range(BATCH_SIZE))
        raise OSError

    graph = Graph.of([("a", "r", "b")])
    with pytest.raises(OSError):  # noqa: PT011
        graph.add(broken())
    assert list(graph.facts()) == [("a", "r", "b")]
    graph.retract([("a", "r", "b")])
    assert len(graph) == 0


@given(histories(), st.sets(st.sampled_from(ENTITIES)))
def test_retracting_entities_is_retracting_all_their_facts(
    history: list[Step], gone: set[str]
) -> None:
    graph = played(history, Graph())
    known = set(graph.facts())
    theirs = {fact for fact in known if {fact.head, fact.tail} & gone}
    change = graph.retract([*sorted(gone), *sorted(theirs)[:1]])
    assert set(graph.facts()) == known - theirs
    assert len(change.retracted) == len(theirs)
    without_facts = gone - oracle.entities(theirs)
    assert change.absent == len(without_facts)


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_any_number_of_threads_gathers_the_same_edges(threads: int) -> None:
    facts = random_facts(Random(threads), entities=300, relations=5, facts=2000)
    graph = Graph.of(facts)
    everyone = np.arange(len(graph.entities), dtype=np.int32)
    degrees = np.zeros(len(everyone), dtype=np.int64)
    for direction in range(graph.directions):
        np.add.at(degrees, graph.rows(direction)[:, 0], 1)
    before = kernels.degrees(graph.kernel, threads)
    few_at_a_time = [
        kernels.profiles(graph.kernel, ids([one]))[1].tolist()
        for one in range(len(everyone))
    ]
    kernels.gather_edges(graph.kernel, threads)
    offsets, relations = kernels.profiles(graph.kernel, everyone)
    gathered = [relations[start:end].tolist() for start, end in pairwise(offsets)]
    assert gathered == few_at_a_time
    for found in (before, kernels.degrees(graph.kernel, threads)):
        assert found.tolist() == degrees.tolist()
    longer = kernels.walks_one_step_longer(graph.kernel, degrees, threads)
    assert longer.tolist() == graph.walks_from_each(2).tolist()


# A kernel takes 8,192 entities at a time.
@pytest.mark.parametrize("entities", [12, 20_000])
def test_walks_are_counted_over_every_edge_in_both_directions(entities: int) -> None:
    random = Random(entities)
    graph = Graph.of(random_fact(random, entities, 3, 99) for _ in range(2 * entities))
    every_direction = [graph.edges(relation) for relation in range(graph.directions)]
    all_heads = np.concatenate([edges.head_of_each() for edges in every_direction])
    all_tails = np.concatenate([edges.tails for edges in every_direction])
    expected: np.ndarray[Any, np.dtype[np.float64]] = np.zeros(len(graph.entities))
    for steps in (1, 2, 3):
        onward = 1 + expected[all_tails]
        walks = np.bincount(all_heads, weights=onward, minlength=len(graph.entities))
        expected = walks.astype(np.float64)
        assert graph.walks_from_each(steps).tolist() == expected.tolist()
    everyone = np.arange(len(graph.entities), dtype=np.int32)
    offsets, relations = kernels.profiles(graph.kernel, everyone)
    for entity in range(0, len(graph.entities), 997):
        having = [r for r in range(graph.directions) if len(graph.answers(entity, r))]
        assert relations[offsets[entity] : offsets[entity + 1]].tolist() == having


@pytest.mark.parametrize("count", [1, 3, 4, 200])
def test_a_few_keys_and_many_are_added_alike(count: int) -> None:
    """Few are inserted one by one, many are merged."""
    before = 2 * np.arange(4 * FEW_ADDED)
    added = np.sort(np.random.default_rng(count).choice(before, count, replace=False))
    after = with_keys(before, added + 1)
    assert after.tolist() == sorted([*before.tolist(), *(added + 1).tolist()])


@pytest.mark.parametrize("count", [0, 1, 200, 5000, 50_000])
def test_keys_are_sorted_as_numbers(count: int) -> None:
    """Few by comparison, many by their digits, very many without the interpreter's lock."""
    random = np.random.default_rng(count)
    heads = random.integers(0, 3000, count, dtype=np.int32)
    tails = random.integers(0, 100, count, dtype=np.int32)
    keys = np.append(key(heads, tails), [-1, 2**63 - 1])
    np.testing.assert_array_equal(kernels.distinct_keys(keys), np.unique(keys))


@pytest.mark.parametrize("count", [0, 1, 200, 5000, 50_000])
def test_keys_with_the_same_head_stay_in_order(count: int) -> None:
    random = np.random.default_rng(count)
    heads = random.integers(0, 50, count, dtype=np.int32)
    tails = random.integers(0, 1000, count, dtype=np.int32)
    keys = key(heads, tails)
    expected = keys[np.argsort(heads, kind="stable")]
    np.testing.assert_array_equal(kernels.keys_by_head(keys), expected)


@pytest.mark.parametrize("count", [1, 200, 5000])
def test_sorted_keys_are_sorted_the_other_way_round(count: int) -> None:
    random = np.random.default_rng(count)
    heads = random.integers(0, 3000, count, dtype=np.int32)
    tails = random.integers(0, 100, count, dtype=np.int32)
    keys = np.unique(key(heads, tails))
    reversed_keys = np.sort(key(tails_of(keys), heads_of(keys)))
    np.testing.assert_array_equal(sorted_reversed_keys(keys), reversed_keys)
