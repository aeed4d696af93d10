"""
The edges of one relation as three arrays, and as one sorted array of keys, which is how they are changed.

A key holds a head and a tail in one number, so that adding and retracting edges is inserting into and deleting from one
sorted array.
"""

from typing import NamedTuple

import numpy as np

from casegraph.arrays import Counts, Ids


class Edges(NamedTuple):
    """The edges of one relation: row i holds the tails of `heads[i]`, sorted, from `offsets[i]` to `offsets[i + 1]`."""

    heads: Ids
    offsets: Ids
    tails: Ids


def key(heads: Ids, tails: Ids) -> Counts:
    """(head, tail) as one number, for each pair."""
    return (heads.astype(np.int64) << 32) | tails


def keys_of(edges: Edges) -> Counts:
    """The key of every edge, in order."""
    return key(np.repeat(edges.heads, np.diff(edges.offsets)), edges.tails)


def edges_of(keys: Counts) -> Edges:
    """The edges with these keys, sorted and distinct."""
    heads = (keys >> 32).astype(np.int32)
    first = np.flatnonzero(np.diff(heads, prepend=-1))
    offsets = np.append(first, len(keys)).astype(np.int32)
    return Edges(heads[first], offsets, (keys & 0xFFFFFFFF).astype(np.int32))


def sorted_unique(keys: Counts) -> Counts:
    """Keys in order, each once."""
    keys = np.sort(keys)
    return keys[np.flatnonzero(np.diff(keys, prepend=-1))]


def found_in(keys: Counts, among: Counts) -> np.ndarray[tuple[int], np.dtype[np.bool]]:
    """Which keys are among others; both are sorted."""
    places = np.searchsorted(among, keys)
    found: np.ndarray[tuple[int], np.dtype[np.bool]] = np.append(among, -1)[places] == keys
    return found
