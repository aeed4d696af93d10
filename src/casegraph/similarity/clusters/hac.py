"""
Hierarchical agglomerative clustering of all profiles at once, with average linkage (§2.2.2, appendix A.1).

For unit vectors the mean similarity over pairs factors into sums, so a cluster needs the sum of its similarities to the
others, never its members. Ties abound; they fall to the profile whose relations come first by name, so the tree depends
on the facts alone.
"""

import numpy as np

from casegraph import kernels
from casegraph.graph.arrays import ids
from casegraph.graph.graph import Graph
from casegraph.similarity.clusters.tree import in_order, leaf
from casegraph.similarity.profiles import Profiles


def grow(graph: Graph, profiles: Profiles) -> kernels.ClusterTree:
    """The tree of all living profiles."""
    order = in_order(graph, profiles, profiles.living())
    sets = [profiles.relations(profile) for profile in order]
    offsets = np.cumsum([0, *map(len, sets)], dtype=np.int64)
    members = np.array([len(profiles.members(profile)) for profile in order], dtype=np.int64)
    left, right = kernels.average_linkage(offsets, np.concatenate([ids(), *sets]), members)
    tree = kernels.ClusterTree()
    nodes = [leaf(tree, profiles, profile) for profile in order]
    for one, two in zip(left.tolist(), right.tolist(), strict=True):
        nodes.append(tree.attach(nodes[two], nodes[one]))
    return tree
