from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as example_settings
from hypothesis import strategies as st
from tests import oracle
from tests.strategies import (
    Fact,
    fact_lists,
    path_type_in_oracle,
    profiles_of,
    random_facts,
    relation_in_oracle,
)

from casegraph import kernels
from casegraph.answering.weights import estimate, ratio
from casegraph.graph.arrays import Counts, ids
from casegraph.graph.graph import Graph
from casegraph.settings import Clustering, Settings, Weight
from casegraph.similarity.clusters.assignment import EVERYONE, Clusters
from casegraph.statistics.counts import TOO_MANY
from casegraph.statistics.path_types import are_path_types, ends_of, packed, unpacked
from casegraph.statistics.statistics import PathStatistics

REACH = ("reached", "right", "reached_open", "right_open")
Numbers = dict[oracle.PathType, tuple[int, ...]]


def counted(added: list[Fact], settings: Settings) -> tuple[Graph, PathStatistics]:
    graph = Graph.of(added)
    return graph, PathStatistics(
        graph, lambda: Clusters.of(graph, profiles_of(graph), settings).entities, settings
    )


def clusters_in_names(graph: Graph, settings: Settings) -> dict[int, list[str]]:
    """The entities of each cluster, and everyone."""
    found = {EVERYONE: list(graph.entities.names)}
    for name, cluster in zip(
        graph.entities.names,
        Clusters.of(graph, profiles_of(graph), settings).entities.tolist(),
        strict=True,
    ):
        if cluster != EVERYONE:
            found.setdefault(cluster, []).append(name)
    return found


class Expected:
    """What the oracle counts, from all walks of every entity at once."""

    def __init__(self, added: list[Fact], n: int) -> None:
        self.facts = oracle.both_ways(added)
        self.walks = {
            entity: oracle.walks_by_type(self.facts, entity, n)
            for entity in sorted(oracle.entities(self.facts))
        }
        self.paths = {
            entity: {
                path_type: [walk for walk in found if len(set(walk)) == len(walk)]
                for path_type, found in by_type.items()
            }
            for entity, by_type in self.walks.items()
        }

    def everyone(self, relation: oracle.Name, support: int) -> Numbers:
        """Hits, and for the path types in use reached and right, of all ends and of open slots."""
        askers: dict[str, set[str]] = {}
        for head, label, tail in self.facts:
            if label == relation:
                askers.setdefault(tail, set()).add(head)
        hits = Counter[Any]()
        reach: dict[oracle.PathType, Counter[str]] = {}
        for entity, by_type in self.paths.items():
            goals = oracle.answers(self.facts, entity, relation)
            for path_type, found in by_type.items() if goals else ():
                ends = {path[-1] for path in found}
                is_open = {end for end in ends if not askers.get(end, set()) - {entity}}
                hits[path_type] += sum(path[-1] in goals for path in found)
                counts = reach.setdefault(path_type, Counter())
                counts["reached"] += len(ends)
                counts["right"] += len(ends & goals)
                counts["reached_open"] += len(is_open)
                counts["right_open"] += len(is_open & goals)
        expected: Numbers = {}
        for path_type, hit in hits.items():
            is_used = hit >= support and path_type != (relation,)
            counts = reach[path_type] if is_used else Counter()
            if hit:
                expected[path_type] = (hit, *(counts[name] for name in REACH))
        return expected

    def clustered(self, members: list[str], relation: oracle.Name) -> Numbers:
        """Hits and tries of a cluster."""
        hits, tries = Counter[Any](), Counter[Any]()
        for entity in members:
            goals = oracle.answers(self.facts, entity, relation)
            for path_type, found in self.walks.get(entity, {}).items() if goals else ():
                hits[path_type] += sum(path[-1] in goals for path in self.paths[entity][path_type])
                tries[path_type] += len(found)
        return {path_type: (found, tries[path_type]) for path_type, found in hits.items() if found}


def by_type(graph: Graph, n: int, types: Counts, *columns: Counts) -> Numbers:
    assert types.tolist() == sorted(set(types.tolist()))
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return {
        path_type_in_oracle(graph, number, n): row
        for number, row in zip(types.tolist(), rows, strict=True)
    }


def assert_counts_agree(added: list[Fact], settings: Settings) -> int:
    """Every number for every relation, over everyone and per cluster.

    Returns how many path types were compared.
    """
    n, compared = settings.max_length, 0
    expected = Expected(added, n)
    graph, statistics = counted(added, settings)
    named = clusters_in_names(graph, settings)
    for relation in range(2 * len(graph.relations)):
        label = relation_in_oracle(graph, relation)
        everyone = statistics.everyone(relation)
        columns = [getattr(everyone, name) for name in REACH]
        found = by_type(graph, n, everyone.types, everyone.hits, *columns)
        assert found == expected.everyone(label, settings.support)
        compared += len(found)
        counts = statistics.clustered(relation)
        for cluster, members in named.items():
            rows = counts.of(cluster)
            agreed = expected.clustered(members, label)
            assert (
                by_type(graph, n, counts.types[rows], counts.hits[rows], counts.tries[rows])
                == agreed
            )
        assert set(counts.clusters.tolist()) <= set(named)
    return compared


def settings_for(random: Random, n: int) -> Settings:
    return Settings(
        max_length=n,
        support=random.choice([1, 1, 2, 3]),
        clustering=random.choice(["hac", "entity", "everyone"]),
        threshold=random.choice([0.3, 0.6, 0.75]),
    )


@pytest.mark.parametrize(
    ("n", "graphs", "entities", "facts"),
    [
        (1, 150, 8, 14),
        (2, 600, 8, 14),
        (3, 900, 8, 14),
        (4, 250, 8, 12),
        (4, 100, 5, 9),
        (5, 60, 8, 10),
        (5, 60, 6, 9),
    ],
)
def test_all_counts_are_the_oracles_on_random_graphs(
    n: int, graphs: int, entities: int, facts: int
) -> None:
    random, compared = Random(1_000 * n + entities), 0
    for _ in range(graphs):
        compared += assert_counts_agree(
            random_facts(random, entities, 3, facts), settings_for(random, n)
        )
    assert compared > 3 * graphs


@pytest.mark.parametrize("seed", range(12))
def test_loop_free_ends_are_found_behind_every_knot_of_paths_of_five_steps(seed: int) -> None:
    """One relation, many ways round:
    the ends depend on which of many paths to the same entity are remembered.
    """
    random = Random(seed)
    added = random_facts(random, entities=7, relations=1, facts=12)
    assert_counts_agree(added, Settings(max_length=5, support=1))


@given(
    fact_lists(),
    st.integers(1, 3),
    st.integers(1, 2),
    st.sampled_from(["hac", "entity", "everyone"]),
)
def test_all_counts_are_the_oracles(
    added: list[Fact], n: int, support: int, clustering: Clustering
) -> None:
    assert_counts_agree(
        added, Settings(max_length=n, support=support, clustering=clustering, threshold=0.5)
    )


@example_settings(max_examples=40)
@given(fact_lists(least=1, most=8), st.integers(1, 3))
def test_every_question_is_answered_by_the_definitions_of_the_paper(
    added: list[Fact], n: int
) -> None:
    settings = Settings(max_length=n, support=1, clustering="hac", weight="prior")
    graph, statistics = counted(added, settings)
    facts = oracle.both_ways(added)
    for cluster, members in clusters_in_names(graph, settings).items():
        for relation in range(2 * len(graph.relations)):
            label = relation_in_oracle(graph, relation)
            for number in statistics.everyone(relation).types.tolist():
                # Often a path type that never led to an answer.
                backwards = unpacked(number, n)[::-1]
                asked = cluster, relation, backwards
                path_type = tuple(relation_in_oracle(graph, step) for step in backwards)
                assert statistics.hits(*asked) == oracle.hits(facts, members, label, n)[path_type]
                assert statistics.tries(*asked) == oracle.tries(facts, members, label, path_type)
                assert estimate(statistics, *asked).prior == oracle.prior(
                    facts, members, label, path_type, n
                )
                assert estimate(statistics, *asked).precision == oracle.precision(
                    facts, members, label, path_type, n
                )


@given(fact_lists(least=1, most=10), st.integers(1, 4))
def test_the_walks_by_type_are_the_walks_of_the_paper(added: list[Fact], n: int) -> None:
    facts = oracle.both_ways(added)
    for path_type, found in oracle.walks_by_type(facts, "e0", n).items():
        assert sorted(found) == sorted(oracle.walks(facts, "e0", path_type))


@given(fact_lists(least=1), st.integers(1, 4))
def test_the_path_types_of_each_entity_are_the_closed_paths_of_the_oracle(
    added: list[Fact], n: int
) -> None:
    graph, statistics = counted(added, Settings(max_length=n))
    facts = oracle.both_ways(added)
    everyone = ids(range(len(graph.entities)))
    for relation in range(2 * len(graph.relations)):
        counts = statistics.closed_path_types(relation, everyone)
        for entity, name in enumerate(graph.entities.names):
            rows = counts.of(entity)
            found = by_type(graph, n, counts.types[rows], counts.hits[rows])
            closed = oracle.closed_paths(facts, name, relation_in_oracle(graph, relation), n)
            assert found == {path_type: (hits,) for path_type, hits in closed.items()}


@given(fact_lists(least=1), st.sampled_from(["right", "prior"]))
def test_what_is_counted_for_all_relations_at_once_is_what_is_counted_for_each(
    added: list[Fact], weight: Weight
) -> None:
    settings = Settings(weight=weight, clustering="hac", threshold=0.5)
    graph, at_once = counted(added, settings)
    _, one_by_one = counted(added, settings)
    at_once.prepare(range(2 * len(graph.relations)))
    for relation in reversed(range(2 * len(graph.relations))):
        assert_same(at_once, one_by_one, relation)


def assert_same(statistics: PathStatistics, others: PathStatistics, relation: int) -> None:
    one, other = statistics.everyone(relation), others.everyone(relation)
    for column in ("types", "hits", "reached", "right", "reached_open", "right_open"):
        np.testing.assert_array_equal(getattr(one, column), getattr(other, column))
    for column in ("clusters", "types", "hits", "tries"):
        np.testing.assert_array_equal(
            getattr(statistics.clustered(relation), column),
            getattr(others.clustered(relation), column),
        )


@pytest.mark.parametrize("n", [2, 3, 4])
def test_the_number_of_threads_does_not_matter(n: int) -> None:
    added = random_facts(Random(n), entities=90, relations=4, facts=4_000)[: 220 if n < 4 else 130]
    made = []
    for threads in ("1", "2", "3"):
        with pytest.MonkeyPatch.context() as environment:
            environment.setenv("CASEGRAPH_THREADS", threads)
            graph, statistics = counted(
                added, Settings(max_length=n, clustering="hac", weight="prior")
            )
            statistics.prepare(range(2 * len(graph.relations)))
            _, rights = counted(added, Settings(max_length=n))
            rights.prepare(range(2 * len(graph.relations)))
            made.append((statistics, rights))
    for statistics, rights in made[1:]:
        for relation in range(2 * len(graph.relations)):
            assert_same(statistics, made[0][0], relation)
            assert_same(rights, made[0][1], relation)
    assert len(made[0][0].everyone(0).types) > 3


def knot(entities: int, loops: int) -> kernels.Graph:
    """Entities with so many loops each, as no graph of facts has them:
    the shortest way to too many walks.
    """
    heads, offsets = ids(range(entities)), ids(range(0, entities * loops + 1, loops))
    edges = kernels.Edges.of(heads, offsets, np.repeat(heads, loops))
    return kernels.Graph(entities, [edges, edges])


def walks(graph: kernels.Graph, clusters: list[int], *, asked: int, steps: int) -> int:
    number = np.array([packed([0] * steps, 5)])
    counters = np.zeros(2, dtype=np.int64)
    return int(
        kernels.walks(graph, ids([asked]), ids([0]), number, ids(clusters), 5, 1, counters)[0]
    )


def test_a_number_of_walks_that_does_not_fit_is_too_many_and_never_a_wrong_number() -> None:
    graph = knot(entities=1, loops=2**13)
    assert [walks(graph, [0], asked=0, steps=steps) for steps in (1, 2, 3, 4, 5)] == [
        2**13,
        2**26,
        2**39,
        2**52,
        TOO_MANY,
    ]


def test_a_sum_over_entities_that_does_not_fit_is_too_many() -> None:
    graph = knot(entities=8, loops=2**12)
    assert walks(graph, [0] * 8, asked=EVERYONE, steps=5) == TOO_MANY
    assert walks(graph, [0] * 7 + [1], asked=0, steps=5) == 7 * 2**60
    assert walks(graph, [0] * 7 + [1], asked=1, steps=5) == 2**60
    assert walks(graph, [0] * 7 + [1], asked=EVERYONE, steps=5) == TOO_MANY


def test_a_share_of_nothing_is_nothing() -> None:
    assert ratio(np.array([0, 3]), np.array([0, 4])).tolist() == [0.0, 0.75]
    assert ratio(np.array([0, 3]), np.array([0, 1]), 5.0).tolist() == [0.0, 0.5]
    assert ratio(np.array([0, 0]), 0).tolist() == [0.0, 0.0]


@given(
    st.integers(1, 5),
    st.integers(0, 6),
    st.lists(st.lists(st.integers(-1, 6), max_size=5), max_size=4),
)
def test_numbers_are_path_types_if_every_step_of_each_is_a_relation(
    n: int, directions: int, path_types: list[list[int]]
) -> None:
    numbers = [packed(path_type[:n], n) for path_type in path_types]
    expected = all(
        0 <= relation < directions for number in numbers for relation in unpacked(number, n) or [-1]
    )
    assert are_path_types(np.array(numbers, dtype=np.int64), directions, n) == expected


@example_settings(max_examples=60)
@given(fact_lists(least=1, most=12), st.data())
def test_the_ends_of_paths_and_of_walks_are_found_or_too_many(
    added: list[Fact], data: st.DataObject
) -> None:
    graph = Graph.of(added)
    steps = st.lists(st.integers(0, graph.directions - 1), min_size=1, max_size=3)
    path_type = tuple(data.draw(steps))
    facts = oracle.both_ways(added)
    in_oracle = tuple(relation_in_oracle(graph, direction) for direction in path_type)
    for entity, name in enumerate(graph.entities.names):
        paths = ends_of(graph, entity, path_type, loop_free=True, budget=1_000)
        walks = ends_of(graph, entity, path_type, loop_free=False, budget=1_000)
        assert paths is not None
        assert walks is not None
        assert {graph.entities[end] for end in paths} == oracle.ends(facts, name, in_oracle)
        expected = {walk[-1] for walk in oracle.walks(facts, name, in_oracle)}
        assert {graph.entities[end] for end in walks} == expected
        if len(graph.answers(entity, path_type[0])):
            assert ends_of(graph, entity, path_type, loop_free=False, budget=0) is None
