"""
Checks that a state after many updates equals the state built from its facts at once.

Everything that answers depend on is compared: facts, profiles, clusters, and every count of every
path type. Only clusters that depend on history are copied, since a rebuild has another history.
"""

import numpy as np

from casegraph.answering.state import State
from casegraph.graph.arrays import Counts, Ids
from casegraph.graph.graph import Graph
from casegraph.similarity.clusters.assignment import EVERYONE, depends_on_history
from casegraph.similarity.profiles import NONE
from casegraph.statistics.counts import ClusterCounts, PathCounts


def rebuilt(state: State) -> State:
    """A state of the same facts with the same ids, built at once."""
    graph = Graph(state.graph.entities, state.graph.relations)
    graph.add(state.graph.facts())
    clusters = state.clusters if depends_on_history(state.settings) else None
    return State.of(graph, state.settings, clusters=clusters)


def differences(state: State, other: State) -> list[str]:
    """In what two states of the same facts with the same ids differ; empty if in nothing."""
    directions = list(range(state.graph.directions))
    for compared in (state, other):
        compared.statistics.prepare(directions)

    found = []
    if state.digest != other.digest:
        found.append("facts")
    if _profiles(state) != _profiles(other):
        found.append("profiles")
    for direction in directions:
        name = state.graph.relation_name(direction)
        own = state.statistics.everyone(direction)
        if not _are_equal(own, other.statistics.everyone(direction)):
            found.append(f"counts of {name}")
    if state.settings.weight != "prior":
        return found

    clusters = state.clusters.entities
    other_clusters = other.clusters.entities
    names = _smallest_members(clusters)
    other_names = _smallest_members(other_clusters)
    if not np.array_equal(names[clusters], other_names[other_clusters]):
        found.append("clusters")
    for direction in directions:
        name = state.graph.relation_name(direction)
        own_rows = _by_name(state.statistics.clustered(direction), names)
        other_rows = _by_name(other.statistics.clustered(direction), other_names)
        if not np.array_equal(own_rows, other_rows):
            found.append(f"counts of clusters of {name}")
    return found


def _profiles(state: State) -> list[bytes]:
    """The relations of each entity, as bytes."""
    profiles = state.profiles
    found = []
    for entity in range(len(state.graph.entities)):
        profile = profiles.of(entity)
        has_edges = profile != NONE
        found.append(profiles.relations(profile).tobytes() if has_edges else b"")
    return found


def _are_equal(counts: PathCounts, other: PathCounts) -> bool:
    has_same_types = np.array_equal(counts.types, other.types)
    has_same_hits = np.array_equal(counts.hits, other.hits)
    everywhere = slice(None)
    reach = zip(counts.reach_of(everywhere), other.reach_of(everywhere), strict=True)
    return (
        has_same_types
        and has_same_hits
        and all(np.array_equal(*pair) for pair in reach)
    )


def _smallest_members(clusters: Ids) -> Counts:
    """The smallest entity of each cluster, by which clusters with different ids can be compared.

    The last element is for `EVERYONE`, which is the index -1.
    """
    largest_cluster = clusters.max(initial=EVERYONE)
    smallest = np.full(largest_cluster + 2, len(clusters), dtype=np.int64)
    np.minimum.at(smallest, clusters, np.arange(len(clusters)))
    smallest[EVERYONE] = EVERYONE
    return smallest


def _by_name(counts: ClusterCounts, name_of_cluster: Counts) -> Counts:
    """Rows of cluster, type, hits, tries and what the prior is made of, sorted."""
    columns = [
        name_of_cluster[counts.clusters],
        counts.types,
        counts.hits,
        counts.tries,
        counts.for_prior,
    ]
    rows = np.stack(columns, axis=1)
    order = np.lexsort((rows[:, 1], rows[:, 0]))
    return rows[order]
