"""Which cluster each entity is in: a node of the tree, its own, or everyone's."""

import numpy as np

from casegraph.arrays import Ids
from casegraph.clusters.hac import grow
from casegraph.graph import Graph
from casegraph.profiles import Profiles
from casegraph.settings import Settings

EVERYONE = -1


def clusters(graph: Graph, profiles: Profiles, settings: Settings) -> Ids:
    """The cluster of each entity; `EVERYONE` for one without edges, or if there is only one cluster."""
    if settings.clustering == "entity":
        return np.arange(len(graph.entities), dtype=np.int32)
    cluster = np.full(len(graph.entities), EVERYONE, dtype=np.int32)
    if settings.clustering == "hac":
        tree = grow(graph, profiles)
        for profile, node in zip(tree.profiles.tolist(), tree.cut(settings.threshold).tolist(), strict=True):
            cluster[profiles.members(profile)] = node
    return cluster
