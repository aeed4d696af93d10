"""
The cluster of each entity, and which entities move when the facts change.

Only this module knows the clustering methods. The id of a cluster is the smallest id of its
profiles, whichever method made it. So an unchanged cluster keeps its id, and ids before and after a
change can be compared.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from casegraph.graph.arrays import Ids
from casegraph.graph.graph import Graph
from casegraph.kernels import ClusterTree
from casegraph.settings import Settings
from casegraph.similarity.clusters import grinch, hac
from casegraph.similarity.clusters.tree import JOIN, tree_as_array, tree_from_array
from casegraph.similarity.profiles import NONE, Profiles

EVERYONE = -1  # the cluster of all entities


def depends_on_history(settings: Settings) -> bool:
    """Whether clusters depend on earlier clusters, so that no change may be skipped."""
    return settings.clustering == "grinch"


@dataclass(frozen=True, slots=True)
class Clusters:
    """The clusters of one state of a graph.

    entities  (entities,)  the cluster of each entity; `EVERYONE` for an entity without edges, and
                           for all entities if the setting is "everyone"
    tree                   the tree that the next state starts from, if clusters depend on history
    """

    settings: Settings
    profiles: Profiles
    entities: Ids
    tree: ClusterTree | None = None

    @classmethod
    def of(cls, graph: Graph, profiles: Profiles, settings: Settings) -> Self:
        """The clusters of all entities, computed from scratch."""
        if settings.clustering == "grinch":
            tree = ClusterTree()
            grinch.update(tree, graph, profiles, profiles.living())
            return cls.cut(tree, profiles, settings)
        if settings.clustering == "hac":
            tree = hac.grow(graph, profiles)
            clusters = _cluster_of_each(tree, profiles, settings.threshold)
            return cls(settings, profiles, clusters)

        entities = np.arange(len(graph.entities), dtype=np.int32)
        if settings.clustering == "entity":
            return cls(settings, profiles, entities)
        return cls(settings, profiles, np.full_like(entities, EVERYONE))

    @classmethod
    def cut(cls, tree: ClusterTree, profiles: Profiles, settings: Settings) -> Self:
        """The clusters of a tree that the next state starts from."""
        entities = _cluster_of_each(tree, profiles, settings.threshold)
        return cls(settings, profiles, entities, tree)

    def in_compacted(self, before: Graph, graph: Graph, profiles: Profiles) -> Self:
        """The same clusters in a compacted graph, where names have other ids.

        before    the graph that was compacted
        profiles  those of the compacted graph

        Only for clusters that depend on history; others are computed again.
        """
        if self.tree is None:
            raise ValueError("clusters that do not depend on history are not kept")
        shape = tree_as_array(self.tree, self.profiles)
        is_leaf = shape != JOIN
        names = [before.entities[entity] for entity in shape[is_leaf].tolist()]
        _, shape[is_leaf] = graph.entities.extended(names)
        return self.cut(tree_from_array(shape, profiles), profiles, self.settings)

    def after(
        self, graph: Graph, profiles: Profiles, reshaped: Ids
    ) -> tuple[Self, Ids]:
        """The clusters after a change, and the entities that moved to another cluster, sorted.

        graph     the graph after the change
        profiles  the profiles after the change
        reshaped  the entities whose profile changed
        """
        if self.tree is None:
            later = self.of(graph, profiles, self.settings)
        else:
            tree = self.tree.copy()
            touched = self._touched_profiles(profiles, reshaped)
            grinch.update(tree, graph, profiles, touched)
            later = self.cut(tree, profiles, self.settings)
        return later, _moved(self.entities, later.entities)

    def _touched_profiles(self, profiles_after: Profiles, reshaped: Ids) -> set[int]:
        """The profiles that entities joined or left."""
        touched: set[int] = set()
        for entity in reshaped.tolist():
            touched.add(self.profiles.of(entity))
            touched.add(profiles_after.of(entity))
        return touched - {NONE}


def _cluster_of_each(tree: ClusterTree, profiles: Profiles, threshold: float) -> Ids:
    """The cluster of each entity after cutting the tree at a threshold."""
    # `leaves[i]` is a profile below `nodes[i]`, a node that is one cluster.
    leaves, nodes = tree.cut(threshold)
    largest_profile = leaves.max(initial=-1)
    largest_node = nodes.max(initial=-1)

    # The id of a cluster is its smallest profile.
    cluster_of_node = np.full(largest_node + 1, largest_profile, dtype=np.int32)
    np.minimum.at(cluster_of_node, nodes, leaves)

    # One more element at the end, for entities without a profile: `NONE` is the index -1.
    cluster_of_profile = np.full(largest_profile + 2, EVERYONE, dtype=np.int32)
    cluster_of_profile[leaves] = cluster_of_node[nodes]
    return cluster_of_profile[profiles.each()]


def with_newcomers(clusters: Ids, entities: int) -> Ids:
    """The clusters extended to this many entities; new entities are in `EVERYONE`.

    clusters  (entities before,)  the cluster of each entity
    """
    newcomers = entities - len(clusters)
    their_clusters = np.full(newcomers, EVERYONE, dtype=np.int32)
    return np.append(clusters, their_clusters)


def _moved(before: Ids, after: Ids) -> Ids:
    """The entities whose cluster changed, sorted."""
    has_moved = with_newcomers(before, len(after)) != after
    return np.flatnonzero(has_moved).astype(np.int32)
