"""
Incremental clustering (§2.3 b): GRINCH (Monath et al. 2019) over distinct profiles.

A profile that comes finds its place in the tree (`kernels/grinch.hpp`: nearest leaf, rotations, grafts), and one that
nobody has any more is taken out. One that an entity joined or left only changes its weight. That moves the linkages
above it, and with them the cut, but nothing is rearranged: the profile is as similar to every other as it was.
"""

from collections.abc import Iterable

from casegraph.graph.graph import Graph
from casegraph.kernels import ClusterTree
from casegraph.similarity.clusters.tree import in_order
from casegraph.similarity.profiles import Profiles


def update(tree: ClusterTree, graph: Graph, profiles: Profiles, touched: Iterable[int]) -> None:
    """Bring the leaves of these profiles up to date: first those that go or change, then those that come, in order."""
    coming = []
    for profile in touched:
        before, members = tree.members(profile), len(profiles.members(profile))
        if members and not before:
            coming.append(profile)
        elif before and not members:
            tree.remove(profile)
        elif members != before:
            tree.resize(profile, members)
    ranks = graph.relations.ranks()
    for profile in in_order(graph, profiles, coming):
        tree.insert(profile, profiles.relations(profile), len(profiles.members(profile)), ranks)
