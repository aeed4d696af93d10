"""
Group rows by their keys, and add up the values of each group.

Counts come in parts: of shards, of changed edges, of clusters.
Their sum has one row for each distinct key.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from casegraph.graph.arrays import Counts

Number = TypeVar("Number", np.int32, np.int64)


class Groups(NamedTuple):
    """Rows grouped by equal keys.

    order   (rows,)    the rows, sorted by key; rows with equal keys stay in the order given
    starts  (groups,)  where in `order` each group begins
    """

    order: Counts
    starts: Counts

    def keys(self, column: npt.NDArray[Number]) -> npt.NDArray[Number]:
        """The value that each group has in a column of the key, in the order of groups."""
        first_rows = self.order[self.starts]
        return column[first_rows]

    def sums(self, values: Counts) -> Counts:
        """The sum of the values of each group."""
        if not len(self.starts):
            return values[:0]
        return np.add.reduceat(values[self.order], self.starts)


def grouped(*keys: npt.NDArray[Any]) -> Groups:
    """Group rows by their keys, sorted by the first key, then by the second; O(m log m).

    keys  (rows,) each; parallel columns of integers
    """
    order = np.lexsort(keys[::-1])
    is_first = np.zeros(len(order), dtype=np.bool)
    is_first[:1] = True
    for column in keys:
        ordered = column[order]
        is_first[1:] |= ordered[1:] != ordered[:-1]
    return Groups(order, np.flatnonzero(is_first))


def columns_joined(
    parts: Iterable[tuple[npt.NDArray[Any], ...]],
) -> tuple[npt.NDArray[Any], ...]:
    """Parts with the same columns, concatenated; there must be at least one part."""
    columns = zip(*parts, strict=True)
    return tuple(np.concatenate(column) for column in columns)
