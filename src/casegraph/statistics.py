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
from dataclasses import replace
from itertools import pairwise

import numpy as np

from casegraph.arrays import Counts, Floats, Ids, joined
from casegraph.clusters.assignment import EVERYONE
from casegraph.counting import ANY, KINDS, ClusterCounts, Counting, Hits, PathCounts, having, in_use
from casegraph.edges import Change
from casegraph.graph import Graph
from casegraph.paths import check_room, packed
from casegraph.recounting import ChangedHits, Stale, StaleClusters, changed_hits, refreshed, refreshed_clusters, summed
from casegraph.settings import Settings
from casegraph.work import Show, quiet

NO_HITS = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
TOO_MANY = np.iinfo(np.int64).max  # a number of walks that 64 bits do not hold


class PathStatistics:
    """What is counted over one state of a graph, per relation: for everyone, and for each cluster."""

    def __init__(self, graph: Graph, clusters: Callable[[], Ids], settings: Settings) -> None:
        check_room(graph, settings.max_length)
        self._graph, self._clusters, self._settings = graph, clusters, settings  # clusters are made when first needed
        self.counted: dict[int, PathCounts] = {}  # for everyone
        self.longest: int | None = None  # the length up to which paths are counted; none are, so far
        self._hits: dict[int, tuple[tuple[Counts, Counts], ...]] = {}  # path types and hits, to be added up
        self.spare = 0  # cycles that may come before there could be too many
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

        What is counted for everyone is kept, and brought up to date when it is next asked for; but nothing of what was
        left out to bound the work, nor anything once there could be too much: then all is counted anew.
        """
        later = PathStatistics(graph, clusters, self._settings)
        if self.longest is None or self.longest < self._settings.max_length:
            return later, ChangedHits.none(anew=self.longest is not None)
        changed = changed_hits(self._graph, graph, change, self._settings.max_length)
        if changed.cycles > self.spare:
            return later, replace(changed, anew=True)
        later.longest, later.spare, later._hits = self.longest, self.spare - changed.cycles, self._hits.copy()
        for relation, more in changed.of.items():
            later._hits[relation] = (*later._hits.get(relation, (NO_HITS,)), more)
        now = {relation: Stale(counts, self._graph) for relation, counts in self.counted.items() if counts.exact}
        later._stale = {relation: stale.after(change) for relation, stale in {**self._stale, **now}.items()}
        for relation, clustered in self._known_clusters().items():
            later._stale_clusters[relation] = clustered.after(changed.entities)
        return later, changed

    def _known_clusters(self) -> dict[int, StaleClusters]:
        if not self._clustered:
            return self._stale_clusters
        of, none = self._clusters(), np.empty(0, dtype=np.int32)
        now = {relation: StaleClusters(counts, self._graph, of, none) for relation, counts in self._clustered.items()}
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
        longest = self._count_hits(quiet)
        clusters, _, types, hits = Counting(self._graph, self._settings).hits([relation], entities, own, longest)
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

    def exact(self, relation: int) -> bool:
        """Whether nothing was left out of what is counted for a relation."""
        return self._count_hits(quiet) == self._settings.max_length and self.everyone(relation).exact

    def hits_of(self, relation: int) -> tuple[Counts, Counts]:
        """The path types that lead to answers of a relation, sorted, and how often they do."""
        self._count_hits(quiet)
        parts = self._hits.get(relation, (NO_HITS,))
        if len(parts) > 1:
            self._hits[relation] = parts = (summed(parts),)
        return parts[0]

    def keep_hits(self, counted: Hits) -> None:
        """Take hits of all relations, as everyone contributes to them."""
        most, n = self._settings.counting, self._settings.max_length
        kept, self.longest = counted.within(most, n)
        self.spare = min(most // 2 - int(kept.work.max(initial=0)), KINDS // 2 - len(kept.types))
        starts = np.flatnonzero(np.diff(kept.relations, prepend=-1))
        for start, end in pairwise([*starts.tolist(), len(kept.types)]):
            self.take_hits(int(kept.relations[start]), kept.types[start:end], kept.hits[start:end])

    def take_hits(self, relation: int, types: Counts, hits: Counts) -> None:
        """Take path types, sorted, and hits for those of a relation."""
        self._hits[relation] = ((types, hits),)

    def reach_of(self, relations: list[int], entities: Ids, show: Show = quiet) -> dict[int, PathCounts]:
        """The counts of relations, as far as these entities contribute to what is reached."""
        found, uses, widest = {}, [], []
        for relation in relations:
            types, hits = self.hits_of(relation)
            found[relation] = PathCounts.of_hits(types, hits)
            used = np.flatnonzero(in_use(self._settings, relation, types, hits))
            uses.append(used)
            limit = Counting(self._graph, self._settings).widest(relation, types[used])
            widest.append(np.full(len(used), ANY) if limit is None else limit)
        labels = np.repeat(np.array(relations, dtype=np.int32), [len(used) for used in uses])
        types = joined(found[relation].types[used] for relation, used in zip(relations, uses, strict=True))
        most = joined(widest)
        columns = Counting(self._graph, self._settings, show).reach(
            labels, types, entities, widest=most if (most < ANY).any() else None
        )
        ends = np.cumsum([len(used) for used in uses])
        for relation, used, end in zip(relations, uses, ends.tolist(), strict=True):
            for into, column in zip(("reached", "right", "left_out"), columns, strict=True):
                getattr(found[relation], into)[used] = column[end - len(used) : end]
        return found

    def _count_hits(self, show: Show) -> int:
        if self.longest is None:
            everyone = np.arange(len(self._graph.entities), dtype=np.int32)
            self.keep_hits(Counting(self._graph, self._settings, show).cycles(everyone))
        return self.longest or 0

    def _count_everyone(self, relations: list[int], show: Show) -> None:
        if not relations:
            return
        self._count_hits(show)
        counting = Counting(self._graph, self._settings)
        for relation in relations:
            if stale := self._stale.pop(relation, None):
                hits = self.hits_of(relation)
                used = hits[0][in_use(self._settings, relation, *hits)]
                if counting.widest(relation, used) is None:
                    self.counted[relation] = refreshed(stale, relation, counting, hits)
        relations = [relation for relation in relations if relation not in self.counted]
        if relations:
            self.counted.update(self.reach_of(relations, having(self._graph, relations), show))

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
        longest = self._count_hits(show)
        entities = having(self._graph, relations)
        cluster, label, types, hits = counting.hits(relations, entities, self._clusters(), longest)
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
