"""
A process that writes to a store and is killed at a given call, for `test_store_faults.py`.

Run as a program it is given a folder and the numbers of calls. For each it forks: the child does
`work` in a folder of its own, from the update on in which that call is, and kills itself at that
call, before it or half way through a write; the numbers of the updates that were acknowledged to it
by then are in the file beside that folder.
Without calls it does the work, and prints these numbers.
"""

import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import tests.conftest  # noqa: F401  (which build is tested)
from tests.strategies import Fact, random_facts

from casegraph.storage.store.store import CaseStore

CALLS = (
    "open",
    "write",
    "fsync",
    "ftruncate",
    "replace",
    "rename",
    "mkdir",
    "unlink",
    "rmdir",
)
BATCHES = 12  # updates
FORGOTTEN = 6  # the update after which history is forgotten

Call = Callable[..., Any]  # the name of a call, the call itself, and what it is given


@cache
def batches() -> list[tuple[list[Fact], list[Fact]]]:
    """What each update adds and retracts; the last is large."""
    random = Random(7)
    found = []
    for size in [6] * (BATCHES - 1) + [300]:
        added = random_facts(random, entities=8 + size, facts=size)
        retracted = random_facts(random, entities=8, facts=6)
        found.append((added, retracted))
    return found


def states() -> list[set[Fact]]:
    """The facts after each number of updates."""
    found: list[set[Fact]] = [set()]
    for added, retracted in batches():
        found.append((found[-1] - set(retracted)) | set(added))
    return found


def work(folder: Path, acknowledge: Callable[[int], object], first: int = 1) -> None:
    """Update a store in every way, from some update on:
    opened again, compacted, and with its history forgotten in between.
    """
    for number in range(first, BATCHES + 1):
        update(folder, number, acknowledge)


def update(folder: Path, number: int, acknowledge: Callable[[int], object]) -> None:
    """One of the updates of the work."""
    added, retracted = batches()[number - 1]
    with CaseStore.open(folder) as store:
        store.update(add=added, retract=retracted)
        acknowledge(number)
        if number % 4 == 2:
            store.compact(forget_history=number == FORGOTTEN)


class Start(NamedTuple):
    """Where one of the updates of the work begins.

    number  of the update
    calls   that the work has made before
    folder  a copy of the store as it was then; of none, before the first
    """

    number: int
    calls: int
    folder: Path

    def copy_to(self, folder: Path) -> None:
        """Put the store in a folder as it was then."""
        if self.folder.exists():
            shutil.copytree(self.folder, folder)


class Rehearsal:
    """The work, done once, so that it can be begun again at any of its updates.

    calls  that all of it makes
    """

    def __init__(self, folder: Path) -> None:
        self.calls = 0
        self._starts: list[Start] = []
        store = folder / "store"
        folder.mkdir()
        for number in range(1, BATCHES + 1):
            start = Start(number, self.calls, folder / str(number))
            self._starts.append(start)
            if store.exists():
                shutil.copytree(store, start.folder)
            with calls_through(self._count):
                update(store, number, lambda _: None)

    def before(self, call: int) -> Start:
        """The last start before a call of the work, counted from 1."""
        return max(start for start in self._starts if start.calls < call)

    def _count(
        self, _: str, real: Callable[..., Any], *given: Any, **options: Any
    ) -> object:
        self.calls += 1
        return real(*given, **options)


@contextmanager
def calls_through(then: Call) -> Iterator[None]:
    """Let every call that can change what is on disk go through a function."""
    real = {name: getattr(os, name) for name in CALLS}
    for name in CALLS:
        setattr(os, name, partial(then, name, real[name]))
    try:
        yield
    finally:
        for name in CALLS:
            setattr(os, name, real[name])


def killed_at(point: int) -> Call:
    """Die at a call: before it, or, every other time that it writes, half way through."""
    calls = 0

    def call(
        name: str, real: Callable[..., Any], *given: Any, **options: Any
    ) -> object:
        nonlocal calls
        calls += 1
        if calls == point:
            if name == "write" and point % 2:
                real(given[0], given[1][: len(given[1]) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*given, **options)

    return call


class Failing:
    """A disk that fails at a call, with some error:
    that once, or at every call from then on until it is mended.

    halfway  whether half is written before, where it fails to write
    """

    def __init__(self, point: int, error: int, *, sticky: bool, halfway: bool) -> None:
        self.point = point
        self.error = error
        self.sticky = sticky
        self.halfway = halfway
        self.calls = self.failed = 0

    def __call__(
        self, name: str, real: Callable[..., Any], *given: Any, **options: Any
    ) -> object:
        """Do it, or fail."""
        self.calls += 1
        if self.calls == self.point or (self.sticky and self.calls > self.point > 0):
            self.failed += 1
            if name == "write" and self.halfway and len(given[1]) > 1:
                real(given[0], given[1][: len(given[1]) // 2])
            raise OSError(self.error, os.strerror(self.error))
        return real(*given, **options)

    def mend(self) -> None:
        """Fail no more."""
        self.point = 0


RECENT = 20  # facts that a store that is updated for ever holds


def recent(number: int) -> set[Fact]:
    """The facts after so many updates of a store that is updated for ever."""
    return {
        (f"e{n % 7}", f"r{n % 3}", f"n{n}")
        for n in range(max(0, number - RECENT), number)
    }


def update_for_ever(
    folder: Path, number: int, acknowledge: Callable[[int], object]
) -> None:
    """One update after the other from a number on, compacted
    and with the history forgotten now and then.
    """
    with CaseStore.open(folder) as store:
        while True:
            before = recent(number)
            number += 1
            after = recent(number)
            store.update(add=after - before, retract=before - after)
            acknowledge(number)
            if number % 10 == 0:
                store.compact(forget_history=number % 30 == 0)


def killed_after(wait: Callable[[], object], work: Callable[[], object]) -> None:
    """Do some work in a process of its own, that is killed when a wait here has ended."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(1)
    wait()
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), "the work ended before it was killed"


def forked(work: Callable[[], object], point: int) -> None:
    """Do some work in a process of its own, that is killed at a point."""
    if os.fork() == 0:
        with calls_through(killed_at(point)):
            work()
        os._exit(0)
    os.wait()


def main(folder: Path, points: list[str]) -> None:
    """Fork a child for each point, one after the other.

    After a colon: one more, killed while it recovers the store.
    """
    rehearsal = Rehearsal(folder / "rehearsal")
    for name in points:
        at_work, _, recovering = name.partition(":")
        start = rehearsal.before(int(at_work))
        start.copy_to(folder / name)
        acknowledge = teller(folder / f"{name}.acknowledged")
        acknowledge(start.number - 1)
        rest = partial(work, folder / name, acknowledge, start.number)
        forked(rest, int(at_work) - start.calls)
        if recovering:
            forked(partial(CaseStore.open, folder / name), int(recovering))


def teller(file: Path) -> Callable[[int], object]:
    """Writes numbers to a file, past all that watches calls."""
    write = os.write
    opened = os.open(file, os.O_WRONLY | os.O_CREAT)
    return lambda number: write(opened, bytes([number]))


if __name__ == "__main__":
    if sys.argv[2:]:
        main(Path(sys.argv[1]), sys.argv[2:])
    else:
        work(Path(sys.argv[1]), lambda number: os.write(1, bytes([number])))
