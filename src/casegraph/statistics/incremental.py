"""
What a change does to counts that are known (§2.3 (c)), exactly.

Hits change by the cycles of up to n + 1 edges that a changed edge closes or opens (appendix A.4): these are found
around the edge and added or subtracted, one edge after the other. Reached and right change for an entity and a path
type only if a walk of the type from the entity crosses a changed edge, and then only as to the ends of such walks: from
the edge one walks back to the starts or on to the ends, whichever is shorter; and for entities whose own answers
changed. What these contributed is taken away as it was and added as it is, when the relation is next asked about.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from casegraph import kernels
from casegraph.graph.arrays import Counts, Ids
from casegraph.graph.change import Change
from casegraph.graph.edges import key, sorted_unique
from casegraph.graph.graph import Graph
from casegraph.similarity.clusters.assignment import EVERYONE
from casegraph.statistics.counts import ClusterCounts, Counting, Flags, Only, PathCounts, in_use
from casegraph.statistics.path_types import follows


class Stale(NamedTuple):
    """Counts as they were on an earlier graph, and what has changed since."""

    counts: PathCounts
    graph: Graph
    change: Change


@dataclass(frozen=True, slots=True)
class ChangedHits:
    """For each relation the path types whose hits a change alters, and by how much; the entities whose they are.

    anew  whether instead all hits are to be counted anew
    """

    of: dict[int, tuple[Counts, Counts]]
    entities: Ids
    cycles: int  # through changed edges
    more: int = 0  # cycles than before
    anew: bool = False

    @classmethod
    def none(cls, *, anew: bool) -> "ChangedHits":
        """Nothing is known to change."""
        return cls({}, np.empty(0, dtype=np.int32), cycles=0, anew=anew)


def changed_hits(before: Graph, after: Graph, change: Change, max_length: int) -> ChangedHits:
    """What the cycles through changed edges do to hits, if those of all lengths are counted."""
    found: list[tuple[Ids, Counts, Counts]] = []
    entities = [np.empty(0, np.int32)]
    cycles = 0
    more = 0
    for row, sign, present in _one_by_one(before, after, change):
        relations, types, hits, on_cycles, passed = kernels.cycles_through(present.kernel, *row, max_length, max_length)
        found.append((relations, types, sign * hits))
        entities.append(on_cycles)
        cycles += passed
        more += sign * passed
    return ChangedHits(_by_relation(found), np.unique(np.concatenate(entities)), cycles, more)


def _by_relation(found: list[tuple[Ids, Counts, Counts]]) -> dict[int, tuple[Counts, Counts]]:
    if not found:
        return {}
    relations, types, hits = (np.concatenate(column) for column in zip(*found, strict=True))
    order = np.argsort(relations, kind="stable")
    starts = np.flatnonzero(np.diff(relations[order], prepend=-1))
    parts = np.split(order, starts[1:])
    return {int(relations[part[0]]): (types[part], hits[part]) for part in parts if len(part)}


def _one_by_one(before: Graph, after: Graph, change: Change) -> Iterator[tuple[tuple[int, int, int], int, Graph]]:
    """Every changed edge, whether it comes or goes, and a graph that has it, with all edges before it changed."""
    rows = [(row, False) for row in change.retracted] + [(row, True) for row in change.added]
    present = before.with_names_of(after)
    for place, (row, comes) in enumerate(rows, start=1):
        following = after if place == len(rows) else _with(present, row, comes=comes)
        yield _ids(row), 1 if comes else -1, following if comes else present
        present = following


def _with(graph: Graph, row: Ids, *, comes: bool) -> Graph:
    changed = graph.copy()
    changed.apply(row[None, :], add=comes)
    return changed


def _ids(row: Ids) -> tuple[int, int, int]:
    head, relation, tail = row.tolist()
    return head, relation, tail


def refreshed(stale: Stale, relation: int, now: Counting, hits_now: tuple[Counts, Counts]) -> PathCounts:
    """The counts of a relation on the graph as it is now, from those it had before.

    A path type that is new in use, or affected for most entities, is counted again.
    """
    before, heads, (types, hits) = stale.counts, now.graph.edges(relation).heads, hits_now
    counts = PathCounts.of_hits(types, hits)
    used = in_use(now.settings, relation, types, hits)
    was_used = np.isin(types, before.types[in_use(now.settings, relation, before.types, before.hits)])
    known, new = np.flatnonzero(used & was_used), np.flatnonzero(used & ~was_used)
    places = np.searchsorted(before.types, types[known])
    counts.reached[known], counts.right[known] = before.reached[places], before.right[places]
    starts, ends = _affected(stale, relation, now, types[known])
    often = 2 * np.bincount(np.append(starts.place, ends.place), minlength=len(known)) > len(heads)
    again = np.concatenate([known[often], new])
    counts.reached[again], counts.right[again], _ = now.reach(relation, types[again], heads)
    starts, ends = starts.but(often), ends.but(often)
    for state, sign in ((Counting(stale.graph, now.settings), -1), (now, 1)):
        its_starts, its_ends = starts.known_to(state.graph), ends.known_to(state.graph)
        for reached, right in (
            state.reach(relation, types[known], *its_starts.grouped())[:2],
            state.reach_back(relation, types[known], *its_ends.grouped(), its_starts),
        ):
            counts.reached[known] += sign * reached
            counts.right[known] += sign * right
    return counts


class Pairs(NamedTuple):
    """Entities, sorted, each with a path type, by its place among several; no pair twice."""

    entities: Ids
    place: Ids

    @classmethod
    def of(cls, keys: list[Counts]) -> "Pairs":
        """All pairs, given as keys."""
        pairs = sorted_unique(np.concatenate(keys))
        return cls((pairs >> 32).astype(np.int32), pairs.astype(np.int32))

    def but(self, left_out: Flags) -> "Pairs":
        """Those whose path type is not left out."""
        kept = ~left_out[self.place]
        return Pairs(self.entities[kept], self.place[kept])

    def known_to(self, graph: Graph) -> "Pairs":
        """Those whose entity has a name in the graph; others came later."""
        last = int(np.searchsorted(self.entities, len(graph.entities)))
        return Pairs(self.entities[:last], self.place[:last])

    def grouped(self) -> tuple[Ids, Only]:
        """The entities, and which path types each has."""
        whose, first = np.unique(self.entities, return_index=True)
        return whose, (np.append(first, len(self.entities)), self.place)


def _affected(stale: Stale, relation: int, now: Counting, types: Counts) -> tuple[Pairs, Pairs]:
    """The starts and the ends of paths that may have come or gone, and starts whose own answers have changed."""
    gone, came = stale.change.retracted, stale.change.added
    starts, ends = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for state, rows in ((stale.graph, gone), (now.graph, came)):
        heads, relations, tails = (column.copy() for column in rows.T)
        found = kernels.crossing(state.kernel, heads, relations, tails, relation, types, now.settings.max_length)
        own = np.unique(rows[rows[:, 1] == relation & ~1, 2 * (relation & 1)])
        every = np.arange(len(types), dtype=np.int32)
        starts += [key(found[0], found[1]), key(np.repeat(own, len(types)), np.tile(every, len(own)))]
        ends.append(key(found[2], found[3]))
    return Pairs.of(starts), Pairs.of(ends)


def summed(parts: Sequence[tuple[Counts, Counts]]) -> tuple[Counts, Counts]:
    """Distinct path types, sorted, and the sum of what each has; those that have nothing left are gone."""
    types, place = np.unique(np.concatenate([part[0] for part in parts]), return_inverse=True)
    hits = np.zeros(len(types), dtype=np.int64)
    np.add.at(hits, place, np.concatenate([part[1] for part in parts]))
    return types[hits > 0], hits[hits > 0]


class StaleClusters(NamedTuple):
    """Counts of clusters as they were on an earlier graph with earlier clusters, and whose hits changed since."""

    counts: ClusterCounts
    graph: Graph
    clusters: Ids
    entities: Ids


def refreshed_clusters(
    stale: StaleClusters, relation: int, now: Counting, clusters: Ids, everyone: PathCounts
) -> ClusterCounts:
    """The counts of a relation in each cluster now, from those before.

    Hits are counted again for entities that moved, or are on a cycle with a changed edge; tries, for path types that
    follow a changed relation and for clusters that somebody left or joined, and for all if answers changed.
    """
    were = np.append(stale.clusters, np.full(len(clusters) - len(stale.clusters), EVERYONE, dtype=np.int32))
    moved = np.flatnonzero(were != clusters).astype(np.int32)
    whose = np.union1d(stale.entities, moved)
    inside = slice(stale.counts.of(EVERYONE).stop, None)
    parts = [(stale.counts.clusters[inside], stale.counts.types[inside], stale.counts.hits[inside])]
    for state, of, sign in ((Counting(stale.graph, now.settings), were, -1), (now, clusters, 1)):
        asked = np.intersect1d(whose, state.graph.edges(relation).heads, assume_unique=True)
        of_its_entities = of[: len(state.graph.entities)]
        cluster, _, types, hits = state.hits([relation], asked, of_its_entities, now.settings.max_length)
        parts.append((cluster[cluster != EVERYONE], types[cluster != EVERYONE], sign * hits[cluster != EVERYONE]))
    cluster, types, hits = _summed_by_cluster(parts)
    cluster = np.concatenate([np.full(len(everyone.types), EVERYONE, dtype=np.int32), cluster])
    types, hits = np.concatenate([everyone.types, types]), np.concatenate([everyone.hits, hits])
    changed = now.graph.changed_since(stale.graph)
    again = follows(types, changed, now.settings.max_length) | (relation >> 1 in changed)
    again |= np.isin(cluster, np.concatenate([were[moved], clusters[moved]])) & (cluster != EVERYONE)
    tries, known = _tries_before(stale.counts, cluster, types)
    again |= ~known
    labels = np.full(int(again.sum()), relation, dtype=np.int32)
    tries[again] = now.tries(cluster[again], labels, types[again], clusters)
    return ClusterCounts(cluster, types, hits, tries)


def _summed_by_cluster(parts: list[tuple[Ids, Counts, Counts]]) -> tuple[Ids, Counts, Counts]:
    """Distinct pairs of cluster and path type, sorted, with the sum of what each has, if that is not nothing."""
    cluster, types, hits = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((types, cluster))
    cluster, types, hits = cluster[order], types[order], hits[order]
    starts = np.flatnonzero((np.diff(cluster, prepend=-2) != 0) | (np.diff(types, prepend=-1) != 0))
    sums = np.add.reduceat(hits, starts) if len(starts) else hits
    return cluster[starts][sums > 0], types[starts][sums > 0], sums[sums > 0]


def _tries_before(counts: ClusterCounts, clusters: Ids, types: Counts) -> tuple[Counts, Flags]:
    """What tries were for each pair of cluster and path type, and whether it was known."""
    both = np.concatenate([counts.clusters, clusters]), np.concatenate([counts.types, types])
    order = np.lexsort((both[1], both[0]))  # of equal pairs the earlier one comes first
    follows_itself = (np.diff(both[0][order]) == 0) & (np.diff(both[1][order]) == 0)
    tries, known = np.zeros(len(types), dtype=np.int64), np.zeros(len(types), dtype=np.bool)
    places = order[1:][follows_itself] - len(counts.types)
    tries[places], known[places] = counts.tries[order[:-1][follows_itself]], True
    return tries, known
