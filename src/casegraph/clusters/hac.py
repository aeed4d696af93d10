"""
Hierarchical agglomerative clustering of all profiles at once, with average linkage (§2.2.2, appendix A.1).

For unit vectors the mean similarity over pairs factors into sums, so a cluster needs the sum of its similarities to the
others, never its members. Ties abound; they fall to the profile whose relations come first by name, so the tree depends
on the facts alone.
"""

import numpy as np

from casegraph import kernels
from casegraph.arrays import ids
from casegraph.clusters.tree import ClusterTree
from casegraph.graph import Graph
from casegraph.profiles import Profiles


def grow(graph: Graph, profiles: Profiles) -> ClusterTree:
    """The tree of all living profiles, each as heavy as it has members."""
    ranks = graph.relations.ranks().tolist()

    def by_name(profile: int) -> list[tuple[int, int]]:
        return sorted((ranks[relation >> 1], relation & 1) for relation in profiles.relations(profile).tolist())

    order = sorted(profiles.living(), key=by_name)
    sets = [profiles.relations(profile) for profile in order]
    offsets = np.cumsum([0, *map(len, sets)], dtype=np.int64)
    members = np.array([len(profiles.members(profile)) for profile in order], dtype=np.int64)
    left, right, linkage = kernels.average_linkage(offsets, np.concatenate([ids(), *sets]), members)
    return ClusterTree(ids(order), left, right, linkage)
