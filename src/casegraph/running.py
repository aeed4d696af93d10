"""Running kernels: threads, progress, interrupts; and the memory use of this process."""

import gc
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import numpy as np

from casegraph import kernels
from casegraph.errors import CasegraphError
from casegraph.graph.arrays import Counts

T = TypeVar("T")
# Shows progress: what is done, how much so far, how much in all.
Show = Callable[[str, int, int], None]
POLL = 0.1  # seconds between two looks at the progress of a kernel


def quiet(doing: str, done: int, total: int) -> None:
    """Show no progress."""


def threads() -> int:
    """The number of threads to use: `CASEGRAPH_THREADS`, or the processors of this process."""
    chosen = os.environ.get("CASEGRAPH_THREADS", "")
    if chosen.isdigit():
        return max(1, int(chosen))
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def paused_garbage_collection() -> Iterator[None]:
    """Do not look for reference cycles meanwhile.

    A million facts are a million objects without cycles; looking at them again and again takes a
    third of the time of reading them.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def run(kernel: Callable[[Counts], T], doing: str, total: int, show: Show) -> T:
    """Run a kernel and show its progress; an interrupt (Ctrl-C) stops it at once.

    kernel  is called with two counters: it writes to the first how much it has done, and stops when
            the second is not zero
    doing   what the kernel does, for `show`
    total   how much there is to do, for `show`

    Without progress to show, the kernel runs in this thread and notices a Ctrl-C itself. Else it
    runs in another thread, and this thread shows the progress and notices the Ctrl-C.
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


class Stopped(CasegraphError):
    """What was computed is not wanted any more."""


@contextmanager
def stopped_by(flag: kernels.StopFlag) -> Iterator[None]:
    """Meanwhile, another thread may set the flag: what this thread computes ends with `Stopped`.

    A kernel that runs stops within milliseconds, and none begins any more.
    """
    kernels.obey(flag)
    try:
        yield
    except RuntimeError as error:
        if flag.is_set:
            raise Stopped("what was computed is not wanted any more") from error
        raise
    finally:
        kernels.obey(None)


def peak_memory() -> int:
    """The largest number of bytes that this process has held; 0 if the system does not say."""
    if sys.platform == "win32":
        return 0

    # Linux says it here. `getrusage` would also count the process that started this process.
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                kibibytes = int(line.split()[1])
                return 1024 * kibibytes
        return 0

    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak
