"""Arrays of ids, of counts and of weights."""

from collections.abc import Iterable

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
