"""
The counts behind the prior and the precision of path types (§2.2.3, equations 2 and 3).

    hits     loop-free paths of a type from an entity that has the relation to one of its answers
    tries    walks of the type from those entities, wherever they end
    reached  distinct ends of loop-free paths of the type from each of those entities
    right    how many of these ends are answers; both also for ends with an open slot only

Only integers are stored, summed over the entities of a cluster or over everyone; ratios are
computed when needed (see `answering.weights`). A `PathStatistics` belongs to one state of the
graph.

Counts are made when a relation is first asked about, and kept. Hits are counted for all relations
at once (`hits`), or in a large graph for one relation at a time (`own_hits`).

After a change, hits are brought up to date at once. All other counts are carried to the next state
together with a log of the changes (`backlog`), and catch up (`incremental`) when their relation is
next asked about. In a large graph, everything is counted from scratch.
"""

from __future__ import annotations

from copy import copy
from itertools import groupby
from threading import RLock
from typing import TYPE_CHECKING

import numpy as np

from casegraph.graph.arrays import rows_with
from casegraph.running import Show, quiet
from casegraph.similarity.clusters.assignment import EVERYONE
from casegraph.statistics.backlog import Backlog, Baseline, CountsByRelation
from casegraph.statistics.cluster_updates import (
    ClusterChanges,
    OutdatedClusterCounts,
    updated_cluster_counts,
)
from casegraph.statistics.counts import (
    ClusterCounts,
    Counting,
    Hits,
    PathCounts,
    TypeHits,
    having,
    in_use,
)
from casegraph.statistics.hits import hits_after, hits_of_graph
from casegraph.statistics.incremental import (
    ChangedHits,
    OutdatedCounts,
    updated_counts,
)
from casegraph.statistics.own_hits import HitsApart
from casegraph.statistics.path_types import check_room, packed
from casegraph.statistics.reach_plan import ReachPlan
from casegraph.statistics.sampling import SampledPaths, sampled_paths, with_samples
from casegraph.statistics.sums import columns_joined

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from casegraph.graph.arrays import Ids
    from casegraph.graph.change import Change
    from casegraph.graph.graph import Graph
    from casegraph.settings import Settings


class PathStatistics:
    """The counts of one state of a graph: over everyone, and in each cluster.

    Several threads may use it at once. Finished counts never change, and one thread counts while
    the others wait for it, except that nobody waits for a large graph to be counted in advance.
    """

    def __init__(
        self, graph: Graph, clusters: Callable[[], Ids], settings: Settings
    ) -> None:
        check_room(graph, settings.max_length)
        self.graph = graph
        self.settings = settings
        self._clusters = clusters  # of each entity; computed when first needed
        self._hits = hits_of_graph(graph, settings)
        self._everyone = CountsByRelation[PathCounts]()
        self._in_clusters = CountsByRelation[ClusterCounts]()
        self._samples: SampledPaths | None = None
        self._backlog = Backlog()
        # By the number of an epoch: what has changed since it began.
        self._since: dict[int, tuple[Graph, Change]] = {}
        self._clusters_since: dict[int, ClusterChanges] = {}
        self._counting = RLock()

    def everyone(self, relation: int) -> PathCounts:
        """The counts of a relation over all entities that have it."""
        found = self._everyone.get(relation)
        if found is None:
            self._count_everyone([relation], quiet)
            found = self._everyone[relation]
        return found

    def clustered(self, relation: int) -> ClusterCounts:
        """The counts of a relation in each cluster; the rows of `EVERYONE` come first."""
        found = self._in_clusters.get(relation)
        if found is None:
            self._count_clusters([relation], quiet)
            found = self._in_clusters[relation]
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
        return self._hits.of_relation(relation)

    def longest_of(self, relation: int) -> int:
        """The length up to which paths are counted for a relation."""
        return self._hits.longest_of(relation)

    def exact(self, relation: int) -> bool:
        """Whether nothing was skipped in the counts of a relation."""
        has_all_lengths = self.longest_of(relation) == self.settings.max_length
        return has_all_lengths and self.everyone(relation).exact

    def hits(self, cluster: int, relation: int, path_type: Sequence[int]) -> int:
        """How often paths of this type led entities of the cluster to an answer; 0 if never."""
        if cluster == EVERYONE:
            return self._of_type(self.hits_of(relation), path_type)
        counts = self.clustered(relation)
        rows = counts.of(cluster)
        return self._of_type((counts.types[rows], counts.hits[rows]), path_type)

    def prior_hits_in(self, cluster: int, relation: int) -> TypeHits:
        """The counts behind the prior of path types: hits, or sampled paths."""
        if cluster == EVERYONE and self.settings.sampled_walks is None:
            return self.hits_of(relation)
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

    def _of_type(self, hits_of_types: TypeHits, path_type: Sequence[int]) -> int:
        types, hits = hits_of_types
        number = packed(path_type, self.settings.max_length)
        place = int(np.searchsorted(types, number))
        is_found = place < len(types) and types[place] == number
        return int(hits[place]) if is_found else 0

    @property
    def counted(self) -> dict[int, PathCounts]:
        """The counts over everyone, by relation, of the relations counted so far."""
        return self._everyone.current()

    @property
    def longest(self) -> int | None:
        """The length up to which paths are counted; None while nothing is counted.

        In a large graph, where each relation has its own, the most that any can have, and None
        while some relation is not counted.
        """
        return self._hits.longest

    @property
    def headroom(self) -> int:
        """Steps that may still come before there could be too many to count."""
        return self._hits.headroom

    def is_kept(self, relation: int) -> bool:
        """Whether counts of a relation are known, of this state or an earlier one."""
        return relation in self._everyone

    def prepare(self, relations: Iterable[int], show: Show = quiet) -> None:
        """Count in advance what questions about these relations need."""
        relations = sorted(set(relations))
        if isinstance(self._hits, HitsApart):
            self._count_beside_questions(relations, show)
        self._count_everyone(relations, show)
        if self.settings.weight == "prior":
            self._count_clusters(relations, show)

    def restore(
        self,
        longest: int,
        headroom: int,
        hits: Mapping[int, TypeHits],
        counted: Mapping[int, PathCounts],
    ) -> None:
        """Take counts that were made of the same graph and settings, here or elsewhere."""
        self._hits.restore(longest, headroom, hits)
        self._everyone.update(counted)

    def restore_hits(self, counted: Hits) -> None:
        """Take the hits of all relations, to which all entities have contributed."""
        self._hits.restore_cycles(counted)

    def after(
        self, change: Change, graph: Graph, clusters: Callable[[], Ids]
    ) -> tuple[PathStatistics, ChangedHits]:
        """The statistics of the graph after a change, and what the change did to hits (§2.3 (c)).

        graph     the graph after the change
        clusters  gives the cluster of each of its entities

        Hits follow the change at once, the other counts when they are next asked for. Everything is
        counted from scratch if something was skipped to bound the work, or might have to be.
        """
        later = PathStatistics(graph, clusters, self.settings)
        later._hits, changed = hits_after(self._hits, change, graph)
        if not later._hits.is_begun:
            return later, changed  # nothing could follow the change

        # What another thread finishes counting after this is not carried over.
        everyone = self._everyone.kept(lambda counts: counts.exact)
        in_clusters = self._in_clusters.kept(lambda _: True)
        baseline = None
        if everyone.has_current or in_clusters.has_current:
            clusters_now = self._clusters() if in_clusters.has_current else None
            baseline = Baseline(self.graph.copy(), clusters_now)
        backlog = self._backlog.after(change, changed.entities, baseline)
        later._backlog = backlog
        later._everyone = everyone.before(backlog.newest, backlog.numbers)
        later._in_clusters = in_clusters.before(backlog.newest, backlog.with_baseline)
        return later, changed

    def with_tuning(self, settings: Settings) -> PathStatistics:
        """The same counts, which both share, with settings that differ in `tuning` only."""
        same = copy(self)
        same.settings = settings
        return same

    def _count_everyone(self, relations: list[int], show: Show) -> None:
        with self._counting:
            missing = self._everyone.missing(relations)
            if not missing:
                return
            self._hits.count(missing, show)
            self._catch_up(missing)
            missing = self._everyone.missing(missing)
            if missing:
                self._everyone.update(self._counted_from_scratch(missing, show))

    def _count_beside_questions(self, relations: list[int], show: Show) -> None:
        """Count relations of a large graph while other threads may count, too.

        That takes so long that questions do not wait for it: they count the relations that they
        need meanwhile themselves, which are then counted twice.
        """
        missing = self._everyone.missing(relations)
        if missing:
            self._hits.count(missing, show)
            counted = self._counted_from_scratch(missing, show)
            with self._counting:
                still_missing = self._everyone.missing(missing)
                self._everyone.update(
                    {relation: counted[relation] for relation in still_missing}
                )

    def _counted_from_scratch(
        self, relations: list[int], show: Show
    ) -> dict[int, PathCounts]:
        counting = Counting(self.graph, self.settings, show)
        hits = {relation: self.hits_of(relation) for relation in relations}
        plan = ReachPlan.from_hits(hits, counting)
        return plan.counts(counting, plan.starts)

    def _catch_up(self, relations: list[int]) -> None:
        """Bring the outdated counts of these relations up to date."""
        counting = Counting(self.graph, self.settings)
        for relation in relations:
            outdated = self._everyone.outdated(relation)
            if outdated is None:
                continue
            types, hits = self.hits_of(relation)
            types_in_use = types[in_use(self.settings, relation, types, hits)]
            if counting.max_widths(relation, types_in_use) is not None:
                continue  # too much now: what to skip is chosen when counting from scratch
            before = OutdatedCounts(
                outdated.counts, *self._changes_since(outdated.epoch)
            )
            counts = updated_counts(before, relation, counting, (types, hits))
            self._everyone.update({relation: counts})

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
            missing = self._in_clusters.missing(relations)
            if not missing:
                return
            self._count_everyone(missing, show)
            counting = Counting(self.graph, self.settings, show)
            found = self._caught_up_in_clusters(missing, counting)
            uncounted = [relation for relation in missing if relation not in found]
            by_length = sorted(uncounted, key=self.longest_of)
            for longest, alike in groupby(by_length, key=self.longest_of):
                found |= self._clusters_from_scratch(list(alike), counting, longest)
            if self.settings.sampled_walks is not None:
                found = self._with_samples(found, show)
            self._in_clusters.update(found)

    def _caught_up_in_clusters(
        self, relations: list[int], counting: Counting
    ) -> dict[int, ClusterCounts]:
        """The outdated counts of these relations in clusters, brought up to date.

        Nothing if counting from scratch takes less work: then all these relations are counted
        together, and paths are followed from each entity once.
        """
        outdated: dict[int, OutdatedClusterCounts] = {}
        work = 0
        for relation in relations:
            known = self._in_clusters.outdated(relation)
            if known is None:
                continue
            changes = self._cluster_changes_since(known.epoch)
            if changes is not None:
                outdated[relation] = OutdatedClusterCounts(known.counts, changes)
                work += changes.work(relation, self.graph)

        work_from_scratch = len(having(self.graph, list(outdated)))
        if not outdated or work > work_from_scratch:
            return {}
        everyone = self._everyone.current()
        return updated_cluster_counts(outdated, counting, self._clusters(), everyone)

    def _cluster_changes_since(self, epoch: int) -> ClusterChanges | None:
        """What has changed for clusters since an epoch began; None if that is not known."""
        if epoch not in self._clusters_since:
            baseline = self._backlog.baseline(epoch)
            if baseline is None or baseline.clusters is None:
                return None
            self._clusters_since[epoch] = ClusterChanges.between(
                baseline.graph,
                baseline.clusters,
                self._clusters(),
                self._backlog.entities_since(epoch),
            )
        return self._clusters_since[epoch]

    def _clusters_from_scratch(
        self, relations: list[int], counting: Counting, longest: int
    ) -> dict[int, ClusterCounts]:
        """Hits and tries of these relations in every cluster, `EVERYONE` included.

        Rows of all relations are counted together: cluster, relation (as a label), type and hits.
        """
        cluster_of = self._clusters()
        entities = having(self.graph, relations)
        columns = counting.hits(relations, entities, cluster_of, longest)
        is_inside = columns[0] != EVERYONE
        parts = [tuple(column[is_inside] for column in columns)]
        for relation in relations:
            everyone = self._everyone[relation]
            size = len(everyone.types)
            own_cluster = np.full(size, EVERYONE, dtype=np.int32)
            own_label = np.full(size, relation, dtype=np.int32)
            parts.append((own_cluster, own_label, everyone.types, everyone.hits))

        clusters, labels, types, hits = columns_joined(parts)
        tries = counting.tries(clusters, labels, types, cluster_of)

        order = np.lexsort((types, clusters, labels))
        ordered_labels = labels[order]
        found: dict[int, ClusterCounts] = {}
        for relation in relations:
            rows = order[rows_with(relation, ordered_labels)]
            found[relation] = ClusterCounts(
                clusters[rows], types[rows], hits[rows], tries[rows]
            )
        return found

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

    def _with_samples(
        self, counts: Mapping[int, ClusterCounts], show: Show
    ) -> dict[int, ClusterCounts]:
        """The counts of relations, with how often each path type was sampled."""
        samples = self._sampled(show)
        found: dict[int, ClusterCounts] = {}
        for relation, own in counts.items():
            sampled = samples.of_relation(relation)
            found[relation] = with_samples(own, sampled, self._clusters())
        return found
