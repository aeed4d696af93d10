"""
The counts behind the prior and the precision of path types (§2.2.3, equations 2 and 3).

    hits     loop-free paths of a type from an entity that has the relation to one of its answers
    tries    walks of the type from those entities, wherever they end
    reached  distinct ends of loop-free paths of the type from each of them; right: those ends that are answers

Everything stored is an integer, summed over the entities of a cluster or over everyone; a ratio is formed when it is
read. Counts are made when a relation is first asked about, for all relations asked about at once, and kept: a
`PathStatistics` belongs to one state of the graph.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from threading import RLock
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from casegraph.graph.arrays import Counts, Floats, Ids, joined
from casegraph.running import Show, quiet
from casegraph.similarity.clusters.assignment import EVERYONE
from casegraph.statistics.backlog import Backlog, Moment
from casegraph.statistics.counts import ANY, KINDS, ClusterCounts, Counting, Hits, PathCounts, having, in_use
from casegraph.statistics.incremental import (
    ChangedHits,
    Stale,
    StaleClusters,
    changed_hits,
    refreshed,
    refreshed_clusters,
    summed,
)
from casegraph.statistics.path_types import check_room, packed, renumbered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from casegraph.graph.change import Change
    from casegraph.graph.graph import Graph, Renumbering
    from casegraph.settings import Settings

TypeHits = tuple[Counts, Counts]  # path types, and how often they lead to an answer
NO_HITS: TypeHits = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
PARTS = 16  # that the hits of a relation may be in before they are added up
TOO_MANY = np.iinfo(np.int64).max  # a number of walks that 64 bits do not hold


class KnownHits(NamedTuple):
    """The hits of all relations, those of each in parts to be added up.

    longest  the length up to which paths are counted
    spare    cycles that may come before there could be too many
    rows     pairs of a relation and a path type, in all parts
    """

    parts: dict[int, tuple[TypeHits, ...]]
    longest: int
    spare: int
    rows: int

    @classmethod
    def of(cls, counted: Hits, settings: Settings) -> KnownHits:
        """Hits as everyone contributes to them, without those that take too much."""
        kept, longest = counted.within(settings.counting, settings.max_length)
        spare = settings.counting // 2 - int(kept.work.max(initial=0))
        starts = np.flatnonzero(np.diff(kept.relations, prepend=-1))
        hits = {
            int(kept.relations[start]): (kept.types[start:end], kept.hits[start:end])
            for start, end in pairwise([*starts.tolist(), len(kept.types)])
        }
        return cls.of_relations(hits, longest, spare)

    @classmethod
    def of_relations(cls, hits: Mapping[int, TypeHits], longest: int, spare: int) -> KnownHits:
        """Hits, by relation."""
        rows = sum(len(types) for types, _ in hits.values())
        return cls({relation: (own,) for relation, own in hits.items()}, longest, spare, rows)

    def of_relation(self, relation: int) -> TypeHits:
        """The path types that lead to answers of a relation, sorted, and how often they do."""
        parts = self.parts.get(relation, (NO_HITS,))
        if len(parts) > 1:
            self.parts[relation] = parts = (summed(parts),)
        return parts[0]

    def after(self, changed: ChangedHits) -> KnownHits:
        """With what a change adds and takes away. Relations take turns in adding up their parts."""
        parts = self.parts.copy()
        rows = self.rows
        for relation, more in changed.of.items():
            own = (*parts.get(relation, (NO_HITS,)), more)
            rows += len(more[0])
            is_its_turn = (len(own) + relation) % PARTS == 0
            if is_its_turn:
                total = summed(own)
                rows += len(total[0]) - sum(len(types) for types, _ in own)
                own = (total,)
            parts[relation] = own
        return KnownHits(parts, self.longest, self.spare - changed.more, rows)

    def renumbered(self, new: Renumbering, max_length: int) -> KnownHits:
        """The same where relations have new numbers."""
        hits: dict[int, TypeHits] = {}
        for relation in list(self.parts):
            types, own = self.of_relation(relation)
            if len(types):
                hits[int(new.relations[relation])] = (renumbered(types, new.relations, max_length), own)
        return KnownHits.of_relations(hits, self.longest, self.spare)


class Waiting(NamedTuple):
    """Counts of a relation from before a change, and the number of the stretch of changes that comes next for them."""

    counts: PathCounts
    since: int


class WaitingClusters(NamedTuple):
    """The same, of its counts in clusters."""

    counts: ClusterCounts
    since: int


class PathStatistics:
    """What is counted over one state of a graph, per relation: for everyone, and for each cluster.

    Several threads may ask at once: what is counted is never changed, and one of them counts while the others wait.
    """

    def __init__(self, graph: Graph, clusters: Callable[[], Ids], settings: Settings) -> None:
        check_room(graph, settings.max_length)
        self.graph = graph
        self._clusters = clusters  # made when first needed
        self.settings = settings
        self._counting = RLock()
        self.counted: dict[int, PathCounts] = {}  # for everyone
        self._clustered: dict[int, ClusterCounts] = {}
        self._hits: KnownHits | None = None
        self._waiting: dict[int, Waiting] = {}
        self._waiting_clusters: dict[int, WaitingClusters] = {}
        self._backlog = Backlog()

    @property
    def longest(self) -> int | None:
        """The length up to which paths are counted; none while nothing is counted."""
        return None if self._hits is None else self._hits.longest

    @property
    def spare(self) -> int:
        """Cycles that may come before there could be too many."""
        return 0 if self._hits is None else self._hits.spare

    def restore(
        self, longest: int, spare: int, hits: Mapping[int, TypeHits], counted: Mapping[int, PathCounts]
    ) -> None:
        """Take counts that were made of the same graph and settings, here or elsewhere."""
        self._hits = KnownHits.of_relations(hits, longest, spare)
        self.counted.update(counted)

    def restore_hits(self, counted: Hits) -> None:
        """Take hits of all relations, as everyone contributes to them."""
        self._hits = KnownHits.of(counted, self.settings)

    def prepare(self, relations: Iterable[int], show: Show = quiet) -> None:
        """Count for these relations, all at once, what the settings will ask for."""
        relations = sorted(set(relations))
        self._count_everyone(relations, show)
        if self.settings.weight == "prior":
            self._count_clusters(relations, show)

    def after(self, change: Change, graph: Graph, clusters: Callable[[], Ids]) -> tuple[PathStatistics, ChangedHits]:
        """The statistics of `graph`, which a change has made of this one's, and what it did to hits.

        What is counted for everyone is kept, and brought up to date when it is next asked for; but nothing of what was
        left out to bound the work, nor anything once there could be too much: then all is counted anew.
        """
        later = PathStatistics(graph, clusters, self.settings)
        known = self._hits
        if known is None or known.longest < self.settings.max_length:
            return later, ChangedHits.none(anew=known is not None)
        changed = changed_hits(self.graph, graph, change, self.settings.max_length)
        hits = known.after(changed)
        if hits.spare < 0 or hits.rows > KINDS // 2:
            return later, replace(changed, anew=True)
        later._hits = hits
        later._wait_for(self, change, changed.entities)
        return later, changed

    def _wait_for(self, earlier: PathStatistics, change: Change, entities: Ids) -> None:
        """Let the counts of an earlier state wait until they are asked for.

        Another thread may be counting there: what waits is read first, as it goes on to what is counted.
        """
        waiting, waiting_clusters = earlier._waiting.copy(), earlier._waiting_clusters.copy()
        counted = {relation: counts for relation, counts in earlier.counted.copy().items() if counts.exact}
        clustered = earlier._clustered.copy()
        began = None
        if counted or clustered:
            began = Moment(earlier.graph.copy(), earlier._clusters() if clustered else None)
        self._backlog = earlier._backlog.after(change, entities, began)
        newest = self._backlog.end - 1
        waiting |= {relation: Waiting(counts, newest) for relation, counts in counted.items()}
        waiting_clusters |= {relation: WaitingClusters(counts, newest) for relation, counts in clustered.items()}
        self._waiting = {relation: one for relation, one in waiting.items() if one.since >= self._backlog.first}
        self._waiting_clusters = {
            relation: one
            for relation, one in waiting_clusters.items()
            if one.since >= self._backlog.first and self._backlog.began(one.since) is not None
        }

    def renumbered(self, graph: Graph, new: Renumbering, clusters: Callable[[], Ids]) -> PathStatistics:
        """The same counts where names were given up and ids are new; those of clusters are counted anew."""
        later = PathStatistics(graph, clusters, self.settings)
        n = self.settings.max_length
        later._hits = None if self._hits is None else self._hits.renumbered(new, n)
        later._backlog = self._backlog.renumbered(new)
        later._waiting = {
            int(new.relations[relation]): Waiting(one.counts.renumbered(new.relations, n), one.since)
            for relation, one in self._waiting.items()
            if new.relations[relation] >= 0
        }
        return later

    def changed_facts(self) -> Change:
        """The changes that counts wait to be brought up to date with."""
        return self._backlog.everything()

    def is_kept(self, relation: int) -> bool:
        """Whether something is counted for a relation, or known from before a change and to be brought up to date."""
        return relation in self.counted or relation in self._waiting

    def everyone(self, relation: int) -> PathCounts:
        """What all entities that have the relation say."""
        found = self.counted.get(relation)
        if found is None:
            self._count_everyone([relation], quiet)
            found = self.counted[relation]
        return found

    def clustered(self, relation: int) -> ClusterCounts:
        """What the entities of each cluster say; the rows of `EVERYONE` come first."""
        found = self._clustered.get(relation)
        if found is None:
            self._count_clusters([relation], quiet)
            found = self._clustered[relation]
        return found

    def closed_path_types(self, relation: int, entities: Ids) -> ClusterCounts:
        """P_n(e, r): the path types that lead each of these entities to its answers; each is a cluster of its own."""
        own = np.arange(len(self.graph.entities), dtype=np.int32)
        longest = self._known_hits().longest
        clusters, _, types, hits = Counting(self.graph, self.settings).hits([relation], entities, own, longest)
        return ClusterCounts(clusters, types, hits, np.zeros_like(hits))

    def hits(self, cluster: int, relation: int, path_type: Sequence[int]) -> int:
        """How often paths of this type led entities of the cluster to an answer; 0 if never."""
        return self._read(self.clustered(relation).hits, cluster, relation, path_type)

    def tries(self, cluster: int, relation: int, path_type: Sequence[int]) -> int:
        """How many walks of this type leave the entities of the cluster that have the relation."""
        question = np.array([cluster], dtype=np.int32), np.array([relation], dtype=np.int32)
        number = np.array([packed(path_type, self.settings.max_length)])
        return int(Counting(self.graph, self.settings).tries(*question, number, self._clusters())[0])

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
        number = packed(path_type, self.settings.max_length)
        row = rows.start + int(np.searchsorted(counts.types[rows], number))
        return int(column[row]) if row < rows.stop and counts.types[row] == number else 0

    def exact(self, relation: int) -> bool:
        """Whether nothing was left out of what is counted for a relation."""
        return self._known_hits().longest == self.settings.max_length and self.everyone(relation).exact

    def hits_of(self, relation: int) -> TypeHits:
        """The path types that lead to answers of a relation, sorted, and how often they do."""
        return self._known_hits().of_relation(relation)

    def reach_of(self, relations: list[int], entities: Ids, show: Show = quiet) -> dict[int, PathCounts]:
        """The counts of relations, as far as these entities contribute to what is reached."""
        found, uses, widest = {}, [], []
        for relation in relations:
            types, hits = self.hits_of(relation)
            found[relation] = PathCounts.of_hits(types, hits)
            used = np.flatnonzero(in_use(self.settings, relation, types, hits))
            uses.append(used)
            limit = Counting(self.graph, self.settings).widest(relation, types[used])
            widest.append(np.full(len(used), ANY) if limit is None else limit)
        labels = np.repeat(np.array(relations, dtype=np.int32), [len(used) for used in uses])
        types = joined(found[relation].types[used] for relation, used in zip(relations, uses, strict=True))
        most = joined(widest)
        columns = Counting(self.graph, self.settings, show).reach(
            labels, types, entities, widest=most if (most < ANY).any() else None
        )
        ends = np.cumsum([len(used) for used in uses])
        for relation, used, end in zip(relations, uses, ends.tolist(), strict=True):
            for into, column in zip(("reached", "right", "left_out"), columns, strict=True):
                getattr(found[relation], into)[used] = column[end - len(used) : end]
        return found

    def _known_hits(self, show: Show = quiet) -> KnownHits:
        if self._hits is not None:
            return self._hits
        with self._counting:
            if self._hits is None:
                everyone = np.arange(len(self.graph.entities), dtype=np.int32)
                counted = Counting(self.graph, self.settings, show).cycles(everyone)
                self._hits = KnownHits.of(counted, self.settings)
            return self._hits

    def _count_everyone(self, relations: list[int], show: Show) -> None:
        with self._counting:
            missing = [relation for relation in relations if relation not in self.counted]
            if not missing:
                return
            self._known_hits(show)
            self._follow_changes(missing)
            missing = [relation for relation in missing if relation not in self.counted]
            if missing:
                self.counted.update(self.reach_of(missing, having(self.graph, missing), show))

    def _follow_changes(self, relations: list[int]) -> None:
        """Bring the counts that wait up to date."""
        counting = Counting(self.graph, self.settings)
        earlier: dict[int, tuple[Graph, Change]] = {}
        for relation in relations:
            waiting = self._waiting.get(relation)
            if waiting is None:
                continue
            hits = self.hits_of(relation)
            used = hits[0][in_use(self.settings, relation, *hits)]
            if counting.widest(relation, used) is not None:
                continue  # it would take too much now: what is left out is chosen when all is counted anew
            if waiting.since not in earlier:
                earlier[waiting.since] = self._since(waiting.since)
            stale = Stale(waiting.counts, *earlier[waiting.since])
            self.counted[relation] = refreshed(stale, relation, counting, hits)

    def _since(self, number: int) -> tuple[Graph, Change]:
        """The graph when a stretch of changes began, and what has changed since."""
        change = self._backlog.change_since(number)
        began = self._backlog.began(number)
        return (self.graph.before(change) if began is None else began.graph), change

    def _count_clusters(self, relations: list[int], show: Show) -> None:
        with self._counting:
            missing = [relation for relation in relations if relation not in self._clustered]
            self._count_everyone(missing, show)
            counting = Counting(self.graph, self.settings, show)
            for relation in missing:
                self._follow_changes_in_clusters(relation, counting)
            missing = [relation for relation in missing if relation not in self._clustered]
            if missing:
                self._count_clusters_anew(missing, counting, self._known_hits(show).longest)

    def _follow_changes_in_clusters(self, relation: int, counting: Counting) -> None:
        waiting = self._waiting_clusters.get(relation)
        began = None if waiting is None else self._backlog.began(waiting.since)
        if waiting is None or began is None or began.clusters is None:
            return
        entities = self._backlog.entities_since(waiting.since)
        stale = StaleClusters(waiting.counts, began.graph, began.clusters, entities)
        everyone = self.counted[relation]
        self._clustered[relation] = refreshed_clusters(stale, relation, counting, self._clusters(), everyone)

    def _count_clusters_anew(self, relations: list[int], counting: Counting, longest: int) -> None:
        entities = having(self.graph, relations)
        cluster, label, types, hits = counting.hits(relations, entities, self._clusters(), longest)
        inside = cluster != EVERYONE
        cluster, label, types, hits = cluster[inside], label[inside], types[inside], hits[inside]
        for relation in relations:
            everyone = self.counted[relation]
            cluster = np.concatenate([np.full(len(everyone.types), EVERYONE, dtype=np.int32), cluster])
            label = np.concatenate([np.full(len(everyone.types), relation, dtype=np.int32), label])
            types = np.concatenate([everyone.types, types])
            hits = np.concatenate([everyone.hits, hits])
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
