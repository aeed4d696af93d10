"""Counting where starts share a hub: the sums of counting from one entity after the other."""

from itertools import product
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.counted import (
    ALONE,
    BY_HUB,
    assert_same,
    counted_by,
    cycles_of,
    direction_of,
    everyone,
    one_by_one,
)
from tests.histories import Fact
from tests.strategies import fact_lists

from casegraph.graph.arrays import Counts, Ids, ids
from casegraph.graph.graph import Graph
from casegraph.settings import Settings
from casegraph.statistics.counts import Counting, Reach
from casegraph.statistics.path_types import packed


def by_hub(
    graph: Graph, relation: int, types: Counts, entities: Ids, n: int = 2
) -> Reach:
    labels = np.full(len(types), relation, dtype=np.int32)
    return counted_by(BY_HUB, graph, labels, types, entities, n)


def from_each(graph: Graph, relation: int, types: Counts) -> Reach:
    """The same sums, counted from one entity after the other."""
    labels = np.full(len(types), relation, dtype=np.int32)
    return counted_by(ALONE, graph, labels, types, everyone(graph), 2)


def short_types(directions: int, n: int = 2) -> Counts:
    """All path types of one and two steps."""
    steps = [steps for k in (1, 2) for steps in product(range(directions), repeat=k)]
    return np.array([packed(of_type, n) for of_type in steps], dtype=np.int64)


@given(fact_lists(least=1, most=25), st.integers(2, 5))
def test_all_path_types_reach_what_they_reach_from_one_entity_after_the_other(
    facts: list[Fact], n: int
) -> None:
    """Eight entities, so that loops, edges back and parallel edges are everywhere."""
    graph = Graph.of(facts)
    types = short_types(graph.directions, n)
    for relation in range(graph.directions):
        labels = np.full(len(types), relation, dtype=np.int32)
        assert_same(
            by_hub(graph, relation, types, everyone(graph), n),
            one_by_one(graph, labels, types, everyone(graph), n),
        )


@given(fact_lists(least=1, most=25), st.sets(st.integers(0, 12)))
def test_only_the_given_entities_count(facts: list[Fact], some: set[int]) -> None:
    """Also those that the graph does not have, from which nothing leads anywhere."""
    graph = Graph.of(facts)
    types = short_types(graph.directions)
    entities = ids(sorted(some))
    labels = np.zeros(len(types), dtype=np.int32)
    assert_same(
        by_hub(graph, 0, types, entities),
        one_by_one(graph, labels, types, entities, 2),
    )


def with_hubs(seed: int, entities: int, facts: int) -> list[Fact]:
    """Three relations where a few entities have most edges; some lead from an entity to itself."""
    random = Random(seed)

    def someone() -> str:
        return f"e{int(entities * random.random() ** 3)}"

    return [
        (someone(), random.choice(["likes", "knows", "near"]), someone())
        for _ in range(facts)
    ]


@pytest.mark.parametrize("entities", [200, 3_000])
@pytest.mark.parametrize("seed", range(3))
def test_hubs_and_wide_starts_are_counted_as_everyone_else(
    seed: int, entities: int
) -> None:
    graph = Graph.of(with_hubs(seed, entities, facts=4 * entities))
    types = short_types(graph.directions)
    for relation in range(graph.directions):
        assert_same(
            by_hub(graph, relation, types, everyone(graph)),
            from_each(graph, relation, types),
        )


def test_more_entities_than_one_task_takes_are_all_counted() -> None:
    graph = Graph.of(with_hubs(0, entities=60_000, facts=90_000))
    likes = direction_of(graph, "likes")
    knows = direction_of(graph, "knows")
    types = np.array([packed([knows], 2), packed([knows, likes], 2)])
    assert len(graph.entities) > 2 * (1 << 14)
    found = by_hub(graph, likes, types, everyone(graph))
    assert_same(found, from_each(graph, likes, types))
    assert (found.right > 0).all()


@pytest.mark.parametrize("n", [2, 3])
def test_the_path_types_of_one_relation_are_counted_in_the_best_way_each(
    n: int,
) -> None:
    """Those of three steps are not counted by hub, nor those that allow only narrow steps."""
    graph = Graph.of(with_hubs(1, entities=300, facts=900))
    hits = cycles_of(graph, n)
    relation = direction_of(graph, "near")
    types = hits.types[hits.relations == relation]
    labels = np.full(len(types), relation, dtype=np.int32)
    counting = Counting(graph, Settings(max_length=n))
    expected = one_by_one(graph, labels, types, everyone(graph), n)
    assert_same(counting.reach(relation, types, everyone(graph)), expected)

    widths = np.where(np.arange(len(types)) % 2, 3, 10**9)
    limited = counting.reach(relation, types, everyone(graph), max_widths=widths)
    is_wide_enough = widths == 10**9
    for sums, counts in zip(limited, expected, strict=True):
        assert sums[is_wide_enough].tolist() == counts[is_wide_enough].tolist()
    assert limited.left_out[~is_wide_enough].any()


def test_a_relation_without_facts_leads_nowhere() -> None:
    gone = ("e1", "gone", "e2")
    graph = Graph.of([*with_hubs(2, entities=100, facts=300), gone])
    graph.retract([gone])
    lost = direction_of(graph, "gone")
    likes = direction_of(graph, "likes")
    steps = [(lost,), (lost, likes), (likes, lost)]
    types = np.array([packed(of_type, 2) for of_type in steps])
    assert not by_hub(graph, likes, types, everyone(graph)).reached.any()
    assert not by_hub(graph, lost, types, everyone(graph)).reached.any()
    of_nothing = by_hub(graph, likes, types[:0], everyone(graph))
    assert len(of_nothing.reached) == 0
