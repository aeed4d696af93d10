"""How much an object holds: a walk over all that can be reached from it.
What kernels keep for themselves is unseen.
"""

import gc
import sys
from collections.abc import Iterator
from types import BuiltinFunctionType, CodeType, FrameType, ModuleType
from typing import Any, NamedTuple

import numpy as np

SHARED = (
    type,
    ModuleType,
    BuiltinFunctionType,
    CodeType,
    FrameType,
)  # not an object's own


class Size(NamedTuple):
    """Bytes held, how many graphs, and how many names that begin with a prefix."""

    bytes: int
    graphs: int
    names: int


def size_of(held: Any, graph: type, prefix: str) -> Size:
    """The size of all that `held` refers to, however far."""
    total = graphs = names = 0
    for one in reachable(held):
        total += one.nbytes if isinstance(one, np.ndarray) else sys.getsizeof(one, 0)
        graphs += isinstance(one, graph)
        names += isinstance(one, str) and one.startswith(prefix)
    return Size(total, graphs, names)


def reachable(held: Any) -> Iterator[Any]:
    """All objects that can be reached, each once.

    An array that is a view of another counts as the other.
    """
    modules = {
        id(vars(module))
        for module in list(sys.modules.values())
        if isinstance(module, ModuleType)
    }
    waiting = [held]
    seen = {*modules}
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, SHARED):
            continue
        seen.add(id(one))
        if isinstance(one, np.ndarray) and isinstance(one.base, np.ndarray):
            waiting.append(one.base)
            continue
        yield one
        waiting.extend(gc.get_referents(one))
