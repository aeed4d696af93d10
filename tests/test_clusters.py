from itertools import combinations, pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, linkage  # type: ignore[import-untyped]
from tests import oracle
from tests.strategies import (
    Fact,
    Step,
    fact_lists,
    histories,
    profiles_of,
    random_facts,
    shuffled,
)
from tests.trees import Node, grouped, joins_of, leaves, members, nodes_of

from casegraph.casebase import CaseBase
from casegraph.graph.arrays import ids
from casegraph.graph.graph import Graph
from casegraph.kernels import ClusterTree
from casegraph.settings import Clustering, Settings
from casegraph.similarity.clusters.assignment import EVERYONE, Clusters
from casegraph.similarity.clusters.hac import grow
from casegraph.similarity.profiles import Profiles

THRESHOLDS = [-1.0, 0.0, 0.2, 0.3333333, 0.5, 0.66, 0.75, 0.9, 1.0]


def partition(graph: Graph, threshold: float) -> set[frozenset[str]]:
    """The clusters at a threshold, in names."""
    found = clusters(graph, "hac", threshold)
    return grouped(graph.entities.names, found.entities.tolist())


def clusters(graph: Graph, clustering: Clustering, threshold: float = 0.75) -> Clusters:
    settings = Settings(clustering=clustering, threshold=threshold)
    return Clusters.of(graph, profiles_of(graph), settings)


def scipy_partition(facts: oracle.Facts, distance: float) -> set[frozenset[str]]:
    """SciPy's average linkage of every entity by itself, cut at a distance."""
    names = sorted(oracle.entities(facts))
    labels = sorted({label for _, label, _ in facts}, key=str)
    if len(names) == 1:
        return {frozenset(names)}
    vectors = []
    for name in names:
        profile = oracle.profile(facts, name)
        vectors.append([float(label in profile) for label in labels])
    tree = linkage(np.array(vectors), "average", "cosine")
    found = fcluster(tree, distance, "distance")
    return grouped(names, found.tolist())


def test_without_ties_the_clusters_are_those_of_scipys_average_linkage() -> None:
    random = Random(3)
    compared = 0
    joined = 0
    for _ in range(1_500):
        added = random_facts(random, entities=7, relations=5, facts=12)
        facts = oracle.both_ways(added)
        joins, is_tied = oracle.grow(facts)
        if is_tied or len(joins) < 2:
            continue
        linkages = [1.0, *(similarity for *_, similarity in joins), -1.0]
        for above, below in pairwise(linkages):
            if above - below > 1e-6:
                threshold = (above + below) / 2
                found = partition(Graph.of(added), threshold)
                assert found == scipy_partition(facts, 1 - threshold)
        compared += 1
        joined += len(joins)
    assert compared > 50
    assert joined > 2 * compared


@given(fact_lists(least=1), st.randoms(use_true_random=False))
def test_clusters_do_not_depend_on_the_order_of_facts(
    added: list[Fact], random: Random
) -> None:
    graph = Graph.of(added)
    other = Graph.of(shuffled(random, added))
    for threshold in THRESHOLDS:
        assert partition(graph, threshold) == partition(other, threshold)


def test_clusters_with_many_ties_do_not_depend_on_the_order_of_facts() -> None:
    random = Random(5)
    for _ in range(15):
        facts = random_facts(random, entities=40, relations=4, facts=70)
        graph = Graph.of(facts)
        other = Graph.of(shuffled(random, facts))
        for threshold in THRESHOLDS:
            assert partition(graph, threshold) == partition(other, threshold)


@given(fact_lists(least=4))
def test_the_linkage_of_every_node_is_the_mean_similarity_over_its_pairs(
    added: list[Fact],
) -> None:
    facts = oracle.both_ways(added)
    graph, profiles, tree = grown(added)
    for node in joins_of(tree).values():
        one = members(graph, profiles, leaves(tree, node.left))
        two = members(graph, profiles, leaves(tree, node.right))
        mean = oracle.average_linkage(facts, one, two)
        assert node.linkage == pytest.approx(mean, abs=1e-12)


def grown(added: list[Fact]) -> tuple[Graph, Profiles, ClusterTree]:
    graph = Graph.of(added)
    profiles = profiles_of(graph)
    return graph, profiles, grow(graph, profiles)


@given(fact_lists(least=4))
def test_every_node_joins_two_that_are_nearest_to_each_other(added: list[Fact]) -> None:
    facts = oracle.both_ways(added)
    graph, profiles, tree = grown(added)
    standing = {}
    for place, node in nodes_of(tree).items():
        if node.profile >= 0:
            standing[place] = members(graph, profiles, [node.profile])

    def nearest_first(join: tuple[int, Node]) -> tuple[float, int]:
        return -join[1].linkage, join[1].size

    for place, node in sorted(joins_of(tree).items(), key=nearest_first):
        pairs = combinations(standing.values(), 2)
        most = max(oracle.average_linkage(facts, a, b) for a, b in pairs)
        assert node.linkage == pytest.approx(most, abs=1e-9)
        standing[place] = standing.pop(node.left) | standing.pop(node.right)
    assert list(standing) == [tree.root()]


@given(fact_lists(), st.floats(-1, 1))
def test_the_cut_is_algorithm_1(added: list[Fact], threshold: float) -> None:
    _, _, tree = grown(added)
    linkages = [node.linkage for node in joins_of(tree).values()]
    # A linkage of the threshold itself is not above it.
    for chosen in [threshold, *linkages]:
        assert_cut(tree, chosen)


@given(st.integers(1, 9), st.randoms(use_true_random=False), st.floats(-1, 1))
def test_the_cut_of_any_tree_covers_every_leaf_once_however_linkages_go_up_and_down(
    size: int, random: Random, threshold: float
) -> None:
    tree = ClusterTree()
    standing = []
    for profile in range(size):
        relations = sorted(random.sample(range(6), 3))
        standing.append(tree.leaf(profile, ids(relations), 1 + profile % 3))
    while len(standing) > 1:
        random.shuffle(standing)
        standing.append(tree.attach(standing.pop(), standing.pop()))
    assert_cut(tree, threshold)


def assert_cut(tree: ClusterTree, threshold: float) -> None:
    """The cut is the oracle's, and each leaf is in the cluster that is above it."""
    profiles, nodes = tree.cut(threshold)
    if tree.root() < 0:
        assert len(profiles) == len(nodes) == 0
        return
    joins = joins_of(tree)
    children = {place: (node.left, node.right) for place, node in joins.items()}
    linkages = {place: node.linkage for place, node in joins.items()}
    assert set(nodes.tolist()) == oracle.cut(tree.root(), children, linkages, threshold)
    assert sorted(profiles.tolist()) == leaves(tree, tree.root())
    for profile, node in zip(profiles.tolist(), nodes.tolist(), strict=True):
        assert profile in leaves(tree, node)


@given(fact_lists(least=1))
def test_the_clusters_lie_between_everyone_together_and_every_profile_apart(
    added: list[Fact],
) -> None:
    graph = Graph.of(added)
    profiles = profiles_of(graph)
    together = set()
    for profile in profiles.nonempty():
        entities = profiles.members(profile).tolist()
        together.add(frozenset(graph.entities[entity] for entity in entities))
    assert partition(graph, -1.0) == {frozenset(graph.entities.names)}
    assert partition(graph, 1.0) == together


@given(fact_lists(least=1))
def test_an_entity_without_facts_is_in_no_cluster_but_everyones(
    added: list[Fact],
) -> None:
    graph = Graph.of([*added, ("lonely", "r0", "e0")])
    graph.retract([("lonely", "r0", "e0")])
    lonely = graph.entities.names.index("lonely")
    assert clusters(graph, "hac").entities[lonely] == EVERYONE
    assert clusters(graph, "grinch").entities[lonely] == EVERYONE
    assert (clusters(graph, "everyone").entities == EVERYONE).all()
    assert clusters(graph, "entity").entities.tolist() == list(
        range(len(graph.entities))
    )


@given(histories(), st.sampled_from(["hac", "entity", "everyone"]))
def test_clusters_that_do_not_depend_on_history_are_those_made_at_once(
    history: list[Step], clustering: Clustering
) -> None:
    cases = CaseBase(Settings(clustering=clustering, threshold=0.5))
    for doing, named in history:
        before = cases.state
        cases.update(**{doing: named})  # type: ignore[arg-type]
        now = cases.state
        later, moved = before.clusters.after(now.graph, now.profiles, ids())
        assert later.entities.tolist() == now.clusters.entities.tolist()
        new = later.entities.tolist()
        old = before.clusters.entities.tolist()
        old += [EVERYONE] * (len(new) - len(old))
        differing = [
            entity for entity, cluster in enumerate(new) if cluster != old[entity]
        ]
        assert moved.tolist() == differing
