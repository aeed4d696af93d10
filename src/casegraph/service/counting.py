"""
What questions need is counted once for each state, in a thread of its own.

An update leaves counts out of date. Those of recently queried relations are made while the update
is written to disk, before questions are answered from it (`ahead`); those of other relations when
the next question needs them. All questions about a relation wait for its counts together, without
blocking a thread: questions about other relations are answered meanwhile. Counting that has begun
is finished even if nobody waits any more, since the next question needs it; counting that has not
begun is cancelled.
"""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from time import monotonic
from weakref import ref

from casegraph.answering.query import is_prepared, prepare
from casegraph.answering.state import State
from casegraph.kernels import StopFlag
from casegraph.running import stopped_by

AHEAD = 0.01  # seconds that an update may wait for counts
FADING = 0.9  # the demand for a relation is multiplied by this at each update
FORGOTTEN = 0.5  # smaller demand is dropped


class Counts:
    """Makes the counts of relations; called in the event loop, except where stated."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="casegraph-count")
        self._ahead = ThreadPoolExecutor(1, thread_name_prefix="casegraph-ahead")
        self._newest: dict[int, Count] = {}  # by direction
        # How often each direction was asked about recently.
        self._demand: dict[int, float] = {}
        self._is_over = StopFlag()

    async def made(self, state: State, direction: int) -> None:
        """Return when all counts are made that questions (entity, direction, ?) need.

        If they cannot be made, the questions find out why.
        """
        if self.are_made(state, direction):
            return
        count = self._newest.get(direction)
        if count is None or not count.is_of(state):
            count = Count(self, state, direction)
            self._newest[direction] = count
        await count.wait()

    def are_made(self, state: State, direction: int) -> bool:
        """Whether all counts are made that questions (entity, direction, ?) need."""
        self._demand[direction] = self._demand.get(direction, 0.0) + 1
        return is_prepared(state, direction)

    def in_demand(self) -> list[int]:
        """The directions that were asked about recently, the most frequent first."""
        remaining = {}
        for direction, asked in self._demand.items():
            faded = FADING * asked
            if faded > FORGOTTEN:
                remaining[direction] = faded
        self._demand = remaining
        return sorted(remaining, key=lambda direction: -remaining[direction])

    @contextmanager
    def ahead(self, state: State, directions: list[int]) -> Iterator[None]:
        """Make counts of a state while it is being written; called in the thread that writes."""
        end = monotonic() + AHEAD

        def work() -> None:
            for direction in directions:
                if monotonic() < end:
                    self._count(state, direction)

        counting = self._ahead.submit(work)
        try:
            yield
        finally:
            wait([counting], timeout=end - monotonic())

    def _count(self, state: State, direction: int) -> None:
        with suppress(Exception), stopped_by(self._is_over):  # the question finds out
            prepare(state, direction)

    def close(self) -> None:
        """Stop counting."""
        self._is_over.set()
        for thread in (self._thread, self._ahead):
            thread.shutdown(wait=False, cancel_futures=True)

    async def make(self, count: "Count", state: State, direction: int) -> None:
        """Make the counts of a relation."""

        def work() -> None:
            count.is_begun = True
            self._count(state, direction)

        with suppress(RuntimeError):  # the service ends
            await asyncio.get_running_loop().run_in_executor(self._thread, work)


class Count:
    """Counts of a relation in one state, while they are made and afterwards."""

    def __init__(self, counts: Counts, state: State, direction: int) -> None:
        self.is_begun = False
        self._state = ref(state)
        self._waiting = 0
        self._making = asyncio.ensure_future(counts.make(self, state, direction))

    def is_of(self, state: State) -> bool:
        """Whether these are counts of a state, and were not cancelled."""
        return self._state() is state and not self._making.cancelled()

    async def wait(self) -> None:
        """Return when they are made."""
        if self._making.done():
            return
        self._waiting += 1
        try:
            await asyncio.wait([self._making])
        finally:
            self._waiting -= 1
            if not self._waiting and not self.is_begun:
                self._making.cancel()
