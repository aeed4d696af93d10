"""Arrays of ids, counts and weights, and runs of equal values in sorted arrays."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int32]
Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = np.ndarray[tuple[int], np.dtype[np.bool]]
# Up to this many, sorting is faster than marking them in an array of all ids.
FEW_IDS = 1 << 16


def ids(values: Iterable[int] = ()) -> Ids:
    """An array of ids."""
    return np.fromiter(values, dtype=np.int32)


def distinct_ids(*arrays: Ids) -> Ids:
    """The distinct ids in one-dimensional arrays, sorted."""
    size = sum(len(array) for array in arrays)
    if size < FEW_IDS:
        return np.unique(np.concatenate(arrays))
    largest = max(int(array.max(initial=-1)) for array in arrays)
    is_present = np.zeros(largest + 1, dtype=np.bool)
    for array in arrays:
        is_present[array] = True
    return np.flatnonzero(is_present).astype(np.int32)


def joined(parts: Iterable[Counts]) -> Counts:
    """Arrays of counts, concatenated; an empty array if there are no parts."""
    nothing = np.zeros(0, dtype=np.int64)
    return np.concatenate([nothing, *parts])


def rows_with(value: int, column: Ids | Counts) -> slice:
    """The rows of a sorted column that hold a value."""
    # With the type of the column; else NumPy would convert the whole column.
    bounds = np.array([value, value + 1], dtype=column.dtype)
    start, end = column.searchsorted(bounds).tolist()
    return slice(start, end)


def is_run_start(values: Ids | Counts) -> Flags:
    """Whether each value differs from the value before it; the first always does."""
    is_start = np.ones(len(values), dtype=np.bool)
    is_start[1:] = values[1:] != values[:-1]
    return is_start


def run_bounds(values: Ids | Counts) -> list[int]:
    """Where each run of equal values begins, then the number of values.

    Run i is `values[bounds[i] : bounds[i + 1]]`.
    """
    starts = np.flatnonzero(is_run_start(values))
    return [*starts.tolist(), len(values)]
