"""A path type and its inverse, counted by walking one of them: the sums of walking each."""

from itertools import product
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.counted import (
    ALONE,
    TOGETHER,
    assert_same,
    counted_by,
    cycles_of,
    direction_of,
    everyone,
    one_by_one,
)
from tests.histories import Fact
from tests.strategies import fact_lists, random_fact, shuffled

from casegraph.graph.arrays import Counts, Ids, ids
from casegraph.graph.directions import inverse
from casegraph.graph.graph import Graph
from casegraph.settings import Settings
from casegraph.statistics.counts import (
    BOTH_WAYS,
    BY_INVERSE,
    BY_ITSELF,
    UNLIMITED,
    Counting,
    Reach,
)
from casegraph.statistics.path_types import packed, unpacked


def backwards(types: Counts, n: int) -> Counts:
    """The same path types, walked from their ends to their starts."""
    walked_back = []
    for number in types.tolist():
        steps = [inverse(relation) for relation in unpacked(number, n)]
        walked_back.append(packed(steps[::-1], n))
    return np.array(walked_back, dtype=np.int64)


def assert_right_both_ways(
    graph: Graph, labels: Ids, types: Counts, n: int, method: int
) -> None:
    back = backwards(types, n)
    ways = np.repeat([BOTH_WAYS, BY_INVERSE], len(types))
    labels_both_ways = np.concatenate([labels, inverse(labels)])
    both_ways = np.concatenate([types, back])
    found = counted_by(
        method, graph, labels_both_ways, both_ways, everyone(graph), n, ways
    )
    assert_same(
        found.of(slice(0, len(types))),
        one_by_one(graph, labels, types, everyone(graph), n),
    )
    assert_same(
        found.of(slice(len(types), None)),
        one_by_one(graph, inverse(labels), back, everyone(graph), n),
    )


@given(
    fact_lists(least=1, most=25),
    st.integers(0, 3),
    st.sampled_from([ALONE, TOGETHER]),
)
def test_the_inverse_of_every_path_type_is_counted_along(
    facts: list[Fact], asked: int, method: int
) -> None:
    """Few entities, so that loops, edges back and single answers are everywhere."""
    graph = Graph.of(facts)
    steps = [
        steps
        for length in (1, 2, 3)
        for steps in product(range(graph.directions), repeat=length)
    ]
    types = np.array([packed(of_type, 3) for of_type in steps], dtype=np.int64)
    relation = asked % graph.directions
    labels = np.full(len(types), relation, dtype=np.int32)
    assert_right_both_ways(graph, labels, types, 3, method)


def crowd(seed: int, facts: int) -> list[Fact]:
    """Dense relations of more entities than fit into a batch; some that few have, or few are
    the answer of.
    """
    random = Random(seed)
    dense = [
        random_fact(random, heads=300, relations=2, tails=300) for _ in range(facts)
    ]
    few_tails = [(f"e{k}", "of", f"e{k % 3}") for k in range(0, 300, 2)]
    few_heads = [(f"e{k % 4}", "has", f"e{k}") for k in range(0, 300, 5)]
    return dense + few_tails + few_heads


@pytest.mark.parametrize("method", [ALONE, TOGETHER])
@pytest.mark.parametrize("facts", [600, 4_000])
def test_wide_steps_and_several_batches_are_counted_both_ways(
    facts: int, method: int
) -> None:
    graph = Graph.of(crowd(0, facts))
    hits = cycles_of(graph)
    random = np.random.default_rng(facts)
    some = random.choice(len(hits.types), 250, replace=False)
    assert_right_both_ways(graph, hits.relations[some], hits.types[some], 3, method)


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("seed", range(2))
def test_whichever_direction_is_walked_the_sums_are_the_same(seed: int, n: int) -> None:
    """Also where the inverse of some pairs is not asked for, or some may not be walked far."""
    graph = Graph.of(crowd(seed, facts=600 if n == 4 else 1_500))
    hits = cycles_of(graph, n)
    random = np.random.default_rng(seed)
    is_asked = random.random(len(hits.types)) < 300 / len(hits.types)
    # Most pairs with their inverses, some without, in any order.
    labels = hits.relations[is_asked]
    types = hits.types[is_asked]
    with_inverse = random.random(len(types)) < 0.9
    labels = np.concatenate([labels, inverse(labels[with_inverse])])
    types = np.concatenate([types, backwards(types[with_inverse], n)])
    order = random.permutation(len(types))
    labels, types = labels[order].astype(np.int32), types[order]

    counting = Counting(graph, Settings(max_length=n))
    expected = one_by_one(graph, labels, types, everyone(graph), n)
    ways = counting.ways_to_walk(labels, types)
    assert set(ways.tolist()) == {BY_ITSELF, BOTH_WAYS, BY_INVERSE}
    assert_same(counting.reach(labels, types, everyone(graph), ways=ways), expected)

    widths = np.where(random.random(len(types)) < 0.1, 10**9, UNLIMITED)
    ways = counting.ways_to_walk(labels, types, widths)
    assert (ways[widths < UNLIMITED] == BY_ITSELF).all()
    assert BOTH_WAYS in ways
    limited = counting.reach(
        labels, types, everyone(graph), max_widths=widths, ways=ways
    )
    assert_same(limited, expected)


@pytest.mark.parametrize("entities", [2, 16, 300])
def test_entities_in_parts_add_up_to_everyone_if_all_walk_the_same_ways(
    entities: int,
) -> None:
    """Also in parts of so few that their paths are followed from one after the other."""
    graph = Graph.of(crowd(3, facts=1_500))
    hits = cycles_of(graph, 2)
    counting = Counting(graph, Settings(max_length=2))
    ways = counting.ways_to_walk(hits.relations, hits.types)
    assert BOTH_WAYS in ways
    total = Reach.nowhere(hits.types)
    for start in range(0, len(graph.entities), entities):
        some = everyone(graph)[start : start + entities]
        part = counting.reach(hits.relations, hits.types, some, ways=ways)
        for sums, counts in zip(total, part, strict=True):
            sums[:] += counts
    assert_same(total, counting.reach(hits.relations, hits.types, everyone(graph)))


@pytest.mark.parametrize("n", [2, 3, 4])
def test_which_way_is_walked_does_not_depend_on_ids(n: int) -> None:
    facts = crowd(5, facts=600)
    some = np.random.default_rng(n).random(1 << 16)

    def named_ways(facts: list[Fact]) -> dict[tuple[str, ...], int]:
        graph = Graph.of(facts)
        hits = cycles_of(graph, n)
        name = [graph.relation_name(relation) for relation in range(graph.directions)]
        pairs = [
            (name[relation], *(name[step] for step in unpacked(number, n)))
            for relation, number in zip(
                hits.relations.tolist(), hits.types.tolist(), strict=True
            )
        ]
        # Of four steps, not all.
        order = sorted(range(len(pairs)), key=pairs.__getitem__)
        asked = [place for place, draw in zip(order, some, strict=False) if draw < 0.9]
        counting = Counting(graph, Settings(max_length=n))
        ways = counting.ways_to_walk(hits.relations[asked], hits.types[asked])
        return {pairs[place]: way for place, way in zip(asked, ways, strict=True)}

    expected = named_ways(facts)
    assert set(expected.values()) == {BY_ITSELF, BOTH_WAYS, BY_INVERSE}
    for seed in range(3):
        assert named_ways(shuffled(Random(seed), facts)) == expected


def test_a_relation_that_has_lost_its_facts_leads_nowhere_either_way() -> None:
    gone = ("e1", "gone", "e2")
    graph = Graph.of([*crowd(4, facts=600), gone])
    graph.retract([gone])
    lost = direction_of(graph, "gone")
    asks = direction_of(graph, "of")
    steps = [(lost, asks), (asks, lost), (lost, lost), (asks, inverse(asks))]
    types = np.array([packed(of_type, 2) for of_type in steps])
    types = np.concatenate([types, backwards(types, 2)])
    labels = np.repeat(ids([asks, inverse(asks)]), len(steps))
    counting = Counting(graph, Settings(max_length=2))
    ways = counting.ways_to_walk(labels, types)
    found = counting.reach(labels, types, everyone(graph), ways=ways)
    assert_same(found, one_by_one(graph, labels, types, everyone(graph), 2))
    assert found.reached.tolist()[:3] == [0, 0, 0]
    assert found.reached[3] > 0
