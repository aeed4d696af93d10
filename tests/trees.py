"""What a tree of clusters holds, read node by node."""

from collections.abc import Iterable
from typing import NamedTuple

from casegraph.graph.graph import Graph
from casegraph.kernels import ClusterTree
from casegraph.similarity.profiles import Profiles


class Node(NamedTuple):
    """A node of a tree: its children, or its profile if it is a leaf."""

    left: int
    right: int
    profile: int
    size: int
    linkage: float


def nodes_of(tree: ClusterTree) -> dict[int, Node]:
    """Every node from the root down."""
    found = {}
    stack = [tree.root()]
    while stack:
        if (place := stack.pop()) >= 0:
            found[place] = node = Node(*tree.node(place))
            stack += [node.left, node.right]
    return found


def joins_of(tree: ClusterTree) -> dict[int, Node]:
    """Every node that is not a leaf."""
    return {place: node for place, node in nodes_of(tree).items() if node.profile < 0}


def leaves(tree: ClusterTree, place: int) -> list[int]:
    """The profiles below a node, sorted."""
    node = Node(*tree.node(place))
    if node.profile >= 0:
        return [node.profile]
    return sorted(leaves(tree, node.left) + leaves(tree, node.right))


def members(graph: Graph, profiles: Profiles, chosen: Iterable[int]) -> frozenset[str]:
    """The names of the entities that have these profiles."""
    names = set()
    for profile in chosen:
        for entity in profiles.members(profile).tolist():
            names.add(graph.entities[entity])
    return frozenset(names)


def grouped(names: Iterable[str], labels: Iterable[int]) -> set[frozenset[str]]:
    """Which names have the same label."""
    groups: dict[int, set[str]] = {}
    for name, label in zip(names, labels, strict=True):
        groups.setdefault(label, set()).add(name)
    return {frozenset(group) for group in groups.values()}
