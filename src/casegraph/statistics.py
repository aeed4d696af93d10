"""
The counts behind the prior and the precision of path types (§2.2.3, equations 2 and 3).

    hits     loop-free paths of a type from an entity that has the relation to one of its answers
    tries    walks of the type from those entities, wherever they end
    reached  distinct ends of loop-free paths of the type from each of them; right: those ends that are answers

Everything stored is an integer, summed over the entities of a cluster or over everyone; a ratio is formed when it is
read. Counts are made when a relation is first asked about, for all relations asked about at once, and kept: a
`PathStatistics` belongs to one state of the graph.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from casegraph import kernels
from casegraph.arrays import Counts, Floats, Ids
from casegraph.clusters.assignment import EVERYONE
from casegraph.edges import Change
from casegraph.graph import Graph
from casegraph.paths import check_room, packed
from casegraph.recounting import Flags, PathCounts, Stale, changed_hits, refreshed
from casegraph.settings import Settings
from casegraph.work import Show, quiet, run, threads

TOO_MANY = np.iinfo(np.int64).max  # a number of walks that 64 bits do not hold


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


class PathStatistics:
    """What is counted over one state of a graph, per relation: for everyone, and for each cluster."""

    def __init__(self, graph: Graph, clusters: Callable[[], Ids], settings: Settings) -> None:
        check_room(graph, settings.max_length)
        self._graph, self._clusters, self._settings = graph, clusters, settings  # clusters are made when first needed
        self.counted: dict[int, PathCounts] = {}  # for everyone
        self._stale: dict[int, Stale] = {}
        self._clustered: dict[int, ClusterCounts] = {}
        self.followed = 0  # edges looked at for `reached`, so that work can be compared

    def prepare(self, relations: Iterable[int], show: Show = quiet) -> None:
        """Count for these relations, all at once, what the settings will ask for."""
        relations = sorted(set(relations))
        self._count_everyone([relation for relation in relations if relation not in self.counted], show)
        if self._settings.weight == "prior":
            self._count_clusters([relation for relation in relations if relation not in self._clustered], show)

    def after(self, change: Change, graph: Graph, clusters: Callable[[], Ids]) -> "PathStatistics":
        """The statistics of `graph`, which a change has made of this one's.

        What is counted for everyone is kept, and brought up to date when it is next asked for.
        """
        later, n = PathStatistics(graph, clusters, self._settings), self._settings.max_length
        known = {
            **self._stale,
            **{relation: Stale(counts, self._graph, n) for relation, counts in self.counted.items()},
        }
        hits = changed_hits(self._graph, graph, change, n) if known else {}
        for relation, stale in known.items():
            more = (hits[relation],) if relation in hits else ()
            later._stale[relation] = replace(stale, changes=stale.changes + more)
        return later

    def having(self, relations: list[int]) -> Ids:
        """The entities that have one of the relations, sorted."""
        has = np.zeros(len(self._graph.entities), dtype=np.bool)
        for relation in relations:
            has[self._graph.edges(relation).heads] = True
        return np.flatnonzero(has).astype(np.int32)

    def count_hits(self, relations: list[int], entities: Ids, show: Show = quiet) -> tuple[Ids, Counts, Counts]:
        """The path types that lead these entities to answers: relation, type and hits, sorted by the first two.

        A sum over the entities: what parts of them count, added up, is what all of them count.
        """
        everyone = np.full(len(self._graph.entities), EVERYONE, dtype=np.int32)
        return self._closed_paths(relations, entities, everyone, show)[1:]

    def count_reach(
        self, relation: Ids, types: Counts, hits: Counts, entities: Ids, show: Show = quiet
    ) -> tuple[Counts, Counts]:
        """Reached and right of path types from these entities; `hits` are everyone's. A sum over the entities, too."""
        used = self._in_use(relation, types, hits)
        reached, right = np.zeros_like(hits), np.zeros_like(hits)
        reached[used], right[used] = self._reach(self._graph, entities, relation[used], types[used], show)
        return reached, right

    def keep(self, relations: list[int], relation: Ids, types: Counts, *columns: Counts) -> None:
        """Take counts of these relations, in columns sorted by relation and type, for those of everyone."""
        for label in relations:
            rows = slice(*np.searchsorted(relation, [label, label + 1]).tolist())
            self.counted[label] = PathCounts(types[rows], *(column[rows] for column in columns))
            self._stale.pop(label, None)

    def is_stale(self, relation: int) -> bool:
        """Whether the counts of a relation are known from before a change, and wait to be brought up to date."""
        return relation in self._stale

    def everyone(self, relation: int) -> PathCounts:
        """What all entities that have the relation say."""
        self._count_everyone([] if relation in self.counted else [relation], quiet)
        return self.counted[relation]

    def clustered(self, relation: int) -> ClusterCounts:
        """What the entities of each cluster say; the rows of `EVERYONE` come first."""
        self._count_clusters([] if relation in self._clustered else [relation], quiet)
        return self._clustered[relation]

    def closed_path_types(self, relation: int, entities: Ids) -> ClusterCounts:
        """P_n(e, r): the path types that lead each of these entities to its answers; each is a cluster of its own."""
        own = np.arange(len(self._graph.entities), dtype=np.int32)
        clusters, _, types, hits = self._closed_paths([relation], entities, own, quiet)
        return ClusterCounts(clusters, types, hits, np.zeros_like(hits))

    def hits(self, cluster: int, relation: int, path_type: Sequence[int]) -> int:
        """How often paths of this type led entities of the cluster to an answer; 0 if never."""
        return self._read(self.clustered(relation).hits, cluster, relation, path_type)

    def tries(self, cluster: int, relation: int, path_type: Sequence[int]) -> int:
        """How many walks of this type leave the entities of the cluster that have the relation."""
        question = np.array([cluster], dtype=np.int32), np.array([relation], dtype=np.int32)
        return int(self._walks(*question, np.array([packed(path_type, self._settings.max_length)]), quiet)[0])

    def prior(self, cluster: int, relation: int, path_type: Sequence[int]) -> float:
        """Equation 2."""
        counts = self.clustered(relation)
        total = int(counts.hits[counts.of(cluster)].sum())
        return self.hits(cluster, relation, path_type) / total if total else 0.0

    def precision(self, cluster: int, relation: int, path_type: Sequence[int]) -> float:
        """Equation 3."""
        tries = self.tries(cluster, relation, path_type)
        return self.hits(cluster, relation, path_type) / tries if tries else 0.0

    def _read(self, column: Counts, cluster: int, relation: int, path_type: Sequence[int]) -> int:
        counts = self._clustered[relation]
        rows = counts.of(cluster)
        number = packed(path_type, self._settings.max_length)
        row = rows.start + int(np.searchsorted(counts.types[rows], number))
        return int(column[row]) if row < rows.stop and counts.types[row] == number else 0

    def _count_everyone(self, relations: list[int], show: Show) -> None:
        for relation in relations:
            if relation in self._stale:
                stale = self._stale[relation]
                self.counted[relation] = refreshed(stale, relation, self._graph, self._in_use, self._reach)
                del self._stale[relation]
        relations = [relation for relation in relations if relation not in self.counted]
        if not relations:
            return
        entities = self.having(relations)
        hits = self.count_hits(relations, entities, show)
        self.keep(relations, *hits, *self.count_reach(*hits, entities, show))

    def _count_clusters(self, relations: list[int], show: Show) -> None:
        if not relations:
            return
        self._count_everyone([relation for relation in relations if relation not in self.counted], show)
        cluster, label, types, hits = self._closed_paths(relations, self.having(relations), self._clusters(), show)
        inside = cluster != EVERYONE
        cluster, label, types, hits = cluster[inside], label[inside], types[inside], hits[inside]
        for relation in relations:
            everyone = self.counted[relation]
            cluster = np.concatenate([np.full(len(everyone.types), EVERYONE, dtype=np.int32), cluster])
            label = np.concatenate([np.full(len(everyone.types), relation, dtype=np.int32), label])
            types, hits = np.concatenate([everyone.types, types]), np.concatenate([everyone.hits, hits])
        tries = self._walks(cluster, label, types, show)
        order = np.lexsort((types, cluster, label))
        ordered = label[order]
        for relation in relations:
            rows = order[slice(*np.searchsorted(ordered, [relation, relation + 1]).tolist())]
            self._clustered[relation] = ClusterCounts(cluster[rows], types[rows], hits[rows], tries[rows])

    def _closed_paths(
        self, relations: list[int], entities: Ids, clusters: Ids, show: Show
    ) -> tuple[Ids, Ids, Counts, Counts]:
        wanted = np.zeros(self._graph.directions, dtype=np.bool)
        wanted[relations] = True
        graph, n = self._graph.kernel, self._settings.max_length
        return run(
            lambda counters: kernels.closed_paths(graph, entities, clusters, wanted, n, threads(), counters),
            "counting paths to answers", len(entities), show,
        )  # fmt: skip

    def _walks(self, clusters: Ids, relations: Ids, types: Counts, show: Show) -> Counts:
        graph, of, n = self._graph.kernel, self._clusters(), self._settings.max_length
        return run(
            lambda counters: kernels.walks(graph, clusters, relations, types, of, n, threads(), counters),
            "counting walks", len(types), show,
        )  # fmt: skip

    def _in_use(self, relation: Ids | int, types: Counts, hits: Counts) -> Flags:
        """Which path types of a relation are walked: those with enough hits, other than the relation itself."""
        return np.asarray((hits >= self._settings.support) & (types != np.asarray(relation) + 1))

    def _reach(
        self, graph: Graph, entities: Ids, relation: Ids | int, types: Counts, show: Show = quiet
    ) -> tuple[Counts, Counts]:
        """What path types reach from these entities, and how much of it is right; nothing if no setting will ask."""
        if self._settings.weight != "right":
            return np.zeros_like(types), np.zeros_like(types)
        relations, n = np.broadcast_to(np.int32(relation), types.shape).copy(), self._settings.max_length
        reached, right, followed = run(
            lambda counters: kernels.reach(graph.kernel, entities, relations, types, n, threads(), counters),
            "counting what paths reach", len(entities), show,
        )  # fmt: skip
        self.followed += followed
        return reached, right


def share(part: Counts, whole: Counts | int, doubt: float = 0.0) -> Floats:
    """The part / (whole + doubt), and 0 where nothing is divided."""
    divisor = np.asarray(whole) + doubt
    return np.divide(part, divisor, out=np.zeros(len(part)), where=divisor > 0)
