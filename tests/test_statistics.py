from collections import Counter, defaultdict
from itertools import product
from random import Random

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
from casegraph.graph.arrays import Counts, Ids, ids
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
    return graph, PathStatistics(graph, lambda: clusters_of(graph, settings), settings)


def clusters_of(graph: Graph, settings: Settings) -> Ids:
    return Clusters.of(graph, profiles_of(graph), settings).entities


def clusters_in_names(graph: Graph, settings: Settings) -> dict[int, list[str]]:
    """The entities of each cluster, and everyone."""
    found = {EVERYONE: list(graph.entities.names)}
    clusters = clusters_of(graph, settings).tolist()
    for name, cluster in zip(graph.entities.names, clusters, strict=True):
        if cluster != EVERYONE:
            found.setdefault(cluster, []).append(name)
    return found


class Expected:
    """What the oracle counts, from all walks of every entity at once."""

    def __init__(self, added: list[Fact], n: int) -> None:
        self.facts = oracle.both_ways(added)
        self.walks: dict[str, dict[oracle.PathType, list[oracle.Walk]]] = {}
        self.paths: dict[str, dict[oracle.PathType, list[oracle.Walk]]] = {}
        for entity in sorted(oracle.entities(self.facts)):
            walks = oracle.walks_by_type(self.facts, entity, n)
            self.walks[entity] = walks
            self.paths[entity] = {
                kind: without_loops(found) for kind, found in walks.items()
            }

    def everyone(self, relation: oracle.Name, support: int) -> Numbers:
        """Hits, and for the path types in use reached and right, of all ends and of open slots."""
        askers = defaultdict[str, set[str]](set)
        for head, label, tail in self.facts:
            if label == relation:
                askers[tail].add(head)
        hits = Counter[oracle.PathType]()
        reach = defaultdict[oracle.PathType, Counter[str]](Counter)
        for entity in self.having(relation):
            goals = oracle.answers(self.facts, entity, relation)
            for path_type, found in self.paths[entity].items():
                ends = {path[-1] for path in found}
                open_ends = {end for end in ends if askers[end] <= {entity}}
                hits[path_type] += sum(path[-1] in goals for path in found)
                counts = reach[path_type]
                counts["reached"] += len(ends)
                counts["right"] += len(ends & goals)
                counts["reached_open"] += len(open_ends)
                counts["right_open"] += len(open_ends & goals)
        expected: Numbers = {}
        for path_type, hit in hits.items():
            is_used = hit >= support and path_type != (relation,)
            counts = reach[path_type] if is_used else Counter()
            if hit:
                expected[path_type] = (hit, *(counts[name] for name in REACH))
        return expected

    def clustered(self, members: list[str], relation: oracle.Name) -> Numbers:
        """Hits and tries of a cluster."""
        hits = Counter[oracle.PathType]()
        tries = Counter[oracle.PathType]()
        for entity in self.having(relation) & set(members):
            goals = oracle.answers(self.facts, entity, relation)
            for path_type, found in self.walks[entity].items():
                tries[path_type] += len(found)
                paths = self.paths[entity][path_type]
                hits[path_type] += sum(path[-1] in goals for path in paths)
        return {
            path_type: (hit, tries[path_type]) for path_type, hit in hits.items() if hit
        }

    def having(self, relation: oracle.Name) -> set[str]:
        """The entities that have the relation."""
        return set(oracle.having(self.facts, self.walks, relation))


def without_loops(walks: list[oracle.Walk]) -> list[oracle.Walk]:
    return [walk for walk in walks if len(set(walk)) == len(walk)]


def by_type(graph: Graph, n: int, types: Counts, *columns: Counts) -> Numbers:
    """A row of numbers for each path type, which are sorted and different."""
    assert types.tolist() == sorted(set(types.tolist()))
    rows = zip(*(column.tolist() for column in columns), strict=True)
    named = [path_type_in_oracle(graph, number, n) for number in types.tolist()]
    return dict(zip(named, rows, strict=True))


def assert_counts_agree(added: list[Fact], settings: Settings) -> int:
    """Every number for every relation, over everyone and per cluster.

    Returns how many path types were compared.
    """
    n = settings.max_length
    compared = 0
    expected = Expected(added, n)
    graph, statistics = counted(added, settings)
    named = clusters_in_names(graph, settings)
    for relation in range(graph.directions):
        label = relation_in_oracle(graph, relation)
        everyone = statistics.everyone(relation)
        columns = [getattr(everyone, name) for name in REACH]
        found = by_type(graph, n, everyone.types, everyone.hits, *columns)
        assert found == expected.everyone(label, settings.support)
        compared += len(found)
        counts = statistics.clustered(relation)
        for cluster, members in named.items():
            rows = counts.of(cluster)
            columns = [counts.hits[rows], counts.tries[rows]]
            found = by_type(graph, n, counts.types[rows], *columns)
            assert found == expected.clustered(members, label)
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
        (2, 300, 8, 14),
        (3, 300, 8, 14),
        (4, 250, 8, 12),
        (4, 100, 5, 9),
        (5, 60, 8, 10),
        (5, 60, 6, 9),
    ],
)
def test_all_counts_are_the_oracles_on_random_graphs(
    n: int, graphs: int, entities: int, facts: int
) -> None:
    random = Random(1_000 * n + entities)
    compared = 0
    for _ in range(graphs):
        added = random_facts(random, entities, 3, facts)
        compared += assert_counts_agree(added, settings_for(random, n))
    assert compared > 3 * graphs


@pytest.mark.parametrize("seed", range(12))
def test_loop_free_ends_are_found_behind_every_knot_of_paths_of_five_steps(
    seed: int,
) -> None:
    """One relation, many ways round:
    the ends depend on which of many paths to the same entity are remembered.
    """
    random = Random(seed)
    added = random_facts(random, entities=7, relations=1, facts=12)
    assert assert_counts_agree(added, Settings(max_length=5, support=1)) > 0


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
        added,
        Settings(max_length=n, support=support, clustering=clustering, threshold=0.5),
    )


@example_settings(max_examples=40)
@given(fact_lists(least=1, most=8), st.integers(1, 3))
def test_every_question_is_answered_by_the_definitions_of_the_paper(
    added: list[Fact], n: int
) -> None:
    settings = Settings(max_length=n, support=1, clustering="hac", weight="prior")
    graph, statistics = counted(added, settings)
    facts = oracle.both_ways(added)
    clusters = clusters_in_names(graph, settings)
    for (cluster, members), relation in product(
        clusters.items(), range(graph.directions)
    ):
        label = relation_in_oracle(graph, relation)
        for number in statistics.everyone(relation).types.tolist():
            # Often a path type that never led to an answer.
            backwards = unpacked(number, n)[::-1]
            path_type = tuple(relation_in_oracle(graph, step) for step in backwards)
            hits = oracle.hits(facts, members, label, n)[path_type]
            tries = oracle.tries(facts, members, label, path_type)
            found = estimate(statistics, cluster, relation, backwards)
            assert statistics.hits(cluster, relation, backwards) == hits
            assert statistics.tries(cluster, relation, backwards) == tries
            assert found.prior == oracle.prior(facts, members, label, path_type, n)
            assert found.precision == oracle.precision(
                facts, members, label, path_type, n
            )


@given(fact_lists(least=1, most=10), st.integers(1, 4))
def test_the_walks_by_type_are_the_walks_of_the_paper(
    added: list[Fact], n: int
) -> None:
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
    for relation in range(graph.directions):
        counts = statistics.closed_path_types(relation, everyone)
        for entity, name in enumerate(graph.entities.names):
            rows = counts.of(entity)
            found = by_type(graph, n, counts.types[rows], counts.hits[rows])
            closed = oracle.closed_paths(
                facts, name, relation_in_oracle(graph, relation), n
            )
            assert found == {path_type: (hits,) for path_type, hits in closed.items()}


@given(fact_lists(least=1), st.sampled_from(["right", "prior"]))
def test_what_is_counted_for_all_relations_at_once_is_what_is_counted_for_each(
    added: list[Fact], weight: Weight
) -> None:
    settings = Settings(weight=weight, clustering="hac", threshold=0.5)
    graph, at_once = counted(added, settings)
    _, one_by_one = counted(added, settings)
    at_once.prepare(range(graph.directions))
    for relation in reversed(range(graph.directions)):
        assert_same(at_once, one_by_one, relation)


def assert_same(
    statistics: PathStatistics, others: PathStatistics, relation: int
) -> None:
    one = statistics.everyone(relation)
    other = others.everyone(relation)
    for column in ("types", "hits", *REACH):
        np.testing.assert_array_equal(getattr(one, column), getattr(other, column))
    by_cluster = statistics.clustered(relation)
    by_cluster_of_others = others.clustered(relation)
    for column in ("clusters", "types", "hits", "tries"):
        np.testing.assert_array_equal(
            getattr(by_cluster, column), getattr(by_cluster_of_others, column)
        )


@pytest.mark.parametrize("n", [2, 3, 4])
def test_the_number_of_threads_does_not_matter(n: int) -> None:
    added = random_facts(Random(n), entities=90, relations=4, facts=4_000)[
        : 220 if n < 4 else 130
    ]
    made = []
    for threads in ("1", "2", "3"):
        with pytest.MonkeyPatch.context() as environment:
            environment.setenv("CASEGRAPH_THREADS", threads)
            graph, priors = counted(
                added, Settings(max_length=n, clustering="hac", weight="prior")
            )
            _, rights = counted(added, Settings(max_length=n))
            priors.prepare(range(graph.directions))
            rights.prepare(range(graph.directions))
            made.append((priors, rights))
    (priors_of_one, rights_of_one), *of_more = made
    for priors, rights in of_more:
        for relation in range(graph.directions):
            assert_same(priors, priors_of_one, relation)
            assert_same(rights, rights_of_one, relation)
    assert len(priors_of_one.everyone(0).types) > 3


def knot(entities: int) -> kernels.Graph:
    """Entities that lead to each other and to themselves: the shortest way to too many walks."""
    everyone = np.arange(entities, dtype=np.int32)
    offsets = np.arange(0, entities**2 + 1, entities, dtype=np.int32)
    edges = kernels.Edges.of(everyone, offsets, np.tile(everyone, entities))
    return kernels.Graph(entities, [edges, edges])


def walks(graph: kernels.Graph, clusters: list[int], *, asked: int, steps: int) -> int:
    """How many walks of so many steps the entities of the cluster that is asked for have."""
    number = np.array([packed([0] * steps, 5)])
    counters = np.zeros(2, dtype=np.int64)
    found = kernels.walks(
        graph, ids([asked]), ids([0]), number, ids(clusters), 5, 1, counters
    )
    return int(found[0])


def test_a_number_of_walks_that_does_not_fit_is_never_a_wrong_number() -> None:
    k = 6_300  # whose fifth power does not fit
    graph = knot(k)
    clusters = [0] + [1] * (k - 1)
    found = [walks(graph, clusters, asked=0, steps=steps) for steps in (1, 2, 3, 4, 5)]
    assert found == [k, k**2, k**3, k**4, TOO_MANY]


def test_a_sum_over_entities_that_does_not_fit_is_too_many() -> None:
    k = 1_500  # whose sixth power does not fit
    graph = knot(k)
    clusters = [0] * 7 + [1] * (k - 7)
    assert walks(graph, [0] * k, asked=EVERYONE, steps=5) == TOO_MANY
    assert walks(graph, clusters, asked=0, steps=5) == 7 * k**5
    assert walks(graph, clusters, asked=1, steps=5) == TOO_MANY
    assert walks(graph, clusters, asked=EVERYONE, steps=5) == TOO_MANY


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
    is_path_type = []
    for number in numbers:
        steps = unpacked(number, n)
        is_path_type.append(len(steps) > 0 and set(steps) <= set(range(directions)))
    found = are_path_types(np.array(numbers, dtype=np.int64), directions, n)
    assert found == all(is_path_type)


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
        assert {graph.entities[end] for end in paths} == oracle.ends(
            facts, name, in_oracle
        )
        expected = {walk[-1] for walk in oracle.walks(facts, name, in_oracle)}
        assert {graph.entities[end] for end in walks} == expected
        if len(graph.answers(entity, path_type[0])):
            assert ends_of(graph, entity, path_type, loop_free=False, budget=0) is None
