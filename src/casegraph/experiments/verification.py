"""
Checks that a state after many updates equals the state built from its facts at once.

Everything that questions are answered from is compared: facts, profiles, clusters, and every count
of every path type. Only clusters that depend on history are taken as they are, since a rebuild has
another history.
"""

import numpy as np

from casegraph.answering.state import State
from casegraph.graph.arrays import Counts, Ids
from casegraph.graph.graph import Graph
from casegraph.similarity.clusters.assignment import EVERYONE, depends_on_history
from casegraph.similarity.profiles import NONE
from casegraph.statistics.counts import ClusterCounts, PathCounts


def rebuilt(state: State) -> State:
    """The state of the same facts under the same ids that has never seen an update."""
    graph = Graph(state.graph.entities, state.graph.relations)
    graph.add(state.graph.facts())
    clusters = state.clusters if depends_on_history(state.settings) else None
    return State.of(graph, state.settings, clusters=clusters)


def differences(state: State, other: State) -> list[str]:
    """What two states of the same facts under the same ids do not have in common."""
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

    names = _smallest_members(state.clusters.entities)
    other_names = _smallest_members(other.clusters.entities)
    if not np.array_equal(names[state.clusters.entities], other_names[other.clusters.entities]):
        found.append("clusters")
    for direction in directions:
        name = state.graph.relation_name(direction)
        own_rows = _by_name(state.statistics.clustered(direction), names)
        other_rows = _by_name(other.statistics.clustered(direction), other_names)
        if not np.array_equal(own_rows, other_rows):
            found.append(f"counts of clusters of {name}")
    return found


def _profiles(state: State) -> list[bytes]:
    """The relations of each entity."""
    profiles = state.profiles
    each = [profiles.of(entity) for entity in range(len(state.graph.entities))]
    return [b"" if profile == NONE else profiles.relations(profile).tobytes() for profile in each]


def _are_equal(counts: PathCounts, other: PathCounts) -> bool:
    has_same_types = np.array_equal(counts.types, other.types)
    has_same_hits = np.array_equal(counts.hits, other.hits)
    everywhere = slice(None)
    reach = zip(counts.reach_of(everywhere), other.reach_of(everywhere), strict=True)
    return has_same_types and has_same_hits and all(np.array_equal(*pair) for pair in reach)


def _smallest_members(clusters: Ids) -> Counts:
    """For each cluster its smallest entity: what a cluster is called does not matter.

    The last place is that of `EVERYONE`, which index -1 finds.
    """
    smallest = np.full(clusters.max(initial=EVERYONE) + 2, len(clusters), dtype=np.int64)
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
