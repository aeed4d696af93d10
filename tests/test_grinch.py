"""A tree that is rearranged with every change:
what always holds of it, and where it agrees with clustering anew.
"""

from collections import defaultdict
from collections.abc import Iterator
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import oracle
from tests.strategies import (
    Fact,
    Step,
    fact_lists,
    histories,
    played,
    profiles_of,
    random_facts,
    shuffled,
)
from tests.trees import grouped, joins_of, leaves, members, nodes_of

from casegraph.casebase import CaseBase
from casegraph.graph.arrays import Ids, ids
from casegraph.graph.graph import Graph
from casegraph.kernels import ClusterTree
from casegraph.settings import Settings
from casegraph.similarity.clusters.assignment import EVERYONE, Clusters
from casegraph.similarity.clusters.grinch import update
from casegraph.similarity.clusters.hac import grow
from casegraph.similarity.clusters.tree import (
    by_relation_names,
    tree_as_array,
    tree_from_array,
)
from casegraph.similarity.profiles import NONE, Profiles, reshaped_entities

GRINCH = Settings(clustering="grinch", threshold=0.5)
THRESHOLDS = [-1.0, 0.0, 0.2, 0.3333333, 0.5, 0.66, 0.75, 0.9, 1.0]


def states(history: list[Step]) -> Iterator[tuple[Graph, Profiles, Ids]]:
    """The graph and its profiles after each step, and who was reshaped by it."""
    graph = Graph()
    profiles = Profiles()
    for step in history:
        before = graph
        graph = played([step], before.copy())
        profiles = profiles.copy()
        everyone = ids(range(len(graph.entities)))
        profiles.refresh(graph, everyone)
        yield graph, profiles, reshaped_entities(before, graph, everyone)


def tree_of(clusters: Clusters) -> ClusterTree:
    assert clusters.tree is not None
    return clusters.tree


def seen(clusters: Clusters) -> object:
    """Everything that can be seen of clusters, sums included."""
    tree = tree_of(clusters)
    sums = []
    for place, node in nodes_of(tree).items():
        relations, values = tree.sum(place)
        sums.append((node, relations.tolist(), values.tolist()))
    return tree.shape().tolist(), sums, clusters.entities.tolist()


def assert_whole(tree: ClusterTree, profiles: Profiles) -> None:
    """The leaves are the living profiles with their members,
    and every node is its children, added up.
    """
    nodes = nodes_of(tree)
    leaf_of = {
        node.profile: place for place, node in nodes.items() if node.profile >= 0
    }
    assert sorted(leaf_of) == list(profiles.nonempty())
    for profile, place in leaf_of.items():
        size = nodes[place].size
        assert size == len(profiles.members(profile))
        relations, values = tree.sum(place)
        assert relations.tolist() == profiles.relations(profile).tolist()
        each = size / np.sqrt(len(relations))
        assert values.tolist() == pytest.approx([each] * len(relations), rel=1e-15)

    for place, node in joins_of(tree).items():
        relations, values = tree.sum(place)
        total = np.zeros(relations.max() + 1)
        for child in (node.left, node.right):
            of_child, added = tree.sum(child)
            total[of_child] += added
        assert relations.tolist() == np.flatnonzero(total).tolist()
        assert values.tolist() == total[relations].tolist()
        assert node.size == nodes[node.left].size + nodes[node.right].size


@given(histories())
def test_after_any_history_the_tree_is_one_of_the_living_profiles(
    history: list[Step],
) -> None:
    clusters = Clusters.of(Graph(), Profiles(), GRINCH)
    for graph, profiles, reshaped in states(history):
        clusters, _ = clusters.after(graph, profiles, reshaped)
        assert_whole(tree_of(clusters), profiles)


@given(histories())
def test_the_linkage_of_every_node_is_the_mean_similarity_over_its_pairs(
    history: list[Step],
) -> None:
    clusters = Clusters.of(Graph(), Profiles(), GRINCH)
    for graph, profiles, reshaped in states(history):
        clusters, _ = clusters.after(graph, profiles, reshaped)
        tree = tree_of(clusters)
        facts = oracle.both_ways(list(graph.facts()))
        for node in joins_of(tree).values():
            one = members(graph, profiles, leaves(tree, node.left))
            two = members(graph, profiles, leaves(tree, node.right))
            mean = oracle.average_linkage(facts, one, two)
            assert node.linkage == pytest.approx(mean, abs=1e-11)


@given(histories())
def test_every_profile_is_in_one_cluster_and_its_entities_with_it(
    history: list[Step],
) -> None:
    clusters = Clusters.of(Graph(), Profiles(), GRINCH)
    for graph, profiles, reshaped in states(history):
        clusters, _ = clusters.after(graph, profiles, reshaped)
        below, nodes = tree_of(clusters).cut(GRINCH.threshold)
        node_of = dict(zip(below.tolist(), nodes.tolist(), strict=True))
        assert sorted(node_of) == list(profiles.nonempty())

        expected = []
        for entity in range(len(graph.entities)):
            profile = profiles.of(entity)
            if profile == NONE:
                expected.append(EVERYONE)
            else:
                own = [other for other in node_of if node_of[other] == node_of[profile]]
                expected.append(min(own))
        assert clusters.entities.tolist() == expected


@given(histories())
def test_who_moved_is_exactly_who_has_another_cluster(history: list[Step]) -> None:
    clusters = Clusters.of(Graph(), Profiles(), GRINCH)
    for graph, profiles, reshaped in states(history):
        before = clusters.entities.tolist()
        before += [EVERYONE] * (len(graph.entities) - len(before))
        clusters, moved = clusters.after(graph, profiles, reshaped)
        after = clusters.entities.tolist()
        differing = [
            entity for entity, cluster in enumerate(after) if cluster != before[entity]
        ]
        assert moved.tolist() == differing


@given(histories())
def test_a_change_leaves_the_state_before_it_as_it_was(history: list[Step]) -> None:
    clusters = Clusters.of(Graph(), Profiles(), GRINCH)
    for graph, profiles, reshaped in states(history):
        before = seen(clusters)
        later, _ = clusters.after(graph, profiles, reshaped)
        assert seen(clusters) == before
        clusters = later


@given(histories())
def test_a_cluster_whose_profiles_stay_together_keeps_its_id(
    history: list[Step],
) -> None:
    clusters = Clusters.of(Graph(), Profiles(), GRINCH)
    before = dict[frozenset[int], int]()
    for graph, profiles, reshaped in states(history):
        clusters, _ = clusters.after(graph, profiles, reshaped)
        profiles_of_cluster = defaultdict(set)
        for profile in profiles.nonempty():
            member = profiles.members(profile)[0]
            profiles_of_cluster[int(clusters.entities[member])].add(profile)
        now = {
            frozenset(together): label
            for label, together in profiles_of_cluster.items()
        }
        for together, label in now.items():
            assert before.get(together, label) == label
        before = now


@given(fact_lists(least=1), st.data())
def test_a_profile_that_is_taken_out_and_comes_back_leaves_the_same_leaves(
    added: list[Fact], data: st.DataObject
) -> None:
    graph = Graph.of(added)
    profiles = profiles_of(graph)
    tree = tree_of(Clusters.of(graph, profiles, GRINCH))
    profile = data.draw(st.sampled_from(list(profiles.nonempty())))
    tree.remove(profile)
    assert profile not in [node.profile for node in nodes_of(tree).values()]
    update(tree, graph, profiles, [profile])
    assert_whole(tree, profiles)


def played_clusters(
    history: list[Step], first: list[Fact]
) -> list[list[set[frozenset[str]]]]:
    """The clusters in names after each step, at every threshold.

    `first` comes and goes before, to decide the ids.
    """
    cases = CaseBase(GRINCH)
    cases.update(add=first)
    cases.update(retract=first)
    found = []
    for doing, named in history:
        cases.update(**{doing: named})  # type: ignore[arg-type]
        graph = cases.graph
        profiles = cases.state.profiles
        tree = tree_of(cases.state.clusters)
        at_thresholds = []
        for threshold in THRESHOLDS:
            _, nodes = tree.cut(threshold)
            parts = {
                members(graph, profiles, leaves(tree, node)) for node in nodes.tolist()
            }
            at_thresholds.append(parts)
        found.append(at_thresholds)
    return found


@given(histories(), fact_lists(), st.randoms(use_true_random=False))
def test_ids_of_entities_relations_and_profiles_do_not_matter(
    history: list[Step], first: list[Fact], random: Random
) -> None:
    other = [(doing, shuffled(random, named)) for doing, named in history]
    assert played_clusters(history, []) == played_clusters(other, first)


def test_ids_do_not_matter_in_larger_graphs_full_of_ties() -> None:
    random = Random(5)
    for _ in range(15):
        facts = random_facts(random, entities=40, relations=4, facts=70)
        later = random_facts(random, entities=40, relations=4, facts=8)
        history: list[Step] = [("add", facts), ("add", later), ("retract", facts[::5])]
        other = [(doing, shuffled(random, named)) for doing, named in history]
        first = shuffled(random, facts + later)
        assert played_clusters(history, []) == played_clusters(other, first)


def separated(random: Random, kinds: int = 5, entities: int = 60) -> list[Fact]:
    """Entities of several kinds:
    a kind has its own relations, of which each entity lacks at most one.
    """
    facts = []
    for number in range(entities):
        kind = number % kinds
        lacking = random.randrange(12)
        for relation in range(8):
            if relation != lacking:
                tail = f"value{kind} {relation}"
                facts.append((f"e{number}", f"kind{kind} r{relation}", tail))
    return shuffled(random, facts)


@pytest.mark.parametrize("seed", range(5))
def test_clusters_that_lie_well_apart_are_those_of_clustering_anew(seed: int) -> None:
    facts = separated(Random(seed))
    hac = CaseBase(GRINCH.but(clustering="hac"))
    hac.update(add=facts)
    once = CaseBase(GRINCH)
    once.update(add=facts)
    streamed = CaseBase(GRINCH)
    for start in range(0, len(facts), 7):
        streamed.update(add=facts[start : start + 7])
    expected = named(hac)
    assert sum(len(group) > 1 for group in expected) >= 5
    assert named(once) == named(streamed) == expected


def named(cases: CaseBase) -> set[frozenset[str]]:
    return grouped(cases.graph.entities.names, cases.state.clusters.entities.tolist())


@given(fact_lists(least=1), histories())
def test_a_tree_grown_at_once_can_be_continued(
    added: list[Fact], history: list[Step]
) -> None:
    graph = Graph.of(added)
    profiles = profiles_of(graph)
    clusters = Clusters.cut(grow(graph, profiles), profiles, GRINCH)
    for doing, named in history:
        before = graph
        graph = played([(doing, named)], before.copy())
        profiles = profiles.copy()
        everyone = ids(range(len(graph.entities)))
        profiles.refresh(graph, everyone)
        reshaped = reshaped_entities(before, graph, everyone)
        clusters, _ = clusters.after(graph, profiles, reshaped)
        assert_whole(tree_of(clusters), profiles)


@given(histories())
def test_a_tree_that_was_written_down_is_read_as_it_was(history: list[Step]) -> None:
    clusters = Clusters.of(Graph(), Profiles(), GRINCH)
    for graph, profiles, reshaped in states(history):
        clusters, _ = clusters.after(graph, profiles, reshaped)
        shape = tree_as_array(tree_of(clusters), profiles)
        again = Clusters.cut(tree_from_array(shape, profiles), profiles, GRINCH)
        assert again.tree is not None
        assert again.tree.shape().tolist() == tree_of(clusters).shape().tolist()
        assert again.entities.tolist() == clusters.entities.tolist()
        assert_whole(again.tree, profiles)


def test_every_node_is_that_of_the_algorithm_by_the_book() -> None:
    random = Random(11)
    grafts = 0
    swaps = 0
    for _ in range(60):
        added = random_facts(random, entities=14, relations=6, facts=34)
        graph = Graph.of(added)
        by_the_book = oracle.Grinch(oracle.both_ways(added))
        profiles = profiles_of(graph)
        for profile in by_relation_names(graph, profiles, profiles.nonempty()):
            by_the_book.insert(members(graph, profiles, [profile]))
        tree = tree_of(Clusters.of(graph, profiles, GRINCH))
        found = {
            members(graph, profiles, leaves(tree, place)) for place in nodes_of(tree)
        }
        assert found == {node.names for node in by_the_book.root.all}
        grafts += by_the_book.grafts
        swaps += by_the_book.swaps
    assert min(grafts, swaps) > 10
