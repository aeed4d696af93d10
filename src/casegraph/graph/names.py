"""
Names and their ids.

Strings become integers once, on the way in. `Names` is a value: whoever holds one keeps the names and ids it had,
however many come later. Longer ones share one table with it, to which names are only ever appended; each looks at its
own part.

An id depends on the order of arrival, so nothing that a user sees may depend on ids. Where an order is needed it is the
order of names (`ranks`).
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import repeat
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from casegraph.graph.arrays import Ids, ids

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

FEW = 64  # new names that are put in their places one by one; more are sorted together with the others


class Names:
    """Distinct names; the id of each is its place.

    When names are given up (`kept`), the ids of the others close ranks. So each name has a serial number as well, which
    it keeps: names are numbered in the order of arrival, and one that was given up and comes again gets a new number.
    """

    __slots__ = ("_length", "_order", "_serials", "_table", "arrived")

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._table = _Table(list(dict.fromkeys(names)))
        self._length = len(self._table.names)
        self._order = _NOTHING
        self._serials = ids()  # of the first ids; every later one is numbered in turn
        self.arrived = self._length  # how many serial numbers were given out

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, identity: int) -> str:
        if not 0 <= identity < self._length:
            raise IndexError(f"no name has the id {identity}")
        return self._table.names[identity]

    def __contains__(self, name: str) -> bool:
        return self.find(name) is not None

    @property
    def names(self) -> list[str]:
        """All names, by id."""
        return self._table.names[: self._length]

    def names_from(self, first: int) -> list[str]:
        """The names from an id on."""
        return self._table.names[first : self._length]

    def serials(self, of: Ids | None = None) -> Ids:
        """The serial numbers of these ids; of all, if none are given."""
        chosen = np.arange(self._length, dtype=np.int32) if of is None else of
        in_turn = chosen + np.int32(self.arrived - self._length)
        if not len(self._serials):
            return in_turn
        is_old = chosen < len(self._serials)
        return np.where(is_old, self._serials[np.where(is_old, chosen, 0)], in_turn)

    def find(self, name: str) -> int | None:
        """The id of a name."""
        found = self._table.ids.get(name, self._length)
        return found if found < self._length else None

    def extended(self, names: Sequence[str]) -> tuple[Names, Ids]:
        """These names and, after them, those of `names` that are new; and the id of each of `names`."""
        found = np.fromiter(map(self._table.ids.get, names, repeat(-1)), np.int32, count=len(names))
        is_new = (found < 0) | (found >= self._length)
        if not is_new.any():
            return self, found
        places = np.flatnonzero(is_new).tolist()
        missing = [names[place] for place in places]
        new = list(dict.fromkeys(missing))
        longer = self._with(new)
        found[places] = np.fromiter(map(longer._table.ids.__getitem__, missing), np.int32, count=len(missing))
        return longer, found

    def kept(self, chosen: Ids) -> Names:
        """Only the names with these ids, sorted; they get new ids, and keep their serial numbers."""
        fewer = Names(self._table.names[identity] for identity in chosen.tolist())
        return fewer.with_serials(self.serials(chosen), self.arrived)

    def with_serials(self, serials: Ids, arrived: int) -> Names:
        """The same names with these serial numbers."""
        are_ids = arrived == len(serials) and np.array_equal(serials, np.arange(arrived))
        same = self._copy()
        same._serials = ids() if are_ids else serials
        same.arrived = arrived
        return same

    def ranks(self) -> Ids:
        """The place of each id in the order of names, which is that of code points."""
        known = self._order
        if len(known.ranks) < self._length:
            new = range(len(known.ranks), self._length)
            known = self._inserted(known, new) if len(new) <= max(FEW, len(known.ranks) // 64) else self._sorted()
            self._order = known
        return known.ranks

    def _with(self, new: list[str]) -> Names:
        longer = self._copy()
        longer._table = self._table.appended(self._length, new)
        longer._length = self._length + len(new)
        longer.arrived = self.arrived + len(new)
        return longer

    def _copy(self) -> Names:
        same = object.__new__(Names)
        same._table = self._table
        same._length = self._length
        same._order = self._order
        same._serials = self._serials
        same.arrived = self.arrived
        return same

    def _sorted(self) -> _Order:
        names = self.names
        by_name = sorted(range(self._length), key=names.__getitem__)
        sorted_ids = np.array(by_name, dtype=np.int32)
        ranks = np.empty_like(sorted_ids)
        ranks[sorted_ids] = np.arange(self._length, dtype=np.int32)
        return _Order(sorted_ids, ranks)

    def _inserted(self, known: _Order, new: range) -> _Order:
        """The order with a few more names; each moves those behind it by one."""
        names = self._table.names
        coming = sorted(new, key=names.__getitem__)
        places = [bisect_left(known.sorted_ids, names[one], key=names.__getitem__) for one in coming]
        moved_by = np.bincount(ids(places), minlength=len(known.ranks) + 1).cumsum().astype(np.int32)
        ranks = np.empty(self._length, dtype=np.int32)
        ranks[: len(known.ranks)] = known.ranks + moved_by[known.ranks]
        ranks[coming] = ids(places) + np.arange(len(coming), dtype=np.int32)
        return _Order(np.insert(known.sorted_ids, places, coming), ranks)


class _Order(NamedTuple):
    """Ids in the order of names, and the place of each id there."""

    sorted_ids: Ids
    ranks: Ids


_NOTHING = _Order(ids(), ids())


class _Table:
    """Names and their ids, for all `Names` that are longer or shorter ones of each other."""

    __slots__ = ("_lock", "ids", "names")

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self.ids = dict(zip(names, range(len(names)), strict=True))
        self._lock = Lock()

    def appended(self, length: int, new: list[str]) -> _Table:
        """A table with `new` names after the first `length` of this one: this one, if nobody has appended to it yet.

        An interrupt may come between the two steps: then the names are there without ids, the table is longer than any
        `Names`, and the next that would append to it makes a table of its own.
        """
        with self._lock:
            table = self if len(self.names) == length else _Table(self.names[:length])
            table.names.extend(new)
            table.ids.update(zip(new, range(length, length + len(new)), strict=True))
            return table
