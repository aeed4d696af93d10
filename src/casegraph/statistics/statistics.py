"""
The counts behind the prior and the precision of path types (§2.2.3, equations 2 and 3).

    hits     loop-free paths of a type from an entity that has the relation to one of its answers
    tries    walks of the type from those entities, wherever they end
    reached  distinct ends of loop-free paths of the type from each of those entities
    right    how many of these ends are answers; both also for ends with an open slot only

Only integers are stored, summed over the entities of a cluster or over everyone; ratios are
computed when needed (see answering/weights). A `PathStatistics` belongs to one state of the graph.

Counts are made when a relation is first asked about, and kept. Hits are counted for all relations
at once, or in a large graph one relation after the other (see `own_hits`). In a large graph, what a
path type reaches is counted when a question first needs it (see `partial_counts`).

After a change, hits are brought up to date at once (`incremental.changed_hits`). All other counts
wait: they are carried to the next state together with a log of the changes (see `backlog`), and
catch up when their relation is next asked about. Of a large graph, everything is counted again.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from itertools import groupby, pairwise
from threading import RLock
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from casegraph.errors import CasegraphError
from casegraph.graph.arrays import Counts, Flags, Ids, joined, rows_with
from casegraph.running import Show, quiet
from casegraph.similarity.clusters.assignment import EVERYONE
from casegraph.statistics.backlog import Backlog, Baseline
from casegraph.statistics.counts import (
    BOTH_WAYS,
    MOST_TYPES,
    TOO_MANY,
    UNLIMITED,
    ClusterCounts,
    Counting,
    Hits,
    PathCounts,
    having,
    in_use,
)
from casegraph.statistics.incremental import (
    ChangedHits,
    ClusterChanges,
    OutdatedClusterCounts,
    OutdatedCounts,
    TypeHits,
    changed_hits,
    hits_added_up,
    updated_cluster_counts,
    updated_counts,
)
from casegraph.statistics.own_hits import (
    UNKNOWN_LENGTH,
    OwnHits,
    is_large,
    limited_hits,
    own_hits,
    with_length,
)
from casegraph.statistics.partial_counts import (
    FEW_ENTITIES,
    PartialCounts,
    may_lead_somewhere,
)
from casegraph.statistics.path_types import check_room, packed, steps
from casegraph.statistics.sampling import SampledPaths, sampled_paths, with_samples
from casegraph.statistics.sums import columns_joined

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from casegraph.graph.change import Change
    from casegraph.graph.graph import Graph
    from casegraph.settings import Settings

NO_HITS: TypeHits = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
STEPS_PER_CYCLE = 16  # an estimate of the steps to find one more cycle
# Estimates are replaced by counting again when that takes no more than so many steps for each edge
# that has changed: some ten microseconds. So a small graph is counted again after every change.
STEPS_PER_CHANGED_EDGE = 1 << 11
# Counts that use more than 1/2 of a limit are not updated incrementally.
KEPT_FOR_UPDATES = 2
MAX_PARTS = 16  # parts of the hits of a relation, before they are added up


class KnownHits(NamedTuple):
    """The hits of all relations, each stored as parts that are added up when read.

    parts     for each relation, its path types and hits in one or more parts
    longest   the length up to which paths are counted
    headroom  steps that may still come before there could be too many to count
    rows      pairs of a relation and a path type, in all parts together
    changed   how many edges have changed since everything was counted
    """

    parts: dict[int, tuple[TypeHits, ...]]
    longest: int
    headroom: int
    rows: int
    changed: int = 0

    @classmethod
    def of(cls, counted: Hits, settings: Settings) -> KnownHits:
        """The hits of all entities, without the lengths that take too much to count."""
        kept, longest = counted.within(settings.counting, settings.max_length)
        work = int(kept.work.max(initial=0))
        headroom = settings.counting // KEPT_FOR_UPDATES - work
        starts = np.flatnonzero(np.diff(kept.relations, prepend=-1))
        hits: dict[int, TypeHits] = {}
        for start, end in pairwise([*starts.tolist(), len(kept.types)]):
            relation = int(kept.relations[start])
            hits[relation] = (kept.types[start:end], kept.hits[start:end])
        return cls.of_relations(hits, longest, headroom)

    @classmethod
    def of_relations(
        cls, hits: Mapping[int, TypeHits], longest: int, headroom: int
    ) -> KnownHits:
        """Hits that are given by relation, each in one part."""
        parts: dict[int, tuple[TypeHits, ...]] = {}
        for relation, own in hits.items():
            parts[relation] = (own,)
        return cls(parts, longest, headroom, _rows_in(hits.values()))

    def of_relation(self, relation: int) -> TypeHits:
        """The path types that lead to answers of a relation, sorted, and how often they do."""
        parts = self.parts.get(relation, (NO_HITS,))
        if len(parts) == 1:
            return parts[0]
        total = hits_added_up(parts)
        self.parts[relation] = (total,)
        return total

    def after(self, changed: ChangedHits, edges: int) -> KnownHits:
        """The hits after a change of so many edges.

        A change appends a part to each relation that it concerns, which is quick. When a relation
        has `MAX_PARTS` parts they are added up; the relations do so after different changes.
        """
        parts = self.parts.copy()
        rows = self.rows
        for relation, part in changed.by_relation.items():
            own = (*parts.get(relation, (NO_HITS,)), part)
            rows += len(part[0])
            is_its_turn = (len(own) + relation) % MAX_PARTS == 0
            if is_its_turn:
                total = hits_added_up(own)
                rows += _rows_in([total]) - _rows_in(own)
                own = (total,)
            parts[relation] = own
        headroom = self.headroom - STEPS_PER_CYCLE * changed.more_cycles
        return KnownHits(parts, self.longest, headroom, rows, self.changed + edges)

    @property
    def is_room_left(self) -> bool:
        """Whether all lengths can still be counted, as far as is known."""
        return self.headroom >= 0 and self.rows <= MOST_TYPES // KEPT_FOR_UPDATES

    def are_estimates_old(self, settings: Settings) -> bool:
        """Whether it is time to count from scratch how many steps that takes.

        A change can add more steps than its cycles tell: it also decides which entity of a cycle
        has most edges, from where the cycle is found.
        """
        work = settings.counting // KEPT_FOR_UPDATES - self.headroom
        return STEPS_PER_CHANGED_EDGE * self.changed >= work

    def with_room_of(self, counted: KnownHits) -> KnownHits:
        """These hits, with the estimates replaced by what counting from scratch has found."""
        return self._replace(
            longest=counted.longest, headroom=counted.headroom, changed=0
        )


def _rows_in(parts: Iterable[TypeHits]) -> int:
    """How many path types these parts have together."""
    return sum(len(types) for types, _ in parts)


class PendingCounts(NamedTuple):
    """Counts of a relation from before a change, which have yet to catch up with it.

    epoch  the number of the epoch in the backlog that began after they were made
    """

    counts: PathCounts
    epoch: int


class PendingClusterCounts(NamedTuple):
    """The same for the counts of a relation in clusters."""

    counts: ClusterCounts
    epoch: int


class ReachPlan(NamedTuple):
    """What is counted, and how, to know what the paths of some relations reach.

    relations   sorted
    labels      (pairs,)  the relation of each path type in use
    places      (pairs,)  its place among the path types of the relation
    types       (pairs,)  the path type
    max_widths  (pairs,)  how wide a step of it may be
    ways        (pairs,)  whether it is walked, or its inverse (see `Counting.ways_to_walk`)
    starts      (k,)      the entities that paths are followed from: those that have one of the
                          relations, and where a path type is walked for its inverse, too, all
    """

    relations: list[int]
    labels: Ids
    places: Counts
    types: Counts
    max_widths: Counts
    ways: Counts
    starts: Ids


class PathStatistics:
    """The counts of one state of a graph: over everyone, and in each cluster.

    Several threads may use it at once. Finished counts never change, and one thread counts while
    the others wait for it; but nobody waits for what is counted of a large graph in advance.
    """

    def __init__(
        self, graph: Graph, clusters: Callable[[], Ids], settings: Settings
    ) -> None:
        check_room(graph, settings.max_length)
        self.graph = graph
        self.settings = settings
        self.counted: dict[int, PathCounts] = {}  # over everyone
        self._clusters = clusters  # of each entity; made when first needed
        self._clustered: dict[int, ClusterCounts] = {}
        self._with_samples: dict[int, ClusterCounts] = {}
        self._samples: SampledPaths | None = None
        self._hits: KnownHits | None = None
        self._is_large = is_large(graph)
        self._own_hits: dict[int, OwnHits] = {}  # of a large graph
        # Likewise; until everything is counted.
        self._partial: dict[int, PartialCounts] = {}
        self._pending: dict[int, PendingCounts] = {}
        self._pending_clusters: dict[int, PendingClusterCounts] = {}
        self._backlog = Backlog()
        # What changed since an epoch began.
        self._since: dict[int, tuple[Graph, Change]] = {}
        self._clusters_since: dict[int, ClusterChanges] = {}  # the same for clusters
        self._counting = RLock()

    def everyone(self, relation: int) -> PathCounts:
        """The counts of a relation over all entities that have it."""
        found = self.counted.get(relation)
        if found is None:
            self._count_everyone([relation], quiet)
            found = self.counted[relation]
        return found

    def around(self, relation: int, entities: Ids) -> PathCounts:
        """The counts of a relation, as far as questions about these entities depend on them.

        In a large graph, what a path type reaches may not be counted yet, and is 0, if the path
        type leads nowhere from the entities (see `partial_counts`).
        """
        known = self.counted.get(relation)
        if known is not None:
            return known
        partial = None
        if self._is_large and len(entities) <= FEW_ENTITIES:
            partial = self._partial_counts(relation)
        if partial is None:
            return self.everyone(relation)

        types = partial.counts.types
        is_needed = may_lead_somewhere(
            self.graph, entities, types, self.settings.max_length
        )
        if (is_needed & partial.is_missing).any():
            return self._count_more(relation, is_needed, quiet)
        return partial.counts

    def is_counted_around(self, relation: int, entities: Ids) -> bool:
        """Whether not all, but everything is counted that questions about these entities need."""
        partial = self._partial.get(relation)
        if partial is None or not 0 < len(entities) <= FEW_ENTITIES:
            return False
        missing = partial.counts.types[partial.is_missing]
        max_length = self.settings.max_length
        return not may_lead_somewhere(self.graph, entities, missing, max_length).any()

    def has_all_lengths(self, relation: int) -> bool:
        """Whether paths of all lengths are counted for a relation."""
        return self.longest_of(relation) == self.settings.max_length

    def clustered(self, relation: int) -> ClusterCounts:
        """The counts of a relation in each cluster; the rows of `EVERYONE` come first."""
        counted = (
            self._clustered
            if self.settings.sampled_walks is None
            else self._with_samples
        )
        found = counted.get(relation)
        if found is None:
            self._count_clusters([relation], quiet)
            found = counted[relation]
        return found

    def closed_path_types(self, relation: int, entities: Ids) -> ClusterCounts:
        """P_n(e, r) (§2.1): what leads each entity to its answers; each is a cluster of its own.

        If the settings sample paths, only what was sampled.
        """
        if self.settings.sampled_walks is not None:
            return self._sampled(quiet).of_relation(relation).as_counts(entities)
        own_cluster = np.arange(len(self.graph.entities), dtype=np.int32)
        longest = self.longest_of(relation)
        counting = Counting(self.graph, self.settings)
        clusters, _, types, hits = counting.hits(
            [relation], entities, own_cluster, longest
        )
        return ClusterCounts(clusters, types, hits, tries=np.zeros_like(hits))

    def hits_of(self, relation: int) -> TypeHits:
        """The path types that lead to answers of a relation, sorted, and how often they do."""
        if self._is_large:
            own = self._own_hits_of(relation)
            return own.types, own.hits
        return self._known_hits().of_relation(relation)

    def longest_of(self, relation: int) -> int:
        """The length up to which paths are counted for a relation."""
        if not self._is_large:
            return self._known_hits().longest
        own = self._own_hits_of(relation)
        if own.longest == UNKNOWN_LENGTH:
            with self._counting:
                own = with_length(self.graph, relation, self.settings, own)
                self._own_hits[relation] = own
        return own.longest

    def hits_in(self, cluster: int, relation: int) -> TypeHits:
        """The same for the entities of a cluster, or for `EVERYONE`."""
        if cluster == EVERYONE:
            return self.hits_of(relation)
        counts = self.clustered(relation)
        rows = counts.of(cluster)
        return counts.types[rows], counts.hits[rows]

    def hits(self, cluster: int, relation: int, path_type: Sequence[int]) -> int:
        """How often paths of this type led entities of the cluster to an answer; 0 if never."""
        return self._of_type(self.hits_in(cluster, relation), path_type)

    def prior_hits_in(self, cluster: int, relation: int) -> TypeHits:
        """The counts behind the prior of path types: hits, or sampled paths."""
        if self.settings.sampled_walks is None:
            return self.hits_in(cluster, relation)
        counts = self.clustered(relation)
        rows = counts.of(cluster)
        return counts.types[rows], counts.for_prior[rows]

    def prior_hits(self, cluster: int, relation: int, path_type: Sequence[int]) -> int:
        """The same for one path type."""
        return self._of_type(self.prior_hits_in(cluster, relation), path_type)

    def tries(self, cluster: int, relation: int, path_type: Sequence[int]) -> int:
        """How many walks of this type leave the entities of the cluster that have the relation."""
        clusters = np.array([cluster], dtype=np.int32)
        relations = np.array([relation], dtype=np.int32)
        types = np.array([packed(path_type, self.settings.max_length)])
        counting = Counting(self.graph, self.settings)
        return int(counting.tries(clusters, relations, types, self._clusters())[0])

    def exact(self, relation: int) -> bool:
        """Whether nothing was left out of what is counted for a relation."""
        return self.has_all_lengths(relation) and self.everyone(relation).exact

    def prepare(self, relations: Iterable[int], show: Show = quiet) -> None:
        """Count in advance what questions about these relations need."""
        relations = sorted(set(relations))
        if self._is_large:
            self._count_beside_questions(relations, show)
        self._count_everyone(relations, show)
        if self.settings.weight == "prior":
            self._count_clusters(relations, show)

    @property
    def longest(self) -> int | None:
        """The length up to which paths are counted; none while nothing is counted.

        In a large graph, where each relation has its own, the most that any can have, and none
        while some relation is not counted.
        """
        if self._is_large:
            is_counted = len(self._own_hits) == self.graph.directions > 0
            return self.settings.max_length if is_counted else None
        return None if self._hits is None else self._hits.longest

    @property
    def headroom(self) -> int:
        """Steps that may still come before there could be too many to count."""
        return 0 if self._hits is None else self._hits.headroom

    def restore(
        self,
        longest: int,
        headroom: int,
        hits: Mapping[int, TypeHits],
        counted: Mapping[int, PathCounts],
    ) -> None:
        """Take counts that were made of the same graph and settings, here or elsewhere."""
        if self._is_large:
            for relation in range(self.graph.directions):
                types, its_hits = hits.get(relation, NO_HITS)
                self._own_hits[relation] = OwnHits(types, its_hits, UNKNOWN_LENGTH)
        else:
            self._hits = KnownHits.of_relations(hits, longest, headroom)
        self.counted.update(counted)

    def restore_hits(self, counted: Hits) -> None:
        """Take the hits of all relations, to which all entities have contributed.

        Of a large graph they must be complete, however much work that was (see `shards`).
        """
        if not self._is_large:
            self._hits = KnownHits.of(counted, self.settings)
            return
        if (counted.work == TOO_MANY).any():
            problem = (
                "the graph takes too much work to be counted as a whole; ask it instead"
            )
            raise CasegraphError(
                f"{problem}, which counts one relation after the other"
            )
        for relation in range(self.graph.directions):
            rows = rows_with(relation, counted.relations)
            types = counted.types[rows]
            hits = counted.hits[rows]
            own = limited_hits(self.graph, relation, self.settings, types, hits)
            self._own_hits[relation] = own

    def reach_plan(self, relations: list[int]) -> ReachPlan:
        """What is to be counted to know what the paths of relations reach.

        The path types of all relations are laid side by side, to be counted in one call.
        """
        relations = sorted(relations)
        places: list[Counts] = []
        types: list[Counts] = []
        limits: list[Counts] = []
        counting = Counting(self.graph, self.settings)
        for relation in relations:
            own_types, hits = self.hits_of(relation)
            is_used = in_use(self.settings, relation, own_types, hits)
            places.append(np.flatnonzero(is_used))
            types.append(own_types[is_used])
            widths = counting.max_widths(relation, types[-1])
            limits.append(
                np.full(len(types[-1]), UNLIMITED) if widths is None else widths
            )

        sizes = [len(own_types) for own_types in types]
        labels = np.repeat(np.array(relations, dtype=np.int32), sizes)
        all_types = joined(types)
        max_widths = joined(limits)
        ways = counting.ways_to_walk(labels, all_types, max_widths)
        first_step, *_ = steps(all_types, self.settings.max_length)
        first_of_both_ways = np.unique(first_step[ways == BOTH_WAYS]).tolist()
        starts = having(self.graph, [*relations, *first_of_both_ways])
        return ReachPlan(
            relations, labels, joined(places), all_types, max_widths, ways, starts
        )

    def reach_of(
        self, plan: ReachPlan, entities: Ids, show: Show = quiet
    ) -> dict[int, PathCounts]:
        """The counts of relations, where only paths from these entities contribute.

        entities  some of the starts of the plan; the counts are right when those of all are added
        """
        is_limited = bool((plan.max_widths < UNLIMITED).any())
        counting = Counting(self.graph, self.settings, show)
        reach = counting.reach(
            plan.labels,
            plan.types,
            entities,
            max_widths=plan.max_widths if is_limited else None,
            ways=plan.ways,
        )
        found: dict[int, PathCounts] = {}
        for relation in plan.relations:
            found[relation] = PathCounts.of_hits(*self.hits_of(relation))
            rows = rows_with(relation, plan.labels)
            found[relation].put_reach(plan.places[rows], reach.of(rows))
        return found

    def after(
        self, change: Change, graph: Graph, clusters: Callable[[], Ids]
    ) -> tuple[PathStatistics, ChangedHits]:
        """The statistics of the graph after a change, and what the change did to hits (§2.3 (c)).

        graph     the graph after the change
        clusters  makes the cluster of each of its entities

        Hits follow the change at once, the other counts when they are next asked for. Everything is
        counted from scratch if something was left out to bound the work, or might have to be.
        """
        later = PathStatistics(graph, clusters, self.settings)
        if self._is_large or later._is_large:
            has_counts = self._hits is not None or bool(self._own_hits)
            return later, ChangedHits.unknown(from_scratch=has_counts)
        known = self._hits
        if known is None:
            return later, ChangedHits.unknown(from_scratch=False)
        if known.longest < self.settings.max_length:
            return later, ChangedHits.unknown(from_scratch=True)
        changed = changed_hits(self.graph, graph, change, self.settings.max_length)
        hits = known.after(changed, edges=len(change))
        if hits.is_room_left and hits.are_estimates_old(self.settings):
            hits = hits.with_room_of(later._hits_from_scratch(quiet))
        if not hits.is_room_left or hits.longest < self.settings.max_length:
            return later, replace(changed, from_scratch=True)
        later._hits = hits
        later._carry_over(self, change, changed.entities)
        return later, changed

    def _carry_over(
        self, earlier: PathStatistics, change: Change, entities: Ids
    ) -> None:
        """Take over the counts of the state before a change, to catch up when they are asked for.

        Another thread may be counting in the earlier state. It makes pending counts into finished
        counts, so the pending ones are read first: then none is missed.
        """
        pending = earlier._pending.copy()
        pending_clusters = earlier._pending_clusters.copy()
        counted = earlier.counted.copy()
        clustered = earlier._clustered.copy()
        exact = {
            relation: counts for relation, counts in counted.items() if counts.exact
        }

        baseline = None
        if exact or clustered:
            clusters_before = earlier._clusters() if clustered else None
            baseline = Baseline(earlier.graph.copy(), clusters_before)
        backlog = earlier._backlog.after(change, entities, baseline)

        for relation, counts in exact.items():
            pending[relation] = PendingCounts(counts, backlog.newest)
        for relation, cluster_counts in clustered.items():
            pending_clusters[relation] = PendingClusterCounts(
                cluster_counts, backlog.newest
            )

        self._backlog = backlog
        self._pending = {
            relation: counts
            for relation, counts in pending.items()
            if backlog.holds(counts.epoch)
        }
        self._pending_clusters = {
            relation: counts
            for relation, counts in pending_clusters.items()
            if backlog.holds(counts.epoch)
            and backlog.baseline(counts.epoch) is not None
        }

    def with_tuning(self, settings: Settings) -> PathStatistics:
        """The same counts, which both share, with settings that differ in `tuning` only."""
        same = copy(self)
        same.settings = settings
        return same

    def is_kept(self, relation: int) -> bool:
        """Whether counts of a relation are known, of this state or an earlier one."""
        return relation in self.counted or relation in self._pending

    def _of_type(self, hits_of_types: TypeHits, path_type: Sequence[int]) -> int:
        """The hits of one of several path types; 0 if it is not among them."""
        types, hits = hits_of_types
        number = packed(path_type, self.settings.max_length)
        place = int(np.searchsorted(types, number))
        is_found = place < len(types) and types[place] == number
        return int(hits[place]) if is_found else 0

    def _sampled(self, show: Show) -> SampledPaths:
        """The paths that were sampled, for all relations."""
        with self._counting:
            if self._samples is None:
                settings = self.settings
                walks = settings.sampled_walks or 0
                random = np.random.default_rng(settings.sampling_seed)
                self._samples = sampled_paths(
                    self.graph, settings.max_length, walks, random, show
                )
            return self._samples

    def _own_hits_of(self, relation: int, show: Show = quiet) -> OwnHits:
        """The hits of one relation of a large graph."""
        found = self._own_hits.get(relation)
        if found is not None:
            return found
        with self._counting:
            if relation not in self._own_hits:
                counted = own_hits(self.graph, relation, self.settings, show)
                self._own_hits[relation] = counted
            return self._own_hits[relation]

    def _find_hits(self, relations: list[int], show: Show) -> None:
        """Count the hits of these relations, or, unless the graph is large, of all."""
        if self._is_large:
            for relation in relations:
                self._own_hits_of(relation, show)
        else:
            self._known_hits(show)

    def _known_hits(self, show: Show = quiet) -> KnownHits:
        if self._hits is not None:
            return self._hits
        with self._counting:
            if self._hits is None:
                self._hits = self._hits_from_scratch(show)
            return self._hits

    def _hits_from_scratch(self, show: Show) -> KnownHits:
        everyone = np.arange(len(self.graph.entities), dtype=np.int32)
        counted = Counting(self.graph, self.settings, show).cycles(everyone)
        return KnownHits.of(counted, self.settings)

    def _count_everyone(self, relations: list[int], show: Show) -> None:
        with self._counting:
            missing = [
                relation for relation in relations if relation not in self.counted
            ]
            if not missing:
                return
            self._find_hits(missing, show)
            self._catch_up(missing)
            self._complete_partial_counts(missing, show)
            missing = [relation for relation in missing if relation not in self.counted]
            if missing:
                plan = self.reach_plan(missing)
                self.counted.update(self.reach_of(plan, plan.starts, show))

    def _count_beside_questions(self, relations: list[int], show: Show) -> None:
        """Count relations of a large graph while other threads may count, too.

        That takes so long that questions do not wait for it: what they need meanwhile, they count
        themselves, although it is then counted twice.
        """
        missing = [relation for relation in relations if relation not in self.counted]
        if not missing:
            return
        for relation in missing:
            if relation not in self._own_hits:
                found = own_hits(self.graph, relation, self.settings, show)
                self._own_hits.setdefault(relation, found)
        plan = self.reach_plan(missing)
        counted = self.reach_of(plan, plan.starts, show)
        with self._counting:
            for relation in missing:
                self.counted.setdefault(relation, counted[relation])
                self._partial.pop(relation, None)

    def _partial_counts(self, relation: int) -> PartialCounts | None:
        """What is counted so far of a relation of a large graph.

        None if the relation is not counted path type by path type: the settings do not use what
        path types reach, or everything is counted already, or everything would take too much (then
        what to leave out is chosen by looking at all path types together).
        """
        if self.settings.weight != "right":
            return None
        found = self._partial.get(relation)
        if found is not None:
            return found
        with self._counting:
            if relation not in self._partial and relation not in self.counted:
                types, hits = self.hits_of(relation)
                is_used = in_use(self.settings, relation, types, hits)
                counting = Counting(self.graph, self.settings)
                if counting.max_widths(relation, types[is_used]) is not None:
                    return None
                self._partial[relation] = PartialCounts.of_hits(types, hits, is_used)
            return self._partial.get(relation)

    def _count_more(self, relation: int, is_needed: Flags, show: Show) -> PathCounts:
        """Count what some path types of a relation reach, unless they are counted already.

        is_needed  (types,)  which path types
        """
        with self._counting:
            if relation in self.counted:
                return self.counted[relation]
            before = self._partial[relation]
            places = np.flatnonzero(is_needed & before.is_missing)
            entities = self.graph.edges(relation).heads
            counting = Counting(self.graph, self.settings, show)
            reach = counting.reach(relation, before.counts.types[places], entities)
            partial = before.with_reach(places, reach)
            if partial.is_missing.any():
                self._partial[relation] = partial
            else:
                self.counted[relation] = partial.counts
                del self._partial[relation]
            return partial.counts

    def _complete_partial_counts(self, relations: list[int], show: Show) -> None:
        """Count the rest of those relations of which only some path types are counted."""
        for relation in relations:
            partial = self._partial.get(relation)
            if partial is not None:
                self._count_more(relation, partial.is_missing, show)

    def _catch_up(self, relations: list[int]) -> None:
        """Bring the pending counts of these relations up to date."""
        counting = Counting(self.graph, self.settings)
        for relation in relations:
            pending = self._pending.get(relation)
            if pending is None:
                continue
            types, hits = self.hits_of(relation)
            types_in_use = types[in_use(self.settings, relation, types, hits)]
            if counting.max_widths(relation, types_in_use) is not None:
                continue  # too much now: what to skip is chosen when counting from scratch
            outdated = OutdatedCounts(
                pending.counts, *self._changes_since(pending.epoch)
            )
            self.counted[relation] = updated_counts(
                outdated, relation, counting, (types, hits)
            )

    def _changes_since(self, epoch: int) -> tuple[Graph, Change]:
        """The graph when an epoch began, and the net change since."""
        if epoch not in self._since:
            change = self._backlog.change_since(epoch)
            baseline = self._backlog.baseline(epoch)
            graph = self.graph.before(change) if baseline is None else baseline.graph
            self._since[epoch] = (graph, change)
        return self._since[epoch]

    def _count_clusters(self, relations: list[int], show: Show) -> None:
        with self._counting:
            missing = [
                relation for relation in relations if relation not in self._clustered
            ]
            self._count_everyone(missing, show)
            counting = Counting(self.graph, self.settings, show)
            self._catch_up_in_clusters(missing, counting)
            missing = [
                relation for relation in missing if relation not in self._clustered
            ]
            if missing:
                self._find_hits(missing, show)
                by_length = sorted(missing, key=self.longest_of)
                for longest, alike in groupby(by_length, key=self.longest_of):
                    self._count_clusters_from_scratch(list(alike), counting, longest)
            if self.settings.sampled_walks is not None:
                self._add_samples(relations, show)

    def _add_samples(self, relations: list[int], show: Show) -> None:
        """Add the numbers of sampled paths to the counts of path types."""
        samples = self._sampled(show)
        for relation in relations:
            if relation not in self._with_samples:
                counts = self._clustered[relation]
                own = samples.of_relation(relation)
                self._with_samples[relation] = with_samples(
                    counts, own, self._clusters()
                )

    def _catch_up_in_clusters(self, relations: list[int], counting: Counting) -> None:
        """Bring the pending counts of these relations in clusters up to date.

        Nothing is done if counting from scratch takes less work: then paths of all these relations
        are counted together, from each entity once.
        """
        outdated: dict[int, OutdatedClusterCounts] = {}
        work = 0
        for relation in relations:
            pending = self._pending_clusters.get(relation)
            if pending is None:
                continue
            changes = self._cluster_changes_since(pending.epoch)
            if changes is None:
                continue
            outdated[relation] = OutdatedClusterCounts(pending.counts, changes)
            work += changes.work(relation, self.graph)

        work_from_scratch = len(having(self.graph, list(outdated)))
        if not outdated or work > work_from_scratch:
            return
        updated = updated_cluster_counts(
            outdated, counting, self._clusters(), self.counted
        )
        self._clustered.update(updated)

    def _cluster_changes_since(self, epoch: int) -> ClusterChanges | None:
        """What has changed for clusters since an epoch began; None if that is not known."""
        baseline = self._backlog.baseline(epoch)
        if baseline is None or baseline.clusters is None:
            return None
        if epoch not in self._clusters_since:
            with_other_hits = self._backlog.entities_since(epoch)
            self._clusters_since[epoch] = ClusterChanges.between(
                baseline.graph, baseline.clusters, self._clusters(), with_other_hits
            )
        return self._clusters_since[epoch]

    def _count_clusters_from_scratch(
        self, relations: list[int], counting: Counting, longest: int
    ) -> None:
        """Count hits and tries of these relations in every cluster, `EVERYONE` included.

        Rows of all relations are counted together: cluster, relation (as a label), type and hits.
        """
        cluster_of = self._clusters()
        entities = having(self.graph, relations)
        columns = counting.hits(relations, entities, cluster_of, longest)
        is_inside = columns[0] != EVERYONE
        parts = [tuple(column[is_inside] for column in columns)]
        for relation in relations:
            everyone = self.counted[relation]
            size = len(everyone.types)
            own_cluster = np.full(size, EVERYONE, dtype=np.int32)
            own_label = np.full(size, relation, dtype=np.int32)
            parts.append((own_cluster, own_label, everyone.types, everyone.hits))

        clusters, labels, types, hits = columns_joined(parts)
        tries = counting.tries(clusters, labels, types, cluster_of)

        order = np.lexsort((types, clusters, labels))
        ordered_labels = labels[order]
        for relation in relations:
            rows = order[rows_with(relation, ordered_labels)]
            self._clustered[relation] = ClusterCounts(
                clusters[rows], types[rows], hits[rows], tries[rows]
            )
