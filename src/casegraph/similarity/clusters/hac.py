"""
Hierarchical agglomerative clustering with average linkage, of all profiles at once (§2.2.2, A.1).

For unit vectors, the mean similarity over all pairs of two clusters can be computed from sums of
similarities (`kernels.average_linkage`), so the members of a cluster are never looked at.
Ties are frequent. They are broken by the names of relations (`by_relation_names`), so the tree
depends only on the facts.
"""

import numpy as np

from casegraph import kernels
from casegraph.graph.arrays import ids
from casegraph.graph.graph import Graph
from casegraph.similarity.clusters.tree import by_relation_names, leaf
from casegraph.similarity.profiles import Profiles


def grow(graph: Graph, profiles: Profiles) -> kernels.ClusterTree:
    """The tree of all nonempty profiles."""
    in_order = by_relation_names(graph, profiles, profiles.nonempty())

    # The relations of all profiles as compressed sparse rows, and the weight of each profile.
    rows = [profiles.relations(profile) for profile in in_order]
    sizes = [len(row) for row in rows]
    offsets = np.cumsum([0, *sizes], dtype=np.int64)
    relations = np.concatenate([ids(), *rows])
    member_counts = [len(profiles.members(profile)) for profile in in_order]
    weights = np.array(member_counts, dtype=np.int64)
    lefts, rights = kernels.average_linkage(offsets, relations, weights)

    # Nodes are numbered as in the kernel: first the leaves, then each join.
    tree = kernels.ClusterTree()
    nodes = [leaf(tree, profiles, profile) for profile in in_order]
    for left, right in zip(lefts.tolist(), rights.tolist(), strict=True):
        nodes.append(tree.attach(nodes[right], nodes[left]))
    return tree
