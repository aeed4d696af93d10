"""
Names and their ids (interning).

A name becomes an integer once, when it is read. `Names` is immutable; adding names makes a longer
`Names`. Both share one append-only table, of which each sees its own first part. The table belongs
to a kernel and stores names in UTF-8; a name becomes a Python string only when requested.

An id depends on the order in which names arrived, so nothing that a user sees may depend on ids.
Where an order is needed, it is the order of names (`ranks`).
"""

from __future__ import annotations

from bisect import bisect_left
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from casegraph import kernels
from casegraph.graph.arrays import Counts, Ids, ids
from casegraph.running import threads

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

# Up to this many new names (or a 64th of the names sorted before, if that is more) are inserted
# into the existing order; for more, all names are sorted again.
FEW = 64


class Names:
    """Distinct names; the id of a name is its index."""

    __slots__ = ("_is_detached", "_length", "_order", "_table")

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._table = _Table.of(list(dict.fromkeys(names)))
        self._length = self._table.size
        self._order = NO_ORDER
        self._is_detached = False  # whether new names must stay out of the shared table

    @classmethod
    def stored(cls, content: npt.NDArray[np.uint8], offsets: Counts) -> Names:
        """Names given as one buffer of UTF-8, which is not copied.

        offsets  (names + 1,)  where each begins, and where the last ends

        `ValueError` if they are not UTF-8, or if one occurs twice.
        """
        table = _Table(kernels.NameTable.of(content, offsets))
        names = cls()
        names._table = table
        names._length = table.size
        return names

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, identity: int) -> str:
        if not 0 <= identity < self._length:
            raise IndexError(f"no name has the id {identity}")
        return self._table.name(identity)

    def __contains__(self, name: str) -> bool:
        return self.find(name) is not None

    @property
    def names(self) -> list[str]:
        """All names, by id."""
        return self.names_from(0)

    def names_from(self, first: int) -> list[str]:
        """The names with ids from `first` on."""
        return self._table.names(first, self._length)

    def encoded_from(self, first: int) -> tuple[npt.NDArray[np.uint8], Counts]:
        """The names with ids from `first` on, in the form that `stored` accepts."""
        return self._table.encoded(first, self._length)

    def find(self, name: str) -> int | None:
        """The id of a name, or None."""
        if not isinstance(name, str):  # callers may pass anything
            return None
        found = self._table.find(name)
        # The table may have got the name from a longer `Names`.
        return found if 0 <= found < self._length else None

    def find_all(self, names: Sequence[str]) -> Ids:
        """The id of each of some names; -1 for those that are not here."""
        found = self._table.find_all(list(names))
        found[found >= self._length] = -1
        return found

    def extended(self, names: Sequence[str]) -> tuple[Names, Ids]:
        """These names followed by the new names among `names`; and the id of each of `names`."""
        found = self.find_all(names)
        is_new = found < 0
        if not is_new.any():
            return self, found

        new_places = np.flatnonzero(is_new).tolist()
        new_names = [names[place] for place in new_places]
        distinct_names = list(dict.fromkeys(new_names))
        longer = self._with(distinct_names)
        found[new_places] = longer._table.find_all(new_names)
        return longer, found

    def detached(self) -> Names:
        """The same names; names added later do not go into the shared table."""
        same = self._copy()
        same._is_detached = True
        return same

    def chosen(self, wanted: Ids) -> Names:
        """Only the names with these ids, which get new ids in this order."""
        return Names(map(self._table.name, wanted.tolist()))

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
        """These names followed by new, distinct names."""
        longer = self._copy()
        table = self._table.first(self._length) if self._is_detached else self._table
        longer._is_detached = False
        longer._table = table.appended(self._length, new)
        longer._length = self._length + len(new)
        return longer

    def _copy(self) -> Names:
        same = object.__new__(Names)
        same._table = self._table
        same._length = self._length
        same._order = self._order
        same._is_detached = self._is_detached
        return same

    def _sorted(self) -> _Order:
        sorted_ids = self._table.sorted(self._length, threads())
        ranks = np.empty_like(sorted_ids)
        ranks[sorted_ids] = np.arange(self._length, dtype=np.int32)
        return _Order(sorted_ids, ranks)

    def _inserted_into(self, order: _Order) -> _Order:
        """An order of the first names, with the few names after them inserted."""
        name = self._table.name
        sorted_so_far = len(order.ranks)
        new_ids = sorted(range(sorted_so_far, self._length), key=name)
        places = [
            bisect_left(order.sorted_ids, name(new_id), key=name) for new_id in new_ids
        ]
        sorted_ids = np.insert(order.sorted_ids, places, new_ids)

        # A name moves by the number of new names inserted at or before its place.
        inserted_at = np.bincount(ids(places), minlength=sorted_so_far + 1)
        moved_by = inserted_at.cumsum().astype(np.int32)
        ranks = np.empty(self._length, dtype=np.int32)
        ranks[:sorted_so_far] = order.ranks + moved_by[order.ranks]
        ranks[new_ids] = ids(places) + np.arange(len(new_ids), dtype=np.int32)
        return _Order(sorted_ids, ranks)


def check_encoded(content: npt.NDArray[np.uint8], offsets: Counts) -> None:
    """`ValueError` unless `Names.stored` accepts these names, except that they may repeat."""
    text = content.tobytes()
    text.decode(errors="surrogatepass")

    # The text as a whole is UTF-8; so is each name, unless it begins within a character.
    starts = offsets[1:-1]
    first_bytes = content[starts[starts < len(content)]]
    is_continuation = (first_bytes & 0xC0) == 0x80
    if is_continuation.any():
        raise ValueError("a name is not UTF-8")


class _Order(NamedTuple):
    """Ids sorted by name, and the place of each id among them."""

    sorted_ids: Ids
    ranks: Ids


NO_ORDER = _Order(ids(), ids())


class _Table:
    """Names and their ids, shared by several `Names` that each see a first part of the table."""

    __slots__ = (
        "_appending",
        "_names",
        "encoded",
        "find",
        "find_all",
        "name",
        "names",
        "sorted",
    )

    def __init__(self, names: kernels.NameTable) -> None:
        self._names = names
        self._appending = Lock()
        self.name = names.name
        self.names = names.names
        self.encoded = names.encoded
        self.find = names.find
        self.find_all = names.find_all
        self.sorted = names.sorted

    @classmethod
    def of(cls, names: list[str]) -> _Table:
        """A table of distinct names."""
        table = kernels.NameTable()
        table.append(names)
        return cls(table)

    @property
    def size(self) -> int:
        """How many names there are."""
        return self._names.size

    def first(self, length: int) -> _Table:
        """A table of the first names, to which others can be appended."""
        return _Table(self._names.first(length))

    def appended(self, length: int, new: list[str]) -> _Table:
        """A table of the first `length` names of this table, followed by `new` names.

        It is this very table if it has no more than `length` names yet, else a copy. If appending
        fails halfway, the table is longer than any `Names`; then the next call that would
        append to it makes a copy.
        """
        with self._appending:
            is_current = self.size == length
            table = self if is_current else self.first(length)
            table._names.append(new)
            return table
