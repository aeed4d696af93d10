"""
The cluster hierarchy over profiles: the order that breaks ties, and trees as arrays for files.

The leaves of a `kernels.ClusterTree` are profiles, each with the weight of its members.
`kernels/clustering/cluster_tree.hpp` says how it is kept. Its `cut` is Algorithm 1 (appendix A.2).
"""

from collections.abc import Iterable

import numpy as np

from casegraph.graph.arrays import Ids
from casegraph.graph.graph import Graph
from casegraph.kernels import ClusterTree
from casegraph.similarity.profiles import Profiles

JOIN = -1  # in the array of a tree: join the two preceding nodes


def by_relation_names(
    graph: Graph, profiles: Profiles, chosen: Iterable[int]
) -> list[int]:
    """Profiles ordered by the names of their relations, independently of ids.

    A relation comes before its inverse.
    """
    direction_ranks = graph.direction_ranks()

    def sorted_ranks(profile: int) -> list[int]:
        ranks = direction_ranks[profiles.relations(profile)]
        return sorted(ranks.tolist())

    return sorted(chosen, key=sorted_ranks)


def leaf(tree: ClusterTree, profiles: Profiles, profile: int) -> int:
    """Create a leaf for a profile, not yet placed in the tree; returns its node."""
    members = len(profiles.members(profile))
    return tree.leaf(profile, profiles.relations(profile), members)


def tree_as_array(tree: ClusterTree, profiles: Profiles) -> Ids:
    """A tree as an array in postfix notation: its leaves, and -1 to join the two preceding nodes.

    A leaf is written as an entity that has its profile, because entities keep their ids in files.
    """
    shape = tree.shape()
    is_leaf = shape != JOIN
    leaves = shape[is_leaf].tolist()
    shape[is_leaf] = [profiles.members(profile)[0] for profile in leaves]
    return shape


def tree_from_array(shape: Ids, profiles: Profiles) -> ClusterTree:
    """The tree from an array of `tree_as_array`.

    A `ValueError` if the array is not a tree whose leaves are all nonempty profiles.
    """
    _check(shape, profiles)
    tree = ClusterTree()
    unjoined: list[int] = []
    for entity in shape.tolist():
        if entity == JOIN:
            right = unjoined.pop()
            left = unjoined.pop()
            unjoined.append(tree.attach(right, left))
        else:
            unjoined.append(leaf(tree, profiles, profiles.of(entity)))
    return tree


def _check(shape: Ids, profiles: Profiles) -> None:
    if shape.dtype != np.int32 or shape.ndim != 1 or (shape < JOIN).any():
        raise ValueError("the tree of clusters is not a list of entities")

    # A leaf adds an unjoined node, a join replaces two by one. At least one is left after each
    # step, and exactly one at the end; a tree without leaves is allowed.
    is_join = shape == JOIN
    unjoined = np.cumsum(np.where(is_join, -1, 1))
    is_empty = len(shape) == 0
    if not is_empty and ((unjoined < 1).any() or unjoined[-1] != 1):
        raise ValueError("the tree of clusters does not join all of its leaves")

    entities = shape[~is_join].tolist()
    leaves = [profiles.of(entity) for entity in entities]
    if sorted(leaves) != list(profiles.nonempty()):
        raise ValueError("the tree of clusters has other leaves than the facts")
