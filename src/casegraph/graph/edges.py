"""
The edges of one direction of a relation, in two forms: as `Edges` and as keys.

`Edges` groups tails by head (compressed sparse rows), which is how edges are read. A key is one
64-bit number that holds a head and a tail, which is how edges are changed: adding and retracting
edges is inserting numbers into a sorted array and deleting them.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from casegraph import kernels
from casegraph.graph.arrays import Counts, Flags, Ids, ids, is_run_start, run_bounds


class Edges(NamedTuple):
    """The edges of one direction of a relation, grouped by head.

    heads    (rows,)      the entities that have edges, sorted
    offsets  (rows + 1,)  where the tails of each head begin
    tails    (edges,)     the tails of `heads[i]`, sorted, are `tails[offsets[i] : offsets[i + 1]]`
    """

    heads: Ids
    offsets: Ids
    tails: Ids

    def head_of_each(self) -> Ids:
        """The head of each edge, parallel to `tails`."""
        return np.repeat(self.heads, np.diff(self.offsets))


# A key in so many is few: then each is inserted. Otherwise all are merged.
FEW_ADDED = 64

NO_EDGES = Edges(heads=ids(), offsets=np.zeros(1, dtype=np.int32), tails=ids())


def key(heads: Ids, tails: Ids) -> Counts:
    """The key of each edge: the head in the upper 32 bits, the tail in the lower 32."""
    return (heads.astype(np.int64) << 32) | tails


def heads_of(keys: Counts) -> Ids:
    """The head in each key."""
    return (keys >> 32).astype(np.int32)


def tails_of(keys: Counts) -> Ids:
    """The tail in each key."""
    return (keys & 0xFFFFFFFF).astype(np.int32)


def reversed_keys(keys: Counts) -> Counts:
    """The key of (tail, head), for each key of (head, tail)."""
    return (keys << 32) | (keys >> 32)


def sorted_reversed_keys(keys: Counts) -> Counts:
    """The key of (tail, head), for each key of (head, tail); both arrays are sorted."""
    # Of those with the same tail, the heads are in order already.
    return kernels.keys_by_head(reversed_keys(keys))


def keys_of(edges: Edges) -> Counts:
    """The key of each edge, sorted."""
    return key(edges.head_of_each(), edges.tails)


def edges_from_keys(keys: Counts) -> Edges:
    """The edges with these keys, which must be sorted and distinct."""
    heads = heads_of(keys)
    row_starts = np.flatnonzero(is_run_start(heads))
    offsets = np.append(row_starts, len(keys)).astype(np.int32)
    return Edges(heads[row_starts], offsets, tails_of(keys))


def edges_by_direction(directions: Ids, keys: Counts) -> Iterator[tuple[int, Edges]]:
    """The edges of several directions, from one list of all their edges.

    directions  (edges,)  the direction of each edge, in any order
    keys        (edges,)  the key of each edge; no pair of a direction and a key occurs twice

    Yields each direction with its edges. Sorting all edges together and slicing takes a tenth of
    the time that `edges_from_keys` takes for each of many small relations.
    """
    order = np.lexsort((keys, directions))
    directions = directions[order]
    keys = keys[order]
    heads = heads_of(keys)
    tails = tails_of(keys)

    is_row_start = is_run_start(directions) | is_run_start(heads)
    row_starts = np.flatnonzero(is_row_start).astype(np.int32)
    edge_bounds = run_bounds(directions)
    row_bounds = np.searchsorted(row_starts, edge_bounds).tolist()

    for (first_edge, end_edge), (first_row, end_row) in zip(
        pairwise(edge_bounds), pairwise(row_bounds), strict=True
    ):
        own_row_starts = row_starts[first_row:end_row]
        offsets = np.empty(len(own_row_starts) + 1, dtype=np.int32)
        offsets[:-1] = own_row_starts - np.int32(first_edge)
        offsets[-1] = end_edge - first_edge
        own_tails = tails[first_edge:end_edge].copy()
        yield (
            int(directions[first_edge]),
            Edges(heads[own_row_starts], offsets, own_tails),
        )


def is_among(keys: Counts, others: Counts) -> Flags:
    """Whether each key is one of `others`, which are sorted."""
    if not len(others):
        return np.zeros(len(keys), dtype=np.bool)
    places = np.searchsorted(others, keys)
    places = np.minimum(places, len(others) - 1)
    found: Flags = others[places] == keys
    return found


def with_keys(keys: Counts, added: Counts) -> Counts:
    """The union of two sorted, disjoint arrays of keys, sorted."""
    if not len(keys):
        return added
    if len(added) * FEW_ADDED < len(keys):
        places = np.searchsorted(keys, added)
        return np.insert(keys, places, added)
    union = np.concatenate([keys, added])
    # A merge sort, which merges two sorted parts in linear time.
    union.sort(kind="stable")
    return union


def without_keys(keys: Counts, removed: Counts) -> Counts:
    """The keys except for those removed, all of which are among them; both arrays are sorted."""
    places = np.searchsorted(keys, removed)
    return np.delete(keys, places)
