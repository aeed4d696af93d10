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

import numpy as np

from casegraph.arrays import Counts, Floats, Ids
from casegraph.clusters.assignment import EVERYONE
from casegraph.counting import ClusterCounts, Counting, PathCounts, having, in_use
from casegraph.edges import NOTHING, Change
from casegraph.graph import Graph
from casegraph.paths import check_room, packed
from casegraph.recounting import ChangedHits, Stale, StaleClusters, changed_hits, refreshed, refreshed_clusters
from casegraph.settings import Settings
from casegraph.work import Show, quiet

TOO_MANY = np.iinfo(np.int64).max  # a number of walks that 64 bits do not hold


class PathStatistics:
    """What is counted over one state of a graph, per relation: for everyone, and for each cluster."""

    def __init__(self, graph: Graph, clusters: Callable[[], Ids], settings: Settings) -> None:
        check_room(graph, settings.max_length)
        self._graph, self._clusters, self._settings = graph, clusters, settings  # clusters are made when first needed
        self.counted: dict[int, PathCounts] = {}  # for everyone
        self._stale: dict[int, Stale] = {}
        self._clustered: dict[int, ClusterCounts] = {}
        self._stale_clusters: dict[int, StaleClusters] = {}

    def prepare(self, relations: Iterable[int], show: Show = quiet) -> None:
        """Count for these relations, all at once, what the settings will ask for."""
        relations = sorted(set(relations))
        self._count_everyone([relation for relation in relations if relation not in self.counted], show)
        if self._settings.weight == "prior":
            self._count_clusters([relation for relation in relations if relation not in self._clustered], show)

    def after(self, change: Change, graph: Graph, clusters: Callable[[], Ids]) -> "tuple[PathStatistics, ChangedHits]":
        """The statistics of `graph`, which a change has made of this one's, and what it did to hits.

        What is counted for everyone is kept, and brought up to date when it is next asked for.
        """
        later = PathStatistics(graph, clusters, self._settings)
        now = {relation: Stale(counts, self._graph) for relation, counts in self.counted.items()}
        known = {**self._stale, **now}
        hits = changed_hits(self._graph, graph, change if known else NOTHING, self._settings.max_length)
        for relation, stale in known.items():
            later._stale[relation] = stale.after(change, hits.of.get(relation))
        for relation, clustered in self._known_clusters().items():
            later._stale_clusters[relation] = clustered.after(hits.entities)
        return later, hits

    def _known_clusters(self) -> dict[int, StaleClusters]:
        if not self._clustered:
            return self._stale_clusters
        clusters = self._clusters()
        none = np.empty(0, dtype=np.int32)
        now = {
            relation: StaleClusters(counts, self._graph, clusters, none) for relation, counts in self._clustered.items()
        }
        return {**self._stale_clusters, **now}

    def is_stale(self, relation: int) -> bool:
        """Whether the counts of a relation are known from before a change, and wait to be brought up to date."""
        return relation in self._stale or relation in self._stale_clusters

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
        clusters, _, types, hits = Counting(self._graph, self._settings).hits([relation], entities, own)
        return ClusterCounts(clusters, types, hits, np.zeros_like(hits))

    def hits(self, cluster: int, relation: int, path_type: Sequence[int]) -> int:
        """How often paths of this type led entities of the cluster to an answer; 0 if never."""
        return self._read(self.clustered(relation).hits, cluster, relation, path_type)

    def tries(self, cluster: int, relation: int, path_type: Sequence[int]) -> int:
        """How many walks of this type leave the entities of the cluster that have the relation."""
        question = np.array([cluster], dtype=np.int32), np.array([relation], dtype=np.int32)
        number = np.array([packed(path_type, self._settings.max_length)])
        return int(Counting(self._graph, self._settings).tries(*question, number, self._clusters())[0])

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

    def count_hits(self, relations: list[int], entities: Ids, show: Show = quiet) -> tuple[Ids, Counts, Counts]:
        """What these entities contribute to the hits of everyone: relation, type and hits, sorted by the first two."""
        everyone = np.full(len(self._graph.entities), EVERYONE, dtype=np.int32)
        return Counting(self._graph, self._settings, show).hits(relations, entities, everyone)[1:]

    def count_reach(
        self, relation: Ids, types: Counts, hits: Counts, entities: Ids, show: Show = quiet
    ) -> tuple[Counts, Counts]:
        """What these entities contribute to reached and right; `hits` are those of everyone."""
        used = in_use(self._settings, relation, types, hits)
        reached, right = np.zeros_like(hits), np.zeros_like(hits)
        counting = Counting(self._graph, self._settings, show)
        reached[used], right[used] = counting.reach(relation[used], types[used], entities)
        return reached, right

    def keep(self, relations: list[int], relation: Ids, types: Counts, *columns: Counts) -> None:
        """Take counts of these relations, in columns sorted by relation and type, for those of everyone."""
        for label in relations:
            rows = slice(*np.searchsorted(relation, [label, label + 1]).tolist())
            self.counted[label] = PathCounts(types[rows], *(column[rows] for column in columns))

    def _count_everyone(self, relations: list[int], show: Show) -> None:
        for relation in relations:
            if stale := self._stale.get(relation):
                self.counted[relation] = refreshed(stale, relation, Counting(self._graph, self._settings))
                del self._stale[relation]
        relations = [relation for relation in relations if relation not in self.counted]
        if relations:
            entities = having(self._graph, relations)
            hits = self.count_hits(relations, entities, show)
            self.keep(relations, *hits, *self.count_reach(*hits, entities, show))

    def _count_clusters(self, relations: list[int], show: Show) -> None:
        self._count_everyone([relation for relation in relations if relation not in self.counted], show)
        counting = Counting(self._graph, self._settings, show)
        for relation in relations:
            if stale := self._stale_clusters.get(relation):
                everyone, of = self.counted[relation], self._clusters()
                self._clustered[relation] = refreshed_clusters(stale, relation, counting, of, everyone)
                del self._stale_clusters[relation]
        relations = [relation for relation in relations if relation not in self._clustered]
        if not relations:
            return
        cluster, label, types, hits = counting.hits(relations, having(self._graph, relations), self._clusters())
        inside = cluster != EVERYONE
        cluster, label, types, hits = cluster[inside], label[inside], types[inside], hits[inside]
        for relation in relations:
            everyone = self.counted[relation]
            cluster = np.concatenate([np.full(len(everyone.types), EVERYONE, dtype=np.int32), cluster])
            label = np.concatenate([np.full(len(everyone.types), relation, dtype=np.int32), label])
            types, hits = np.concatenate([everyone.types, types]), np.concatenate([everyone.hits, hits])
        tries = counting.tries(cluster, label, types, self._clusters())
        order = np.lexsort((types, cluster, label))
        ordered = label[order]
        for relation in relations:
            rows = order[slice(*np.searchsorted(ordered, [relation, relation + 1]).tolist())]
            self._clustered[relation] = ClusterCounts(cluster[rows], types[rows], hits[rows], tries[rows])


def share(part: Counts, whole: Counts | int, doubt: float = 0.0) -> Floats:
    """The part / (whole + doubt), and 0 where nothing is divided."""
    divisor = np.asarray(whole) + doubt
    return np.divide(part, divisor, out=np.zeros(len(part)), where=divisor > 0)
