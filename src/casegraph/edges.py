"""
The edges of one relation as three arrays, and as one sorted array of keys, which is how they are changed.

A key holds a head and a tail in one number, so that adding and retracting edges is inserting into and deleting from one
sorted array.
"""

from dataclasses import dataclass
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


def changed_keys(before: Counts, keys: Counts, *, add: bool) -> Counts:
    """Keys with others, or without; both are sorted, and none is there twice."""
    if not len(before):
        return keys
    places = np.searchsorted(before, keys)
    return np.insert(before, places, keys) if add else np.delete(before, places)


@dataclass(frozen=True, slots=True)
class Change:
    """What became different: the facts that came and went, as rows (head, relation, tail) of ids."""

    added: Ids
    retracted: Ids
    repeated: int
    absent: int

    def __len__(self) -> int:
        return len(self.added) + len(self.retracted)

    def then(self, other: "Change") -> "Change":
        """One change of two: this one, and another after it."""
        return Change(
            np.concatenate([self.added, other.added]), np.concatenate([self.retracted, other.retracted]),
            self.repeated + other.repeated, self.absent + other.absent,
        )  # fmt: skip

    @property
    def entities(self) -> Ids:
        """The entities whose edges changed, sorted."""
        return np.unique(np.concatenate([self.added[:, [0, 2]].ravel(), self.retracted[:, [0, 2]].ravel()]))

    @property
    def relations(self) -> Ids:
        """The relations whose edges changed, both directions, sorted."""
        changed = np.unique(np.concatenate([self.added[:, 1], self.retracted[:, 1]]))
        return np.concatenate([changed, changed + 1]).reshape(2, -1).T.ravel()
