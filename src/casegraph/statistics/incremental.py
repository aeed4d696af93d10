"""
What a change does to counts that are known (§2.3 (c)); the result is exactly what a recount gives.

*Hits.* A path from an entity to its answer and the edge between the two are a cycle of up to
n + 1 edges. So a changed edge alters hits only through the cycles that it closes or opens (appendix
A.4). These are found around the edge, and added or subtracted, one edge after the other.

*Reached and right.* What an entity reaches by a path type changes only if a walk of this type from
the entity crosses a changed edge, and then only as to the ends of such walks. From the edge, the
kernel walks back to the starts or on to the ends, whichever is less work. Besides, `right` changes
for the entities whose own answers changed, and the slot of an end opens or is taken when its first
or second asker comes or goes. What these starts and ends contributed is counted on
the graph before and subtracted, counted on the graph after and added.

*Counts of clusters.* Hits are counted again for entities that moved to another cluster, or whose
hits changed; tries for path types that follow a changed relation, and in clusters that changed. A
caller compares this work (`ClusterChanges.work`) with that of counting from scratch.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from casegraph import kernels
from casegraph.graph.arrays import Counts, Flags, Ids, ids
from casegraph.graph.change import Change
from casegraph.graph.directions import inverse, is_inverse, relation_of
from casegraph.graph.edges import is_among, key
from casegraph.graph.graph import Graph
from casegraph.similarity.clusters.assignment import EVERYONE, with_newcomers
from casegraph.statistics.counts import (
    MOST_HALVES,
    TOO_MANY,
    ClusterCounts,
    Counting,
    PathCounts,
    in_use,
)
from casegraph.statistics.path_types import follows
from casegraph.statistics.sums import columns_joined, grouped

TypeHits = tuple[Counts, Counts]  # path types, and how often each leads to an answer


@dataclass(frozen=True, slots=True)
class ChangedHits:
    """What a change does to hits.

    by_relation  for each relation the path types whose hits change, and by how much
    entities     the entities whose hits change, sorted
    cycles       cycles through changed edges: the work done
    more_cycles  how many more cycles there are than before
    from_scratch whether all hits are to be counted from scratch instead
    """

    by_relation: dict[int, TypeHits]
    entities: Ids
    cycles: int
    more_cycles: int = 0
    from_scratch: bool = False

    @classmethod
    def unknown(cls, *, from_scratch: bool) -> "ChangedHits":
        """No hits were known before, or they are not followed."""
        return cls(by_relation={}, entities=ids(), cycles=0, from_scratch=from_scratch)


class ChangedEdge(NamedTuple):
    """A changed edge as ids, 1 if it is new or -1 if it is gone, and a graph that contains it."""

    edge: tuple[int, int, int]
    sign: int
    graph: Graph


def changed_hits(
    before: Graph, after: Graph, change: Change, max_length: int
) -> ChangedHits:
    """What cycles through changed edges do to hits (appendix A.4); all lengths must be counted."""
    parts: list[tuple[Ids, Counts, Counts]] = []
    entities = [ids()]
    cycles = 0
    more_cycles = 0
    for edge, sign, graph in _edge_by_edge(before, after, change):
        relations, types, hits, on_cycles, found, _ = kernels.cycles_through(
            graph.kernel, *edge, max_length, max_length, MOST_HALVES
        )
        if found == TOO_MANY:
            return ChangedHits.unknown(from_scratch=True)
        parts.append((relations, types, sign * hits))
        entities.append(on_cycles)
        cycles += found
        more_cycles += sign * found
    return ChangedHits(
        by_relation=_by_relation(parts),
        entities=np.unique(np.concatenate(entities)),
        cycles=cycles,
        more_cycles=more_cycles,
    )


def _edge_by_edge(before: Graph, after: Graph, change: Change) -> Iterator[ChangedEdge]:
    """Apply a change one edge at a time: first those that go, then those that come.

    A cycle may cross several changed edges. One at a time, it is opened by the first that goes and
    closed by the last that comes, so it is counted once.
    """
    rows = [(row, -1) for row in change.retracted]
    rows += [(row, 1) for row in change.added]
    present = before.with_names_of(after)
    for number, (row, sign) in enumerate(rows, start=1):
        is_last = number == len(rows)
        following = after if is_last else _with_edge_changed(present, row, sign)
        head, relation, tail = row.tolist()
        with_edge = following if sign > 0 else present
        yield ChangedEdge((head, relation, tail), sign, with_edge)
        present = following


def _with_edge_changed(graph: Graph, row: Ids, sign: int) -> Graph:
    changed = graph.copy()
    changed.apply(row[None, :], add=sign > 0)
    return changed


def _by_relation(parts: list[tuple[Ids, Counts, Counts]]) -> dict[int, TypeHits]:
    """Rows (relation, type, hits) by relation; a type may occur several times."""
    if not parts:
        return {}
    relations, types, hits = columns_joined(parts)
    groups = grouped(relations)
    # Nothing is before the first.
    _, *rows_of_groups = np.split(groups.order, groups.starts)
    labels = groups.keys(relations).tolist()
    return {
        relation: (types[rows], hits[rows])
        for relation, rows in zip(labels, rows_of_groups, strict=True)
    }


def hits_added_up(parts: Sequence[TypeHits]) -> TypeHits:
    """Distinct path types, sorted, and the sum of their hits; those without hits are dropped."""
    types, hits = columns_joined(parts)
    groups = grouped(types)
    total = groups.sums(hits)
    has_hits = total > 0
    return groups.keys(types)[has_hits], total[has_hits]


class OutdatedCounts(NamedTuple):
    """The counts of a relation on an earlier graph, and what has changed since."""

    counts: PathCounts
    graph: Graph
    change: Change


def updated_counts(
    outdated: OutdatedCounts, relation: int, now: Counting, hits_now: TypeHits
) -> PathCounts:
    """The counts of a relation on the graph as it is now, from those on the graph before.

    hits_now  the path types of the relation and their hits, which are up to date already

    A path type is counted from scratch if it was not in use, if it is affected for most entities,
    or where counting from all of them at once takes less than from those that are affected.
    """
    before = outdated.counts
    types, hits = hits_now
    was_in_use = in_use(now.settings, relation, before.types, before.hits)
    was_used = is_among(types, before.types[was_in_use])
    is_used = in_use(now.settings, relation, types, hits)
    known = np.flatnonzero(is_used & was_used)
    new = np.flatnonzero(is_used & ~was_used)

    starts, ends = _affected_endpoints(outdated, relation, now, types[known])
    has_same_hits = types is before.types and hits is before.hits
    if has_same_hits and not len(starts.entities) and not len(ends.entities):
        return before

    counts = PathCounts.of_hits(types, hits)
    places_before = np.searchsorted(before.types, types[known])
    counts.put_reach(known, before.reach_of(places_before))

    heads = now.graph.edges(relation).heads
    affected_places = np.append(starts.places, ends.places)
    affected = np.bincount(affected_places, minlength=len(known))
    is_affected_for_most = 2 * affected > len(heads)
    is_from_scratch = is_affected_for_most | now.is_dearer(
        types[known], heads, affected
    )
    from_scratch = np.concatenate([known[is_from_scratch], new])
    if len(from_scratch):
        reach = now.reach(relation, types[from_scratch], heads)
        counts.put_reach(from_scratch, reach)
        starts = starts.without(is_from_scratch)
        ends = ends.without(is_from_scratch)

    then = Counting(outdated.graph, now.settings)
    for counting, sign in ((then, -1), (now, 1)):
        reach = counting.reach_around(relation, types[known], starts, ends)
        counts.add_reach(known, reach, sign)
    return counts


class EntityTypePairs(NamedTuple):
    """Pairs of an entity and a path type, sorted by entity, no pair twice; parallel arrays.

    entities  (pairs,)
    places    (pairs,)  the place of the path type in an array of path types
    """

    entities: Ids
    places: Ids

    @classmethod
    def of_keys(cls, keys: Iterable[Counts]) -> "EntityTypePairs":
        """All these pairs, each given as a key."""
        nothing = np.empty(0, dtype=np.int64)
        pairs = kernels.distinct_keys(np.concatenate([nothing, *keys]))
        entities = (pairs >> 32).astype(np.int32)
        places = pairs.astype(np.int32)
        return cls(entities, places)

    def without(self, excluded: Flags) -> "EntityTypePairs":
        """The pairs whose path type is not excluded."""
        is_kept = ~excluded[self.places]
        return EntityTypePairs(self.entities[is_kept], self.places[is_kept])


def _affected_endpoints(
    outdated: OutdatedCounts, relation: int, now: Counting, types: Counts
) -> tuple[EntityTypePairs, EntityTypePairs]:
    """The starts and the ends of paths that may have come or gone.

    Entities whose own answers changed are starts of every path type, and entities whose slot opened
    or was taken are ends of every path type.
    """
    before = outdated.graph
    after = now.graph
    change = outdated.change
    starts: list[Counts] = []
    ends: list[Counts] = []
    for graph, rows in ((before, change.retracted), (after, change.added)):
        if len(rows):
            heads, relations, tails = (column.copy() for column in rows.T)
            start_entities, start_places, end_entities, end_places = (
                kernels.affected_endpoints(
                    graph.kernel,
                    heads,
                    relations,
                    tails,
                    relation,
                    types,
                    now.settings.max_length,
                )
            )
            starts.append(key(start_entities, start_places))
            ends.append(key(end_entities, end_places))

    of_relation = _changed_edges_of(change, relation)
    if len(of_relation):
        with_other_answers = np.unique(of_relation[:, 0])
        starts.append(_with_every_place(with_other_answers, len(types)))
        tails = np.unique(of_relation[:, 1])
        with_other_slots = _entities_with_other_slots(before, after, relation, tails)
        ends.append(_with_every_place(with_other_slots, len(types)))
    return EntityTypePairs.of_keys(starts), EntityTypePairs.of_keys(ends)


def _changed_edges_of(change: Change, relation: int) -> Ids:
    """The head and the tail of each changed edge of a relation, in the direction given."""
    rows = np.concatenate([change.retracted, change.added])
    is_of_relation = relation_of(rows[:, 1]) == relation_of(relation)
    head_and_tail = [2, 0] if is_inverse(relation) else [0, 2]
    edges: Ids = rows[is_of_relation][:, head_and_tail]
    return edges


def _with_every_place(entities: Ids, places: int) -> Counts:
    """The keys of the pairs of these entities with each of so many path types."""
    every_place = np.arange(places, dtype=np.int32)
    entity_of_pair = np.repeat(entities, places)
    place_of_pair = np.tile(every_place, len(entities))
    return key(entity_of_pair, place_of_pair)


def _entities_with_other_slots(
    before: Graph, after: Graph, relation: int, entities: Ids
) -> Ids:
    """The entities for which it changed whether they have no asker, only one, or several.

    The slot of an end is open if it has no asker, or if its only asker is the start of the path.
    """
    askers = inverse(relation)
    changed = []
    for entity in entities.tolist():
        asked_before = len(before.answers(entity, askers))
        asked_after = len(after.answers(entity, askers))
        if min(asked_before, 2) != min(asked_after, 2):
            changed.append(entity)
    return ids(changed)


class ClusterChanges(NamedTuple):
    """What has changed for clusters since an earlier graph.

    graph      the earlier graph
    clusters   (entities,)  the cluster of each entity then; `EVERYONE` if it came later
    moved      entities that are in another cluster now, sorted
    recounted  entities that moved, or whose hits changed, sorted
    """

    graph: Graph
    clusters: Ids
    moved: Ids
    recounted: Ids

    @classmethod
    def between(
        cls, graph: Graph, clusters_then: Ids, clusters_now: Ids, with_other_hits: Ids
    ) -> "ClusterChanges":
        """What has changed, by the clusters then and now, and by whose hits changed."""
        clusters = with_newcomers(clusters_then, len(clusters_now))
        moved = np.flatnonzero(clusters != clusters_now).astype(np.int32)
        return cls(graph, clusters, moved, np.union1d(with_other_hits, moved))

    def work(self, relation: int, now: Graph) -> int:
        """From how many entities `updated_cluster_counts` counts paths: then, and again now."""
        recounted_then = self.recounted_of(relation, self.graph)
        recounted_now = self.recounted_of(relation, now)
        return len(recounted_then) + len(recounted_now)

    def recounted_of(self, relation: int, graph: Graph) -> Ids:
        """The entities whose paths to answers of a relation are counted again on a graph."""
        heads = graph.edges(relation).heads
        return np.intersect1d(self.recounted, heads, assume_unique=True)


class OutdatedClusterCounts(NamedTuple):
    """The counts of a relation in clusters on an earlier graph, and what has changed since."""

    counts: ClusterCounts
    changes: ClusterChanges


def updated_cluster_counts(
    outdated: Mapping[int, OutdatedClusterCounts],
    now: Counting,
    clusters: Ids,
    everyone: Mapping[int, PathCounts],
) -> dict[int, ClusterCounts]:
    """The counts of some relations in each cluster now, from those before.

    outdated  by relation, the counts before
    clusters  (entities,)  the cluster of each entity now
    everyone  by relation, the counts over all entities, which are up to date already

    Tries are counted for all relations in one call, since their path types share endings.
    """
    found: dict[int, ClusterCounts] = {}
    questions: list[tuple[Ids, Ids, Counts]] = [
        (ids(), ids(), np.empty(0, dtype=np.int64))
    ]
    places: list[Counts] = []  # the rows of each relation whose tries are counted again
    for relation, before in outdated.items():
        counts, is_again = _with_known_tries(
            before, relation, now, clusters, everyone[relation]
        )
        found[relation] = counts
        again = np.flatnonzero(is_again)
        places.append(again)
        labels = np.full(len(again), relation, dtype=np.int32)
        questions.append((counts.clusters[again], labels, counts.types[again]))

    asked_clusters, asked_relations, asked_types = columns_joined(questions)
    tries = now.tries(asked_clusters, asked_relations, asked_types, clusters)
    start = 0
    for counts, again in zip(found.values(), places, strict=True):
        counts.tries[again] = tries[start : start + len(again)]
        start += len(again)
    return found


def _with_known_tries(
    outdated: OutdatedClusterCounts,
    relation: int,
    now: Counting,
    clusters: Ids,
    everyone: PathCounts,
) -> tuple[ClusterCounts, Flags]:
    """The counts of a relation now, with the tries of before, and whether each must be recounted.

    Tries change with the relations that a path type follows, with the entities of a cluster, and
    with those that have the relation.
    """
    labels, types, hits = _cluster_hits_now(outdated, relation, now, clusters)
    labels = np.concatenate(
        [np.full(len(everyone.types), EVERYONE, dtype=np.int32), labels]
    )
    types = np.concatenate([everyone.types, types])
    hits = np.concatenate([everyone.hits, hits])

    tries, is_known = _tries_before(outdated.counts, labels, types)
    changes = outdated.changes
    changed_relations = now.graph.changed_since(changes.graph)
    changed_clusters = np.append(
        changes.clusters[changes.moved], clusters[changes.moved]
    )
    follows_change = follows(types, changed_relations, now.settings.max_length)
    is_in_changed_cluster = np.isin(labels, changed_clusters) & (labels != EVERYONE)
    answers_changed = relation_of(relation) in changed_relations
    is_again = ~is_known | follows_change | is_in_changed_cluster | answers_changed
    return ClusterCounts(labels, types, hits, tries), is_again


def _cluster_hits_now(
    outdated: OutdatedClusterCounts, relation: int, now: Counting, clusters: Ids
) -> tuple[Ids, Counts, Counts]:
    """Cluster, path type and hits, sorted, without `EVERYONE`.

    Those before, corrected for the entities that moved or whose hits changed.
    """
    counts, changes = outdated
    inside = slice(counts.of(EVERYONE).stop, None)
    parts = [(counts.clusters[inside], counts.types[inside], counts.hits[inside])]

    then = Counting(changes.graph, now.settings)
    for counting, cluster_of, sign in (
        (then, changes.clusters, -1),
        (now, clusters, 1),
    ):
        entities = changes.recounted_of(relation, counting.graph)
        labels, _, types, hits = counting.hits(
            [relation], entities, cluster_of, longest=now.settings.max_length
        )
        is_inside = labels != EVERYONE
        parts.append((labels[is_inside], types[is_inside], sign * hits[is_inside]))

    labels, types, hits = columns_joined(parts)
    groups = grouped(labels, types)
    total = groups.sums(hits)
    has_hits = total > 0
    return groups.keys(labels)[has_hits], groups.keys(types)[has_hits], total[has_hits]


def _tries_before(
    counts: ClusterCounts, clusters: Ids, types: Counts
) -> tuple[Counts, Flags]:
    """What tries were for each pair of cluster and path type, and whether they were known.

    A merge join: both lists of pairs are sorted as one, stably, so a known pair comes right before
    the same pair asked for.
    """
    both_clusters = np.concatenate([counts.clusters, clusters])
    both_types = np.concatenate([counts.types, types])
    order = np.lexsort((both_types, both_clusters))
    same_cluster = np.diff(both_clusters[order]) == 0
    same_type = np.diff(both_types[order]) == 0
    is_match = same_cluster & same_type
    known_rows = order[:-1][is_match]
    asked_rows = order[1:][is_match] - len(counts.types)

    tries = np.zeros(len(types), dtype=np.int64)
    is_known = np.zeros(len(types), dtype=np.bool)
    tries[asked_rows] = counts.tries[known_rows]
    is_known[asked_rows] = True
    return tries, is_known
