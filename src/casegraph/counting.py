"""
What is counted over a graph, and how a kernel is asked to count it.

    hits     loop-free paths of a type from an entity that has the relation to one of its answers
    tries    walks of the type from those entities, wherever they end
    reached  distinct ends of loop-free paths of the type from each of them; right: those ends that are answers

All are sums over entities: what parts of them count, added up, is what all of them count.
"""

from dataclasses import dataclass

import numpy as np

from casegraph import kernels
from casegraph.arrays import Counts, Ids
from casegraph.graph import Graph
from casegraph.settings import Settings
from casegraph.work import Show, quiet, run, threads

Flags = np.ndarray[tuple[int], np.dtype[np.bool]]
Only = tuple[Counts, Ids]  # for each entity, by offsets, the places of the path types that count
ALL: Only = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32)


@dataclass(frozen=True, slots=True)
class PathCounts:
    """The path types of one relation, sorted, with what was counted for each over everyone; parallel arrays.

    reached and right are counted for the path types in use: those with enough hits, other than the relation itself.
    """

    types: Counts
    hits: Counts
    reached: Counts
    right: Counts


@dataclass(frozen=True, slots=True)
class ClusterCounts:
    """Hits and tries of the path types of one relation in each cluster; parallel arrays sorted by (cluster, type)."""

    clusters: Ids
    types: Counts
    hits: Counts
    tries: Counts

    def of(self, cluster: int) -> slice:
        """The rows of a cluster."""
        first, last = np.searchsorted(self.clusters, [cluster, cluster + 1])
        return slice(int(first), int(last))


def having(graph: Graph, relations: list[int]) -> Ids:
    """The entities that have one of the relations, sorted."""
    has = np.zeros(len(graph.entities), dtype=np.bool)
    for relation in relations:
        has[graph.edges(relation).heads] = True
    return np.flatnonzero(has).astype(np.int32)


def in_use(settings: Settings, relation: Ids | int, types: Counts, hits: Counts) -> Flags:
    """Which path types of a relation are walked: those with enough hits, other than the relation itself."""
    return np.asarray((hits >= settings.support) & (types != np.asarray(relation) + 1))


class Counting:
    """Counts over one graph, as the settings want them."""

    def __init__(self, graph: Graph, settings: Settings, show: Show = quiet) -> None:
        self.graph, self.settings, self._show = graph, settings, show

    def hits(self, relations: list[int], entities: Ids, clusters: Ids) -> tuple[Ids, Ids, Counts, Counts]:
        """The path types that lead these entities to answers: cluster, relation, type and hits, sorted in this order.

        clusters  the cluster of each entity of the graph
        """
        wanted = np.zeros(self.graph.directions, dtype=np.bool)
        wanted[relations] = True
        graph, n = self.graph.kernel, self.settings.max_length
        return run(
            lambda counters: kernels.closed_paths(graph, entities, clusters, wanted, n, threads(), counters),
            "counting paths to answers", len(entities), self._show,
        )  # fmt: skip

    def tries(self, clusters: Ids, relations: Ids, types: Counts, of: Ids) -> Counts:
        """Walks of each type from the entities of its cluster that have its relation; `of` is everyone's cluster."""
        graph, n = self.graph.kernel, self.settings.max_length
        return run(
            lambda counters: kernels.walks(graph, clusters, relations, types, of, n, threads(), counters),
            "counting walks", len(types), self._show,
        )  # fmt: skip

    def reach(self, relations: Ids | int, types: Counts, entities: Ids, only: Only = ALL) -> tuple[Counts, Counts]:
        """Reached and right of each type from those of `entities` that have its relation; 0 if no setting will ask."""
        if self.settings.weight != "right" or not len(entities) or not len(types):
            return np.zeros_like(types), np.zeros_like(types)
        labels = np.broadcast_to(np.int32(relations), types.shape).copy()
        graph, n = self.graph.kernel, self.settings.max_length
        reached, right, _ = run(
            lambda counters: kernels.reach(graph, entities, labels, types, only, n, threads(), counters),
            "counting what paths reach", len(entities), self._show,
        )  # fmt: skip
        return reached, right

    def reach_back(
        self, relation: int, types: Counts, ends: Ids, only: Only, but: tuple[Ids, Ids]
    ) -> tuple[Counts, Counts]:
        """The same as far as these ends are reached, each by some path types only.

        but  entities, sorted, with places of path types: whose paths do not count
        """
        if self.settings.weight != "right" or not len(ends) or not len(types):
            return np.zeros_like(types), np.zeros_like(types)
        graph, n = self.graph.kernel, self.settings.max_length
        reached, right, _ = run(
            lambda counters: kernels.reach_back(graph, ends, relation, types, only, but, n, threads(), counters),
            "counting what paths reach", len(ends), self._show,
        )  # fmt: skip
        return reached, right
