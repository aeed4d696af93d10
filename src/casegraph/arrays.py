"""
Arrays of ids and counts, and the interner that turns names into ids.

Strings become integers once, on the way in. An id is for ever: it depends on the order of arrival, so nothing that a
user sees may depend on ids. Where an order is needed it is the order of names (`Interner.ranks`).
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import repeat

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int32]
Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def ids(values: Iterable[int] = ()) -> Ids:
    """An array of ids."""
    return np.fromiter(values, dtype=np.int32)


def joined(parts: Iterable[Counts]) -> Counts:
    """Arrays of counts one after the other; there may be none."""
    return np.concatenate([np.zeros(0, dtype=np.int64), *parts])


class Interner:
    """Gives each new name the next integer, for ever."""

    def __init__(self, names: Sequence[str] = ()) -> None:
        self._ids: dict[str, int] = {}
        self._names: list[str] = []
        self._sorted: list[str] = []
        self._ranks = ids()
        self.intern(names)

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, identity: int) -> str:
        return self._names[identity]

    def __contains__(self, name: str) -> bool:
        return name in self._ids

    @property
    def names(self) -> list[str]:
        """All names, by id; not to be changed."""
        return self._names

    def intern(self, names: Sequence[str]) -> Ids:
        """The id of each name, new or known."""
        known = self._ids
        found = np.fromiter(map(known.get, names, repeat(-1)), dtype=np.int32, count=len(names))
        for place in np.flatnonzero(found < 0).tolist():
            name = names[place]
            if name not in known:
                known[name] = len(self._names)
                self._names.append(name)
            found[place] = known[name]
        return found

    def find(self, name: str) -> int | None:
        """The id of a name, without adding it."""
        return self._ids.get(name)

    def forget_after(self, count: int) -> None:
        """Take back all names but the first `count`; only right while nobody has used their ids."""
        if len(self._sorted) > count:
            self._sorted, self._ranks = [], ids()
        for name in self._names[count:]:
            del self._ids[name]
        del self._names[count:]

    def ranks(self) -> Ids:
        """The place of each id in the order of names (of code points): the order that does not depend on arrival."""
        new = self._names[len(self._sorted) :]
        if len(new) > max(64, len(self._sorted) // 64):
            self._sorted = sorted(self._names)
            order = np.fromiter(map(self._ids.__getitem__, self._sorted), dtype=np.int32, count=len(self._sorted))
            self._ranks = np.empty(len(order), dtype=np.int32)
            self._ranks[order] = np.arange(len(order), dtype=np.int32)
            return self._ranks
        for name in new:
            place = bisect_left(self._sorted, name)
            self._sorted.insert(place, name)
            self._ranks = np.append(self._ranks + (self._ranks >= place), np.int32(place))
        return self._ranks
