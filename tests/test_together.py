"""Counting from many entities at once: the sums of counting from one entity after the other."""

from functools import partial
from itertools import permutations, product
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import oracle
from tests.counted import (
    TOGETHER,
    assert_same,
    counted_by,
    cycles_of,
    direction_of,
    everyone,
    one_by_one,
)
from tests.histories import Fact
from tests.strategies import fact_lists, random_fact

from casegraph import kernels
from casegraph.casebase import CaseBase
from casegraph.graph.arrays import Counts, Ids, ids
from casegraph.graph.graph import Graph
from casegraph.settings import Settings
from casegraph.statistics.counts import TOO_MANY, Counting, Reach
from casegraph.statistics.path_types import packed, unpacked


def every_type(directions: int, n: int = 3) -> Counts:
    """All path types of one to three steps."""
    types = []
    for length in (1, 2, 3):
        for path_type in product(range(directions), repeat=length):
            types.append(packed(path_type, n))
    return np.array(types)


together = partial(counted_by, TOGETHER)


@given(fact_lists(least=1, most=25), st.integers(3, 5))
def test_all_path_types_reach_what_they_reach_from_one_entity_after_the_other(
    facts: list[Fact], n: int
) -> None:
    """Eight entities, so that loops, edges back and parallel edges are everywhere."""
    graph = Graph.of(facts)
    types = every_type(graph.directions, n)
    for relation in range(graph.directions):
        labels = np.full(len(types), relation, dtype=np.int32)
        arguments = (graph, labels, types, everyone(graph), n)
        assert_same(together(*arguments), one_by_one(*arguments))


@given(fact_lists(least=1, most=10), st.integers(0, 40))
def test_what_is_reached_is_what_the_definition_says(
    facts: list[Fact], first: int
) -> None:
    graph = Graph.of(facts)
    both_ways = oracle.both_ways(facts)
    names: list[oracle.Name] = []
    for name in graph.relations.names:
        names += [name, oracle.inverse(name)]
    # A part of them: the definition is slow.
    types = every_type(graph.directions)[first::41]
    for relation in range(graph.directions):
        labels = np.full(len(types), relation, dtype=np.int32)
        found = together(graph, labels, types, everyone(graph))
        for place, number in enumerate(types.tolist()):
            path = tuple(names[step] for step in unpacked(number, 3))
            of_slot = oracle.by_slot(both_ways, names[relation], path)
            reached_open, right_open = of_slot[False]
            reached_taken, right_taken = of_slot[True]
            assert found.reached[place] == reached_open + reached_taken
            assert found.right[place] == right_open + right_taken
            assert found.reached_open[place] == reached_open
            assert found.right_open[place] == right_open


def crowd(seed: int, entities: int, facts: int) -> list[Fact]:
    """Dense relations of more entities than fit into a batch, and one that few have."""
    random = Random(seed)
    dense = [
        random_fact(random, heads=entities, relations=2, tails=entities)
        for _ in range(facts)
    ]
    rare = [(f"e{k}", "rare", f"e{k * k % 7}") for k in range(0, entities, 9)]
    return dense + rare


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("facts", [700, 6_000])
def test_batches_add_up_to_everyone(seed: int, facts: int) -> None:
    """Sparse and dense, so that steps are taken from both of their ends."""
    graph = Graph.of(crowd(seed, entities=300, facts=facts))
    types = every_type(graph.directions)
    random = np.random.default_rng(seed)
    labels = random.integers(graph.directions, size=len(types)).astype(np.int32)
    some = everyone(graph)[seed::2].copy()
    for entities in (everyone(graph), some):
        found = together(graph, labels, types, entities)
        expected = one_by_one(graph, labels, types, entities)
        assert_same(found, expected)


@pytest.mark.parametrize("seed", range(2))
def test_more_ends_than_are_counted_at_once_add_up(seed: int) -> None:
    """Last steps lead to more than a thousand entities, some of them to themselves."""
    random = Random(seed)
    facts = []
    for _ in range(9_000):
        facts.append((f"e{random.randrange(1_300)}", "in", f"m{random.randrange(40)}"))
        facts.append(
            (f"e{random.randrange(1_300)}", "near", f"e{random.randrange(1_300)}")
        )
    facts += [(f"e{k}", "near", f"e{k}") for k in range(0, 1_300, 3)]
    graph = Graph.of(facts)
    assert len(graph.edges(direction_of(graph, "near")).heads) > 1_024
    types = every_type(graph.directions)
    labels = (np.arange(len(types)) % graph.directions).astype(np.int32)
    entities = everyone(graph)[seed::3].copy()
    found = together(graph, labels, types, entities)
    assert_same(found, one_by_one(graph, labels, types, entities))


@pytest.mark.parametrize("seed", range(2))
def test_whichever_way_is_cheaper_the_sums_are_the_same(seed: int) -> None:
    graph = Graph.of(crowd(seed, entities=280, facts=3_000))
    hits = cycles_of(graph)
    counting = Counting(graph, Settings())
    found = counting.reach(hits.relations, hits.types, everyone(graph))
    expected = one_by_one(graph, hits.relations, hits.types, everyone(graph))
    assert_same(found, expected)


def complete(entities: int, relations: int) -> list[Fact]:
    facts = []
    for a, b in permutations(range(entities), 2):
        facts += [(f"e{a}", f"r{k}", f"e{b}") for k in range(relations)]
    return facts


def test_a_dense_graph_is_counted_whole_where_single_paths_exceed_the_budget() -> None:
    graph = Graph.of(complete(entities=60, relations=2))
    hits = cycles_of(graph)
    relation = 0
    types = hits.types[hits.relations == relation]
    budget = 1 + kernels.cost_together(graph.kernel, relation, types, 3)
    cost_of_steps, *_ = kernels.reach_cost(graph.kernel, relation, types, 3, 1 << 60, 1)
    assert cost_of_steps.sum() > budget

    within_budget = Counting(graph, Settings(counting=budget))
    assert within_budget.max_widths(relation, types) is None
    within_half = Counting(graph, Settings(counting=budget // 2))
    assert within_half.max_widths(relation, types) is not None


def test_what_it_takes_is_a_matter_of_the_facts() -> None:
    facts = crowd(seed=0, entities=280, facts=2_000)
    costs = set()
    for seed in range(3):
        Random(seed).shuffle(facts)
        graph = Graph.of(facts)
        rare = direction_of(graph, "rare")
        hits = cycles_of(graph)
        types = hits.types[hits.relations == rare]
        costs.add(kernels.cost_together(graph.kernel, rare, types, 3))
    assert len(costs) == 1


def test_long_path_types_are_counted_one_by_one() -> None:
    graph = Graph.of(complete(entities=5, relations=1))
    types = np.array([packed([0, 1, 0, 1], 4)])
    assert kernels.cost_together(graph.kernel, 0, types, 4) == TOO_MANY
    _, cost_together = kernels.reach_estimates(
        graph.kernel, everyone(graph), types, 4, 1
    )
    assert cost_together.tolist() == [np.inf]
    with pytest.raises(ValueError, match="does not count such path types"):
        together(graph, ids([0]), types, everyone(graph), n=4)


@pytest.mark.parametrize("seed", range(2))
def test_updates_of_a_dense_graph_equal_a_rebuild(seed: int) -> None:
    """Some path types are then counted from scratch, and others corrected."""
    facts = sorted(set(crowd(seed, entities=120, facts=2_500)))
    Random(seed).shuffle(facts)
    cases = CaseBase()
    cases.update(add=facts[50:])
    count_all_relations(cases)
    cases.update(add=facts[:25], retract=facts[60:70])
    count_all_relations(cases)
    cases.update(add=facts[25:50])

    rebuilt = CaseBase()
    rebuilt.update(add=[*facts[:60], *facts[70:]])
    assert answers_of(cases) == answers_of(rebuilt)
    for name in ("r0", "r1", "rare"):
        assert counts_of(cases, name) == counts_of(rebuilt, name)


def count_all_relations(cases: CaseBase) -> None:
    for relation in range(cases.state.graph.directions):
        cases.state.statistics.everyone(relation)


def answers_of(cases: CaseBase) -> list[list[tuple[str, float]]]:
    """The entity and the score of each answer to some questions."""
    questions = []
    for k in range(0, 120, 7):
        questions.append((f"e{k}", "r0"))
        questions.append((f"e{k}", "rare"))
    found = []
    for answers in cases.ask_many(questions):
        found.append([(answer.entity, answer.score) for answer in answers])
    return found


def counts_of(cases: CaseBase, name: str) -> dict[tuple[str, ...], tuple[int, ...]]:
    """The counts of a relation by the names of relations: ids depend on history."""
    graph = cases.state.graph
    counts = cases.state.statistics.everyone(direction_of(graph, name))
    columns = (counts.hits, *counts.reach_of(slice(None)))
    found = {}
    for place, number in enumerate(counts.types.tolist()):
        path_type = unpacked(number, 3)
        names = tuple(graph.relation_name(relation) for relation in path_type)
        found[names] = tuple(int(column[place]) for column in columns)
    return found


def alone(graph: Graph, labels: Ids, types: Counts, n: int = 3) -> Reach:
    """Counted from one entity after the other, all in one call; what has a limit is never counted
    together, and this limit is never met.
    """
    limits = np.full(len(types), 1 << 40, dtype=np.int64)
    counting = Counting(graph, Settings(max_length=n))
    return counting.reach(labels, types, everyone(graph), max_widths=limits)


@pytest.mark.parametrize("seed", range(4))
def test_following_the_relations_that_ends_have_is_looking_them_up_in_all_relations(
    seed: int,
) -> None:
    """Many relations, so that a step goes on with few of the many that path types go on with."""
    random = Random(seed)
    facts = {random_fact(random, 30, 9, 30) for _ in range(150)}
    facts |= {(f"e{k}", "r0", f"e{k}") for k in range(0, 30, 7)}  # loops
    graph = Graph.of(sorted(facts))
    types = np.array(random.sample(every_type(graph.directions).tolist(), 2500))
    labels = np.array(
        [random.randrange(graph.directions) for _ in types], dtype=np.int32
    )
    found = alone(graph, labels, types)
    assert found.right.any()
    assert_same(found, together(graph, labels, types, everyone(graph)))


@pytest.mark.parametrize("classes", [1, 3])
def test_members_of_one_class_share_what_is_known_of_it(classes: int) -> None:
    """A row is long enough here to be counted by its length, and once for all who come by."""
    members = 100 * classes
    facts = [(f"e{k}", "is a", f"class {k % classes}") for k in range(members)]
    # Some are of two.
    facts += [(f"e{k}", "is a", "class 0") for k in range(1, members, 10)]
    facts += [("class 0", "is a", "class 0")]
    facts += [(f"e{k}", "knows", f"e{k * 7 % 50}") for k in range(0, members, 3)]
    facts += [
        (f"e{k}", "likes", f"e{(k + classes) % members}") for k in range(0, members, 2)
    ]
    graph = Graph.of(sorted(set(facts)))
    # Up to two steps.
    types = np.repeat(every_type(graph.directions)[:42], graph.directions)
    labels = np.tile(np.arange(graph.directions, dtype=np.int32), 42)
    found = alone(graph, labels, types)
    assert found.right_open.any()
    assert_same(found, together(graph, labels, types, everyone(graph)))
