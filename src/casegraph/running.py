"""Running kernels: how many threads, progress while they run, and stopping them; and work on very many objects."""

import gc
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import numpy as np

from casegraph.graph.arrays import Counts

T = TypeVar("T")
Show = Callable[[str, int, int], None]  # what is being done, how much of it is done, how much there is
POLL = 0.1  # seconds between looks at how far a kernel is


def quiet(doing: str, done: int, total: int) -> None:
    """Show nothing."""


def threads() -> int:
    """As many threads as this process may use processors; `CASEGRAPH_THREADS` says otherwise."""
    chosen = os.environ.get("CASEGRAPH_THREADS", "")
    return (
        max(1, int(chosen))
        if chosen.isdigit()
        else len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count() or 1
    )


@contextmanager
def no_collection() -> Iterator[None]:
    """Look for no garbage: among a million facts, which hold no cycles, that takes a third of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def run(kernel: Callable[[Counts], T], doing: str, total: int, show: Show) -> T:
    """Run a kernel that counts how far it is, and show that; an interrupt stops it at once.

    The kernel gets two counters: what it has done, which it writes, and whether to stop, which it reads. Called from
    the main thread it hears a Ctrl-C by itself. To show how far it is, it works in a thread of its own, and this one
    hears the Ctrl-C.
    """
    counters = np.zeros(2, dtype=np.int64)
    if show is quiet:
        return kernel(counters)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(kernel, counters)
        try:
            while not wait([running], timeout=POLL).done:
                show(doing, int(counters[0]), total)
        except BaseException:
            counters[1] = 1
            raise
        show(doing, total, total)
        return running.result()


def peak_memory() -> int:
    """The most bytes that this process has held; 0 where the system does not say."""
    if sys.platform == "win32":
        return 0
    if (status := Path("/proc/self/status")).exists():  # getrusage would also count the process that started this one
        lines = status.read_text().splitlines()
        return next((1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak
