"""
What a change does to counts that are known (§2.3 (c)), exactly.

Hits change by the cycles of up to n + 1 edges that a changed edge closes or opens (appendix A.4): these are found
around the edge and added or subtracted, one edge after the other. Reached and right change for path types that follow
a changed relation, and there only for entities near a changed edge; and for entities whose own answers changed. What
these entities contributed is taken away as it was and added as it is, when the query relation is next asked about.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from casegraph import kernels
from casegraph.arrays import Counts, Ids
from casegraph.edges import Change, keys_of
from casegraph.graph import Graph
from casegraph.paths import follows

Flags = np.ndarray[tuple[int], np.dtype[np.bool]]
InUse = Callable[[int, Counts, Counts], Flags]  # relation, types, hits -> which are path types in use
Reach = Callable[[Graph, Ids, int, Counts], tuple[Counts, Counts]]  # graph, entities, relation, types -> reached, right


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
    """Counts as they were on an earlier graph, and the hits that came and went since: (types, how many), unordered."""

    counts: PathCounts
    graph: Graph
    max_length: int
    changes: tuple[tuple[Counts, Counts], ...] = ()


def changed_hits(before: Graph, after: Graph, change: Change, max_length: int) -> dict[int, tuple[Counts, Counts]]:
    """For each relation the path types whose hits a change alters, and by how much."""
    found = [
        (relations, types, sign * hits)
        for row, sign, present in _one_by_one(before, after, change)
        for relations, types, hits in [kernels.cycles_through(present.kernel, *row, max_length)]
    ]
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
    """The counts of a relation on `graph`, from those it had before."""
    before, n, changed = stale.counts, stale.max_length, graph.changed_since(stale.graph)
    types, hits = _summed([(before.types, before.hits), *stale.changes])
    counts = PathCounts(types, hits, np.zeros_like(hits), np.zeros_like(hits))
    used, was_used = (
        in_use(relation, types, hits),
        np.isin(types, before.types[in_use(relation, before.types, before.hits)]),
    )
    known = np.flatnonzero(used & was_used)
    places = np.searchsorted(before.types, types[known])
    counts.reached[known], counts.right[known] = before.reached[places], before.right[places]
    affected = follows(types[known], changed, n)
    edges = [changed_edges(stale.graph, graph, 2 * k) for k in changed]
    near = _near(
        stale.graph, graph, np.unique(np.concatenate([np.empty(0, np.int32), *(pair.ravel() for pair in edges)])), n - 1
    )
    _correct(counts, known[affected], near, (stale.graph, graph), relation, reach)
    if relation >> 1 in changed:
        own = np.unique(changed_edges(stale.graph, graph, relation)[:, 0])
        _correct(counts, known[~affected], own, (stale.graph, graph), relation, reach)
    new = np.flatnonzero(used & ~was_used)
    counts.reached[new], counts.right[new] = reach(graph, graph.edges(relation).heads, relation, types[new])
    return counts


def _correct(
    counts: PathCounts, rows: Counts, entities: Ids, states: tuple[Graph, Graph], relation: int, reach: Reach
) -> None:
    """Take away what these entities contributed to the rows before, and add what they contribute now.

    Where they are most of those that have the relation, the rows are counted again instead.
    """
    before, after = states
    heads = after.edges(relation).heads
    if not len(rows):
        return
    if 2 * len(np.intersect1d(entities, heads, assume_unique=True)) > len(heads):
        counts.reached[rows], counts.right[rows] = reach(after, heads, relation, counts.types[rows])
        return
    for state, sign in ((before, -1), (after, 1)):
        whose = np.intersect1d(entities, state.edges(relation).heads, assume_unique=True)
        reached, right = reach(state, whose, relation, counts.types[rows])
        counts.reached[rows] += sign * reached
        counts.right[rows] += sign * right


def _near(before: Graph, after: Graph, entities: Ids, steps: int) -> Ids:
    """The entities from which a path could come to one of these within so many steps, on either graph."""
    return np.union1d(kernels.around(before.kernel, entities, steps), kernels.around(after.kernel, entities, steps))


def changed_edges(before: Graph, after: Graph, relation: int) -> Ids:
    """The edges of a relation that only one of two states has, as rows (head, tail)."""
    keys = [keys_of(graph.edges(relation)) for graph in (before, after) if relation < graph.directions]
    other = np.setxor1d(keys[0], keys[1], assume_unique=True) if len(keys) == 2 else keys[0]
    return np.stack([other >> 32, other & 0xFFFFFFFF], axis=1).astype(np.int32)


def _summed(parts: list[tuple[Counts, Counts]]) -> tuple[Counts, Counts]:
    """Distinct path types, sorted, and the sum of what each has; those that have nothing left are gone."""
    types, place = np.unique(np.concatenate([part[0] for part in parts]), return_inverse=True)
    hits = np.zeros(len(types), dtype=np.int64)
    np.add.at(hits, place, np.concatenate([part[1] for part in parts]))
    return types[hits > 0], hits[hits > 0]
