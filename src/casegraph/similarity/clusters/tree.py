"""
The hierarchy of profiles: the order that decides ties in it, and a tree written down and read again.

A `kernels.ClusterTree` has profiles for leaves, each as heavy as it has members; `kernels/tree.hpp` says how it is
kept, and `cut` is Algorithm 1 (appendix A.2).
"""

from collections.abc import Iterable

import numpy as np

from casegraph.graph.arrays import Ids
from casegraph.graph.graph import Graph
from casegraph.kernels import ClusterTree
from casegraph.similarity.profiles import NONE, Profiles


def in_order(graph: Graph, profiles: Profiles, chosen: Iterable[int]) -> list[int]:
    """Profiles by their relations in the order of names, a relation before its inverse; the same whatever the ids."""
    ranks = graph.relations.ranks().tolist()

    def by_name(profile: int) -> list[tuple[int, int]]:
        return sorted((ranks[relation >> 1], relation & 1) for relation in profiles.relations(profile).tolist())

    return sorted(chosen, key=by_name)


def leaf(tree: ClusterTree, profiles: Profiles, profile: int) -> int:
    """A new leaf that is in no place yet."""
    return tree.leaf(profile, profiles.relations(profile), len(profiles.members(profile)))


def written(tree: ClusterTree, profiles: Profiles) -> Ids:
    """The shape of a tree: for each leaf an entity that has its profile, and -1 to join the two before."""
    shape = tree.shape()
    leaves = shape != NONE
    shape[leaves] = [profiles.members(profile)[0] for profile in shape[leaves].tolist()]
    return shape


def read(shape: Ids, profiles: Profiles) -> ClusterTree:
    """The tree that was written down; a `ValueError` if it is not one of all living profiles."""
    _check(shape, profiles)
    tree, standing = ClusterTree(), list[int]()
    for entity in shape.tolist():
        if entity == NONE:
            node, beside = standing.pop(), standing.pop()
            standing.append(tree.attach(node, beside))
        else:
            standing.append(leaf(tree, profiles, profiles.of(entity)))
    return tree


def _check(shape: Ids, profiles: Profiles) -> None:
    if shape.dtype != np.int32 or shape.ndim != 1 or (shape < NONE).any():
        raise ValueError("the tree of clusters is not a row of entities")
    standing = np.cumsum(np.where(shape == NONE, -1, 1))
    if (standing < 1).any() or standing[-1:].tolist() not in ([], [1]):
        raise ValueError("the tree of clusters does not join all of its leaves")
    if sorted(profiles.of(entity) for entity in shape[shape != NONE].tolist()) != list(profiles.living()):
        raise ValueError("the tree of clusters has other leaves than the facts")
