"""
Names and their ids (interning).

A name becomes an integer once, on the way in. `Names` is a value: it keeps the names and ids that
it has, whatever is added later. Adding names makes a longer `Names`. Both share one table, to which
names are only ever appended, and each looks at its own part of it.

An id depends on the order in which names arrived, so nothing that a user sees may depend on ids.
Where an order is needed, it is the order of names (`ranks`).
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

# Up to this many new names, or a 64th of the names that are sorted already if that is more, are
# inserted into the order of names; with more of them, all names are sorted again.
FEW = 64


class Names:
    """Distinct names; the id of a name is its place.

    Giving up names (`kept`) closes the gaps between ids, so the other names get new ids. To
    recognise a name all the same, it also has a serial number that never changes. Serial numbers
    count arrivals: a name that was given up and arrives again gets a new one.
    """

    __slots__ = ("_is_apart", "_length", "_order", "_serials", "_table", "arrived")

    def __init__(self, names: Iterable[str] = ()) -> None:
        distinct = list(dict.fromkeys(names))
        self._table = _Table(distinct)
        self._length = len(distinct)
        self._order = NO_ORDER
        self._is_apart = False  # whether new names must not go into the table that is shared

        # The serial numbers of the first ids. All later ids have consecutive serial numbers, the
        # last of which is `arrived - 1`.
        self._serials = ids()
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
        """The names with the id `first` and later ids."""
        return self._table.names[first : self._length]

    def serials(self, of: Ids | None = None) -> Ids:
        """The serial numbers of these ids, or of all."""
        chosen = np.arange(self._length, dtype=np.int32) if of is None else of
        consecutive = chosen + np.int32(self.arrived - self._length)
        if not len(self._serials):
            return consecutive
        is_stored = chosen < len(self._serials)
        stored = self._serials[np.where(is_stored, chosen, 0)]
        return np.where(is_stored, stored, consecutive)

    def find(self, name: str) -> int | None:
        """The id of a name, or None."""
        found = self._table.ids.get(name)
        if found is None or found >= self._length:  # a longer `Names` may have put it in the table
            return None
        return found

    def extended(self, names: Sequence[str]) -> tuple[Names, Ids]:
        """These names followed by the new names among `names`; and the id of each of `names`."""
        found = np.fromiter(map(self._table.ids.get, names, repeat(-1)), np.int32, count=len(names))
        is_new = (found < 0) | (found >= self._length)
        if not is_new.any():
            return self, found

        new_places = np.flatnonzero(is_new).tolist()
        new_names = [names[place] for place in new_places]
        longer = self._with(list(dict.fromkeys(new_names)))
        new_ids = map(longer._table.ids.__getitem__, new_names)
        found[new_places] = np.fromiter(new_ids, np.int32, count=len(new_names))
        return longer, found

    def apart(self) -> Names:
        """The same names; what is added to them later leaves no trace in the shared table."""
        same = self._copy()
        same._is_apart = True
        return same

    def kept(self, chosen: Ids) -> Names:
        """Only the names with these ids, sorted; their ids change, their serial numbers do not."""
        names = self._table.names
        fewer = Names(names[identity] for identity in chosen.tolist())
        return fewer.with_serials(self.serials(chosen), self.arrived)

    def with_serials(self, serials: Ids, arrived: int) -> Names:
        """The same names with these serial numbers."""
        are_the_ids = arrived == len(serials) and np.array_equal(serials, np.arange(arrived))
        same = self._copy()
        same._serials = ids() if are_the_ids else serials
        same.arrived = arrived
        return same

    def ranks(self) -> Ids:
        """The rank of each id in the order of names, by code points."""
        order = self._order
        sorted_so_far = len(order.ranks)
        missing = self._length - sorted_so_far
        if missing:
            is_few = missing <= max(FEW, sorted_so_far // 64)
            order = self._inserted_into(order) if is_few else self._sorted()
            self._order = order
        return order.ranks

    def _with(self, new: list[str]) -> Names:
        longer = self._copy()
        table = _Table(self.names) if self._is_apart else self._table
        longer._is_apart = False
        longer._table = table.appended(self._length, new)
        longer._length = self._length + len(new)
        longer.arrived = self.arrived + len(new)
        return longer

    def _copy(self) -> Names:
        same = object.__new__(Names)
        same._table = self._table
        same._length = self._length
        same._order = self._order
        same._is_apart = self._is_apart
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

    def _inserted_into(self, order: _Order) -> _Order:
        """An order of the first names, with the few names after them inserted."""
        names = self._table.names
        sorted_so_far = len(order.ranks)
        new = sorted(range(sorted_so_far, self._length), key=names.__getitem__)
        places = [bisect_left(order.sorted_ids, names[one], key=names.__getitem__) for one in new]

        # A name moves back by the number of new names that are inserted at or before its place.
        inserted_at = np.bincount(ids(places), minlength=sorted_so_far + 1)
        moved_by = inserted_at.cumsum().astype(np.int32)
        ranks = np.empty(self._length, dtype=np.int32)
        ranks[:sorted_so_far] = order.ranks + moved_by[order.ranks]
        ranks[new] = ids(places) + np.arange(len(new), dtype=np.int32)
        return _Order(np.insert(order.sorted_ids, places, new), ranks)


class _Order(NamedTuple):
    """Ids sorted by name, and the place of each id among them."""

    sorted_ids: Ids
    ranks: Ids


NO_ORDER = _Order(ids(), ids())


class _Table:
    """Names and their ids, shared by several `Names` that each have a first part of the table."""

    __slots__ = ("_lock", "ids", "names")

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self.ids = dict(zip(names, range(len(names)), strict=True))
        self._lock = Lock()

    def appended(self, length: int, new: list[str]) -> _Table:
        """A table of the first `length` names of this table, followed by `new` names.

        It is this very table if it has no more than `length` names yet, else a copy.

        An interrupt between the last two steps leaves names without ids in the table. Then the
        table is longer than any `Names`, so the next call that would append to it makes a copy.
        """
        with self._lock:
            is_current = len(self.names) == length
            table = self if is_current else _Table(self.names[:length])
            table.names.extend(new)
            table.ids.update(zip(new, range(length, length + len(new)), strict=True))
            return table
