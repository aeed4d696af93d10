"""
What a change does to counts that are known (§2.3 (c)), exactly.

Hits change by the cycles of up to n + 1 edges that a changed edge closes or opens (appendix A.4): these are found
around the edge and added or subtracted, one edge after the other. Reached and right change for an entity and a path
type only if a walk of the type from the entity crosses a changed edge, which is found by walking back from the edge;
and for entities whose own answers changed. What these contributed is taken away as it was and added as it is, when the
query relation is next asked about.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from casegraph import kernels
from casegraph.arrays import Counts, Ids
from casegraph.edges import Change, key, sorted_unique
from casegraph.graph import Graph

Flags = np.ndarray[tuple[int], np.dtype[np.bool]]
InUse = Callable[[int, Counts, Counts], Flags]  # relation, types, hits -> which are path types in use


class Reach(Protocol):
    """What path types reach from these entities (or, of each, only some), and how much of it is right."""

    def __call__(  # noqa: D102
        self, graph: Graph, entities: Ids, relation: int, types: Counts, *, only: tuple[Counts, Ids] | None = None
    ) -> tuple[Counts, Counts]: ...


@dataclass(frozen=True, slots=True)
class PathCounts:
    """The path types of one relation, sorted, with what was counted for each; parallel arrays.

    reached and right are counted for the path types in use: those with enough hits, other than the relation itself.
    """

    types: Counts
    hits: Counts
    reached: Counts
    right: Counts


@dataclass(frozen=True, slots=True)
class Stale:
    """Counts as they were on an earlier graph, what changed since, and by how much hits did: (types, how many)."""

    counts: PathCounts
    graph: Graph
    max_length: int
    changes: tuple[Change, ...] = ()
    hits: tuple[tuple[Counts, Counts], ...] = ()

    def after(self, change: Change, hits: tuple[Counts, Counts] | None) -> "Stale":
        """After one more change, which alters the hits of these path types."""
        return replace(self, changes=(*self.changes, change), hits=self.hits if hits is None else (*self.hits, hits))


@dataclass(frozen=True, slots=True)
class ChangedHits:
    """For each relation the path types whose hits a change alters, and by how much; the entities whose they are."""

    of: dict[int, tuple[Counts, Counts]]
    entities: Ids
    cycles: int


def changed_hits(before: Graph, after: Graph, change: Change, max_length: int) -> ChangedHits:
    """What the cycles through changed edges do to hits."""
    found, entities, cycles = list[tuple[Ids, Counts, Counts]](), [np.empty(0, np.int32)], 0
    for row, sign, present in _one_by_one(before, after, change):
        relations, types, hits, on_cycles, more = kernels.cycles_through(present.kernel, *row, max_length)
        found.append((relations, types, sign * hits))
        entities.append(on_cycles)
        cycles += more
    return ChangedHits(_by_relation(found), np.unique(np.concatenate(entities)), cycles)


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
    present = before
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


def refreshed(stale: Stale, relation: int, graph: Graph, in_use: InUse, reach: Reach) -> PathCounts:
    """The counts of a relation on `graph`, from those it had before.

    A path type that is new in use, or affected for most entities, is counted again.
    """
    before, heads = stale.counts, graph.edges(relation).heads
    types, hits = _summed([(before.types, before.hits), *stale.hits])
    counts = PathCounts(types, hits, np.zeros_like(hits), np.zeros_like(hits))
    used = in_use(relation, types, hits)
    was_used = np.isin(types, before.types[in_use(relation, before.types, before.hits)], assume_unique=True)
    known, new = np.flatnonzero(used & was_used), np.flatnonzero(used & ~was_used)
    places = np.searchsorted(before.types, types[known])
    counts.reached[known], counts.right[known] = before.reached[places], before.right[places]
    entities, place = _affected(stale, relation, graph, types[known])
    often = 2 * np.bincount(place, minlength=len(known)) > len(heads)
    again = np.concatenate([known[often], new])
    counts.reached[again], counts.right[again] = reach(graph, heads, relation, types[again])
    entities, place = entities[~often[place]], place[~often[place]]
    for state, sign in ((stale.graph, -1), (graph, 1)):
        whose, offsets = np.unique(entities, return_index=True)
        only = np.append(offsets, len(entities)), place
        reached, right = reach(state, whose, relation, types[known], only=only)
        counts.reached[known] += sign * reached
        counts.right[known] += sign * right
    return counts


def _affected(stale: Stale, relation: int, graph: Graph, types: Counts) -> tuple[Ids, Ids]:
    """Entities, sorted, and path types (their places), for which what is reached, or is right, may be different."""
    gone, came = _net(stale.changes)
    keys = [np.empty(0, dtype=np.int64)]
    for state, rows in ((stale.graph, gone), (graph, came)):
        heads, relations, tails = (column.copy() for column in rows.T)
        crossing = kernels.passing(state.kernel, heads, relations, tails, relation, types, stale.max_length)
        keys.append(key(*crossing))
        own = np.unique(rows[rows[:, 1] == relation & ~1, 2 * (relation & 1)])
        keys.append(key(np.repeat(own, len(types)), np.tile(np.arange(len(types), dtype=np.int32), len(own))))
    pairs = sorted_unique(np.concatenate(keys))
    return (pairs >> 32).astype(np.int32), pairs.astype(np.int32)


def _net(changes: tuple[Change, ...]) -> tuple[Ids, Ids]:
    """The rows that several changes, one after the other, took away and put there in the end."""
    rows = np.concatenate([part for change in changes for part in (change.retracted, change.added)])
    signs = np.repeat(
        [-1, 1] * len(changes), [len(part) for change in changes for part in (change.retracted, change.added)]
    )
    distinct, place = np.unique(rows, axis=0, return_inverse=True)
    balance = np.bincount(place, weights=signs, minlength=len(distinct))
    return distinct[balance < 0], distinct[balance > 0]


def _summed(parts: list[tuple[Counts, Counts]]) -> tuple[Counts, Counts]:
    """Distinct path types, sorted, and the sum of what each has; those that have nothing left are gone."""
    types, place = np.unique(np.concatenate([part[0] for part in parts]), return_inverse=True)
    hits = np.zeros(len(types), dtype=np.int64)
    np.add.at(hits, place, np.concatenate([part[1] for part in parts]))
    return types[hits > 0], hits[hits > 0]
