from collections.abc import Iterable
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, linkage  # type: ignore[import-untyped]
from tests import oracle
from tests.strategies import Fact, fact_lists, profiles_of, random_facts, shuffled

from casegraph.arrays import ids
from casegraph.clusters.assignment import EVERYONE, clusters
from casegraph.clusters.hac import grow
from casegraph.clusters.tree import ClusterTree
from casegraph.graph import Graph
from casegraph.settings import Settings

THRESHOLDS = [-1.0, 0.0, 0.2, 0.3333333, 0.5, 0.66, 0.75, 0.9, 1.0]


def members(graph: Graph, tree: ClusterTree, node: int) -> frozenset[str]:
    """The names of the entities below a node."""
    profiles = profiles_of(graph)
    below = [profiles.members(int(tree.profiles[leaf])) for leaf in tree.leaves(node)]
    return frozenset(graph.entities[entity] for entity in np.concatenate(below).tolist())


def partition(graph: Graph, threshold: float) -> set[frozenset[str]]:
    """The clusters at a threshold, in names."""
    settings = Settings(clustering="hac", threshold=threshold)
    return grouped(graph.entities.names, clusters(graph, profiles_of(graph), settings).tolist())


def grouped(names: Iterable[str], labels: Iterable[int]) -> set[frozenset[str]]:
    groups: dict[int, set[str]] = {}
    for name, label in zip(names, labels, strict=True):
        groups.setdefault(label, set()).add(name)
    return {frozenset(group) for group in groups.values()}


def scipy_partition(facts: oracle.Facts, distance: float) -> set[frozenset[str]]:
    """SciPy's average linkage of every entity by itself, cut at a distance."""
    names = sorted(oracle.entities(facts))
    labels = sorted({label for _, label, _ in facts}, key=str)
    vectors = np.array([[label in oracle.profile(facts, name) for label in labels] for name in names], dtype=float)
    if len(names) == 1:
        return {frozenset(names)}
    return grouped(names, fcluster(linkage(vectors, "average", "cosine"), distance, "distance").tolist())


def test_without_ties_the_clusters_are_those_of_scipys_average_linkage() -> None:
    random, compared, joined = Random(3), 0, 0
    for _ in range(1_500):
        added = random_facts(random, entities=7, relations=5, facts=12)
        facts = oracle.both_ways(added)
        joins, is_tied = oracle.grow(facts)
        if is_tied or len(joins) < 2:
            continue
        linkages = [1.0, *(similarity for *_, similarity in joins), -1.0]
        thresholds = [(above + below) / 2 for above, below in pairwise(linkages) if above - below > 1e-6]
        for threshold in thresholds:
            assert partition(Graph.of(added), threshold) == scipy_partition(facts, 1 - threshold)
        compared, joined = compared + 1, joined + len(joins)
    assert compared > 50
    assert joined > 2 * compared


@given(fact_lists(least=1), st.randoms(use_true_random=False))
def test_clusters_do_not_depend_on_the_order_of_facts(added: list[Fact], random: Random) -> None:
    graph, other = Graph.of(added), Graph.of(shuffled(random, added))
    for threshold in THRESHOLDS:
        assert partition(graph, threshold) == partition(other, threshold)


def test_clusters_of_larger_graphs_full_of_ties_do_not_depend_on_the_order_of_facts() -> None:
    random = Random(5)
    for _ in range(15):
        facts = random_facts(random, entities=40, relations=4, facts=70)
        graph, other = Graph.of(facts), Graph.of(shuffled(random, facts))
        assert all(partition(graph, threshold) == partition(other, threshold) for threshold in THRESHOLDS)


@given(fact_lists(least=1))
def test_the_linkage_of_every_node_is_the_mean_similarity_over_its_pairs(added: list[Fact]) -> None:
    graph, facts = Graph.of(added), oracle.both_ways(added)
    tree = grow(graph, profiles_of(graph))
    for left, right, similarity in zip(tree.left.tolist(), tree.right.tolist(), tree.linkage.tolist(), strict=True):
        pairs = oracle.average_linkage(facts, members(graph, tree, left), members(graph, tree, right))
        assert similarity == pytest.approx(pairs, abs=1e-12)


@given(fact_lists(least=1))
def test_every_node_joins_two_that_are_nearest_to_each_other(added: list[Fact]) -> None:
    graph, facts = Graph.of(added), oracle.both_ways(added)
    tree = grow(graph, profiles_of(graph))
    leaves = len(tree.profiles)
    order = sorted(range(len(tree.left)), key=lambda join: (-round(float(tree.linkage[join]), 9), join))
    standing = {leaf: members(graph, tree, leaf) for leaf in range(leaves)}
    for join in order:
        most = max(
            oracle.average_linkage(facts, a, b)
            for one, a in standing.items()
            for other, b in standing.items()
            if one < other
        )
        assert tree.linkage[join] == pytest.approx(most, abs=1e-9)
        joined = standing.pop(int(tree.left[join])) | standing.pop(int(tree.right[join]))
        standing[leaves + join] = joined
    assert list(standing) == [tree.root]


@given(fact_lists(), st.floats(-1, 1))
def test_the_cut_is_algorithm_1(added: list[Fact], threshold: float) -> None:
    tree = grow(graph := Graph.of(added), profiles_of(graph))
    if not len(tree.profiles):
        assert tree.cut(threshold).tolist() == []
        return
    leaves = len(tree.profiles)
    children = {leaves + j: (int(tree.left[j]), int(tree.right[j])) for j in range(len(tree.left))}
    linkages = {leaves + j: float(tree.linkage[j]) for j in range(len(tree.left))}
    for chosen in [threshold, *linkages.values()]:  # a linkage of the threshold itself is not above it
        cut = tree.cut(chosen).tolist()
        assert set(cut) == oracle.cut(tree.root, children, linkages, chosen)
        covered = sorted(leaf for node in set(cut) for leaf in tree.leaves(node).tolist())
        assert covered == list(range(leaves))
        assert all(leaf in tree.leaves(node) for leaf, node in enumerate(cut))


@given(st.integers(1, 9), st.randoms(use_true_random=False), st.floats(-1, 1))
def test_the_cut_of_any_tree_covers_every_leaf_once_however_linkages_go_up_and_down(
    leaves: int, random: Random, threshold: float
) -> None:
    standing, left, right = list(range(leaves)), [], []
    while len(standing) > 1:
        random.shuffle(standing)
        left.append(standing.pop())
        right.append(standing.pop())
        standing.append(leaves + len(left) - 1)
    tree = ClusterTree(ids(range(leaves)), ids(left), ids(right), np.array([random.uniform(-1, 1) for _ in left]))
    children = {leaves + j: (left[j], right[j]) for j in range(len(left))}
    linkages = {leaves + j: float(tree.linkage[j]) for j in range(len(left))}
    cut = tree.cut(threshold).tolist()
    assert set(cut) == oracle.cut(tree.root, children, linkages, threshold)
    assert sorted(leaf for node in set(cut) for leaf in tree.leaves(node).tolist()) == list(range(leaves))


@given(fact_lists(least=1))
def test_the_clusters_lie_between_everyone_together_and_every_profile_apart(added: list[Fact]) -> None:
    graph = Graph.of(added)
    profiles = profiles_of(graph)
    together = {
        frozenset(graph.entities[entity] for entity in profiles.members(profile).tolist())
        for profile in profiles.living()
    }
    assert partition(graph, -1.0) == {frozenset(graph.entities.names)}
    assert partition(graph, 1.0) == together


@given(fact_lists(least=1))
def test_an_entity_without_facts_is_in_no_cluster_but_everyones(added: list[Fact]) -> None:
    graph = Graph.of([*added, ("lonely", "r0", "e0")])
    graph.retract([("lonely", "r0", "e0")])
    profiles, lonely = profiles_of(graph), graph.entities.names.index("lonely")
    assert clusters(graph, profiles, Settings(clustering="hac"))[lonely] == EVERYONE
    assert (clusters(graph, profiles, Settings(clustering="everyone")) == EVERYONE).all()
    assert clusters(graph, profiles, Settings(clustering="entity")).tolist() == list(range(len(graph.entities)))
