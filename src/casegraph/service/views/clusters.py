"""Clusters, their tree, and their best path types (§2.2.2) as response models."""

from collections import Counter, deque

import numpy as np

from casegraph.answering.cache import PerState
from casegraph.answering.questions import End
from casegraph.answering.results.labels import labels_of
from casegraph.answering.state import State
from casegraph.answering.weights import estimate, prior_times_precision
from casegraph.casebase import CaseBase
from casegraph.errors import UnknownName
from casegraph.graph.arrays import Counts, Ids
from casegraph.graph.directions import (
    backward,
    forward,
    is_inverse,
    relation_of,
)
from casegraph.kernels import ClusterTree
from casegraph.service import models
from casegraph.similarity.clusters import hac
from casegraph.similarity.clusters.assignment import EVERYONE
from casegraph.statistics.path_types import unpacked

MEMBERS_NAMED = 8  # of a cluster
MOST_NODES = 2_000  # of the tree of clusters


def clustered(cases: CaseBase) -> State:
    """The same facts, with clusters: those of the settings, or else as in the paper (§2.2.2)."""
    state = cases.state
    if state.settings.clustering in ("hac", "grinch"):
        return state
    return _clustered_by_hac(state)


@PerState
def _clustered_by_hac(state: State) -> State:
    return state.answering_by(state.settings.but(clustering="hac"))


def clusters(
    cases: CaseBase, first: int, count: int
) -> tuple[models.ClusterPage, bool]:
    """A page of the clusters, the largest first, and whether there are more."""
    state = clustered(cases)
    numbers, sizes = _sizes(state)
    largest_first = np.lexsort((numbers, -sizes))
    page = []
    for place in largest_first[first : first + count].tolist():
        page.append(_cluster(state, int(numbers[place]), int(sizes[place])))
    members = [name for cluster in page for name in cluster.members]
    relations = [group.relation for cluster in page for group in cluster.relations]
    shown = models.ClusterPage(
        clusters=page,
        threshold=state.settings.threshold,
        next=None,
        sequence=cases.state.sequence,
        labels=labels_of(cases.descriptions, [*members, *relations]),
    )
    return shown, len(numbers) > first + count


def _sizes(state: State) -> tuple[Ids, Counts]:
    """The numbers of all clusters, and how many entities each has."""
    entities = state.clusters.entities
    numbers, sizes = np.unique(entities[entities != EVERYONE], return_counts=True)
    return numbers, sizes


def _cluster(state: State, number: int, size: int) -> models.Cluster:
    graph = state.graph
    members = _members(state, number)
    counts = Counter[int]()
    for profile in np.unique(state.profiles.each()[members]).tolist():
        for direction in state.profiles.relations(profile).tolist():
            counts[direction] += len(state.profiles.members(profile))
    groups = []
    for direction, having in counts.items():
        relation = graph.relations[relation_of(direction)]
        inverse = bool(is_inverse(direction))
        groups.append(models.Group(relation=relation, inverse=inverse, count=having))
    most_frequent_first = sorted(
        groups, key=lambda group: (-group.count, group.relation)
    )
    return models.Cluster(
        cluster=number,
        size=size,
        members=[graph.entities[member] for member in members[:MEMBERS_NAMED].tolist()],
        relations=most_frequent_first[:MEMBERS_NAMED],
    )


def _members(state: State, number: int) -> Ids:
    """The entities of a cluster, the most prominent first."""
    members = np.flatnonzero(state.clusters.entities == number).astype(np.int32)
    prominence = state.graph.prominence()[members]
    return members[np.argsort(prominence, kind="stable")]


def members(
    cases: CaseBase, number: int, first: int, count: int
) -> tuple[models.ClusterMembers, bool]:
    """A page of the members of a cluster, and whether there are more."""
    state = clustered(cases)
    found = _members(state, number)
    if not len(found):
        raise UnknownName("cluster", str(number), ())
    names = [
        state.graph.entities[member] for member in found[first : first + count].tolist()
    ]
    shown = models.ClusterMembers(
        cluster=number,
        size=len(found),
        members=names,
        next=None,
        sequence=cases.state.sequence,
        labels=labels_of(cases.descriptions, names),
    )
    return shown, len(found) > first + count


def tree(cases: CaseBase) -> models.Tree:
    """The tree of clusters, from its root down to the clusters, the largest nodes first."""
    state = clustered(cases)
    grown = _tree(state)
    threshold = state.settings.threshold
    nodes = _nodes_down_to_clusters(grown, threshold) if len(state.profiles) else []
    return models.Tree(nodes=nodes, threshold=threshold, sequence=cases.state.sequence)


@PerState
def _tree(state: State) -> ClusterTree:
    return hac.grow(state.graph, state.profiles)


def _nodes_down_to_clusters(grown: ClusterTree, threshold: float) -> list[models.Node]:
    """The first nodes of a tree, level by level, without those inside clusters."""
    # Each profile, and the node that is its cluster.
    leaves, tops = grown.cut(threshold)
    cluster_of_node: dict[int, int] = {}
    for top in np.unique(tops).tolist():
        cluster_of_node[top] = int(leaves[tops == top].min())

    nodes: list[models.Node] = []
    waiting: deque[tuple[int, int | None]] = deque([(grown.root(), None)])
    while waiting and len(nodes) < MOST_NODES:
        number, parent = waiting.popleft()
        left, right, _, size, similarity = grown.node(number)
        cluster = cluster_of_node.get(number)
        node = models.Node(
            node=number,
            parent=parent,
            size=size,
            similarity=similarity,
            cluster=cluster,
        )
        nodes.append(node)
        if cluster is None:
            waiting += [(left, number), (right, number)]
    return nodes


def path_types(
    cases: CaseBase, relation: str, wanted: End, cluster: int | None, top: int
) -> models.PathTypes:
    """The best path types of a relation by the paper's equations, for a cluster or everyone."""
    state = clustered(cases)
    graph = state.graph
    name = cases.relation(relation)
    number = graph.relations.find(name)
    assert number is not None
    direction = backward(number) if wanted == "head" else forward(number)
    counted = state.statistics.clustered(direction)
    weighed_by = EVERYONE if cluster is None else cluster
    if cluster is not None and not (state.clusters.entities == cluster).any():
        raise UnknownName("cluster", str(cluster), ())
    own = counted.types[counted.of(weighed_by)]
    weights = prior_times_precision(counted, weighed_by, own)
    best_first = own[np.argsort(-weights, kind="stable")]
    everyone = state.statistics.everyone(direction)
    found = []
    for packed in best_first[:top].tolist():
        path_type = unpacked(packed, state.settings.max_length)
        estimated = estimate(state.statistics, weighed_by, direction, path_type)
        row = int(np.searchsorted(everyone.types, packed))
        shown = models.PathType(
            steps=[graph.step(direction) for direction in path_type],
            hits=estimated.hits,
            tries=estimated.tries,
            prior=estimated.prior,
            precision=estimated.precision,
            right=int(everyone.right[row]),
            reached=int(everyone.reached[row]),
        )
        found.append(shown)
    steps = [step.relation for path_type in found for step in path_type.steps]
    return models.PathTypes(
        relation=name,
        wanted=wanted,
        cluster=cluster,
        path_types=found,
        sequence=cases.state.sequence,
        labels=labels_of(cases.descriptions, [name, *steps]),
    )
