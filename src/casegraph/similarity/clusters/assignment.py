"""
Which cluster each entity is in, and who moves when the facts change; the only place that knows the ways to cluster.

A cluster of profiles has the smallest of their ids for its own, so it keeps its id while it stands, whichever way its
tree was grown, and ids before and after a change can be compared.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from casegraph.graph.arrays import Ids
from casegraph.graph.graph import Graph, Renumbering
from casegraph.kernels import ClusterTree
from casegraph.settings import Settings
from casegraph.similarity.clusters import grinch, hac
from casegraph.similarity.clusters import tree as tree_shapes
from casegraph.similarity.profiles import NONE, Profiles

EVERYONE = -1


def depends_on_history(settings: Settings) -> bool:
    """Whether clusters are made from those before the last change, so that each change must be followed."""
    return settings.clustering == "grinch"


@dataclass(frozen=True, slots=True)
class Clusters:
    """The clusters of one state of a graph.

    entities  the cluster of each entity; `EVERYONE` for one without edges, and for all if that is the setting
    tree      what the next state is made from, if it depends on history
    """

    settings: Settings
    profiles: Profiles
    entities: Ids
    tree: ClusterTree | None = None

    @classmethod
    def of(cls, graph: Graph, profiles: Profiles, settings: Settings) -> Self:
        """The clusters of all entities, made at once."""
        if settings.clustering == "grinch":
            tree = ClusterTree()
            grinch.update(tree, graph, profiles, profiles.living())
            return cls.cut(tree, profiles, settings)
        if settings.clustering == "hac":
            return cls(settings, profiles, _cut(hac.grow(graph, profiles), profiles, settings.threshold))
        entities = np.arange(len(graph.entities), dtype=np.int32)
        return cls(
            settings, profiles, entities if settings.clustering == "entity" else np.full_like(entities, EVERYONE)
        )

    @classmethod
    def cut(cls, tree: ClusterTree, profiles: Profiles, settings: Settings) -> Self:
        """The clusters of a tree that will be grown further."""
        return cls(settings, profiles, _cut(tree, profiles, settings.threshold), tree)

    def renumbered(self, new: Renumbering, profiles: Profiles) -> Self:
        """The same clusters of a tree that will be grown further, where ids are new; `profiles` have them already."""
        if self.tree is None:
            raise ValueError("clusters that do not depend on history are made anew")
        shape = tree_shapes.written(self.tree, self.profiles)
        is_leaf = shape != NONE
        shape[is_leaf] = new.entities[shape[is_leaf]]
        return self.cut(tree_shapes.read(shape, profiles), profiles, self.settings)

    def after(self, graph: Graph, profiles: Profiles, reshaped: Ids) -> tuple[Self, Ids]:
        """The clusters after a change that gave these entities another profile, and the entities that moved, sorted."""
        if self.tree is None:
            later = self.of(graph, profiles, self.settings)
        else:
            tree = self.tree.copy()
            touched = {state.of(entity) for entity in reshaped.tolist() for state in (self.profiles, profiles)}
            grinch.update(tree, graph, profiles, touched - {NONE})
            later = self.cut(tree, profiles, self.settings)
        return later, _differing(self.entities, later.entities)


def _cut(tree: ClusterTree, profiles: Profiles, threshold: float) -> Ids:
    leaves, nodes = tree.cut(threshold)
    first = np.full(nodes.max(initial=-1) + 1, leaves.max(initial=-1), dtype=np.int32)
    np.minimum.at(first, nodes, leaves)
    cluster = np.full(leaves.max(initial=-1) + 2, EVERYONE, dtype=np.int32)  # the last is that of `NONE`
    cluster[leaves] = first[nodes]
    return cluster[profiles.each()]


def _differing(before: Ids, after: Ids) -> Ids:
    """The entities whose cluster is another one; one that is new was with everyone."""
    padded = np.append(before, np.full(len(after) - len(before), EVERYONE, dtype=np.int32))
    return np.flatnonzero(padded != after).astype(np.int32)
