"""
Incremental clustering (§2.3 b): GRINCH, by Monath and others (2019), over distinct profiles.

A new profile is inserted beside its nearest leaf and then moved by rotations and grafts
(`kernels/clustering/grinch.hpp`). A profile without members is removed. A profile that gained
or lost members changes its weight, which changes the linkages above it and with them the cut. The
tree is not rearranged then, because the similarities between profiles stay the same.
"""

from collections.abc import Iterable

from casegraph.graph.graph import Graph
from casegraph.kernels import ClusterTree
from casegraph.similarity.clusters.tree import by_relation_names
from casegraph.similarity.profiles import Profiles


def update(
    tree: ClusterTree, graph: Graph, profiles: Profiles, touched: Iterable[int]
) -> None:
    """Bring the leaves of `touched` profiles up to date.

    Removals and changes of weight come first, then new profiles, sorted `by_relation_names`.
    """
    new_profiles = []
    for profile in touched:
        members = len(profiles.members(profile))
        members_before = tree.members(profile)
        if members and not members_before:
            new_profiles.append(profile)
        elif members_before and not members:
            tree.remove(profile)
        elif members != members_before:
            tree.resize(profile, members)

    ranks = graph.relations.ranks()
    for profile in by_relation_names(graph, profiles, new_profiles):
        members = len(profiles.members(profile))
        tree.insert(profile, profiles.relations(profile), members, ranks)
