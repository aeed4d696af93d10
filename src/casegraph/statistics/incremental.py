"""
What a change does to counts that are known (§2.3 (c)); the result is exactly what a recount gives.

*Hits.* A path from an entity to its answer and the edge between the two are a cycle of up to
n + 1 edges. So a changed edge alters hits only through the cycles that it closes or opens (appendix
A.4). These are found around the edge, and added or subtracted, one edge after the other.

*Reached and right.* What an entity reaches by a path type changes only if a walk of this type from
the entity crosses a changed edge, and then only the ends of these walks matter. From the edge, the
kernel walks back to the starts or on to the ends, whichever is less work. In addition, `right`
changes for the entities whose own answers changed, and the slot of an end opens or is taken when
the number of its head entities changes between none, one and several. What these starts and ends
contributed is counted on the graph before and subtracted, counted on the graph after and added.

Counts in clusters follow in `cluster_updates`.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from casegraph import kernels
from casegraph.graph.arrays import Counts, Flags, Ids, ids
from casegraph.graph.change import Change
from casegraph.graph.directions import inverse, is_inverse, relation_of
from casegraph.graph.edges import is_among, key
from casegraph.graph.graph import Graph
from casegraph.statistics.counts import (
    MAX_HALVES,
    TOO_MANY,
    Counting,
    PathCounts,
    TypeHits,
    in_use,
)
from casegraph.statistics.sums import columns_joined, grouped


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
            graph.kernel, *edge, max_length, max_length, MAX_HALVES
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
    # The first piece is empty: no row is before the first group.
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

    places_before = np.searchsorted(before.types, types[known])
    reach = before.reach_of(places_before)

    heads = now.graph.edges(relation).heads
    affected_places = np.append(starts.places, ends.places)
    affected = np.bincount(affected_places, minlength=len(known))
    is_affected_for_most = 2 * affected > len(heads)
    is_from_scratch = is_affected_for_most | now.is_dearer(
        types[known], heads, affected
    )
    from_scratch = np.concatenate([known[is_from_scratch], new])
    if len(from_scratch):
        starts = starts.without(is_from_scratch)
        ends = ends.without(is_from_scratch)
    then = Counting(outdated.graph, now.settings)
    for counting, sign in ((then, -1), (now, 1)):
        around = counting.reach_around(relation, types[known], starts, ends)
        reach = reach.plus(around, sign)

    counts = PathCounts.from_hits(types, hits).with_reach(known, reach)
    if not len(from_scratch):
        return counts
    reach_from_scratch = now.reach(relation, types[from_scratch], heads)
    return counts.with_reach(from_scratch, reach_from_scratch)


class EntityTypePairs(NamedTuple):
    """Pairs of an entity and a path type, sorted by entity, no pair twice; parallel arrays.

    entities  (pairs,)
    places    (pairs,)  the place of the path type in an array of path types
    """

    entities: Ids
    places: Ids

    @classmethod
    def from_keys(cls, keys: Iterable[Counts]) -> "EntityTypePairs":
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
    return EntityTypePairs.from_keys(starts), EntityTypePairs.from_keys(ends)


def _changed_edges_of(change: Change, relation: int) -> Ids:
    """The head and the tail of each changed edge of a relation, in the direction given."""
    rows = np.concatenate([change.retracted, change.added])
    is_of_relation = relation_of(rows[:, 1]) == relation_of(relation)
    head_and_tail = [2, 0] if is_inverse(relation) else [0, 2]
    edges: Ids = rows[is_of_relation][:, head_and_tail]
    return edges


def _with_every_place(entities: Ids, places: int) -> Counts:
    """The keys of the pairs of these entities with each of this many path types."""
    every_place = np.arange(places, dtype=np.int32)
    entity_of_pair = np.repeat(entities, places)
    place_of_pair = np.tile(every_place, len(entities))
    return key(entity_of_pair, place_of_pair)


def _entities_with_other_slots(
    before: Graph, after: Graph, relation: int, entities: Ids
) -> Ids:
    """The entities whose number of head entities changed between none, one and several.

    The slot of an end is open if no other entity than the start of the path has it as an answer.
    """
    to_heads = inverse(relation)
    changed = []
    for entity in entities.tolist():
        heads_before = len(before.answers(entity, to_heads))
        heads_after = len(after.answers(entity, to_heads))
        if min(heads_before, 2) != min(heads_after, 2):
            changed.append(entity)
    return ids(changed)
