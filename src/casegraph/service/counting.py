"""
What questions about a relation need is counted once for each state, in a thread of its own.

After an update, the first question about a relation brings its counts up to date. All questions
that need the same counts wait for them together, and no thread that answers waits with them:
questions about other relations are answered meanwhile. What has begun is finished, even if nobody
waits for it any more, since the next question needs it. What has not begun is left out then.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from weakref import ref

from casegraph.answering.query import relation_query
from casegraph.answering.state import State
from casegraph.graph.arrays import ids
from casegraph.kernels import StopFlag
from casegraph.running import stopped_by
from casegraph.service.turns import Turns


class Counts:
    """Makes the counts of relations; called in the event loop only."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="casegraph-count")
        self._newest: dict[int, Count] = {}  # by direction
        self._is_over = StopFlag()

    async def made(self, state: State, direction: int) -> None:
        """Return when a question about a direction of a relation has all counts that it needs.

        If they cannot be made, the question finds out why.
        """
        count = self._newest.get(direction)
        if count is None or not count.is_of(state):
            count = self._newest[direction] = Count(self, state, direction)
        await count.wait()

    def close(self) -> None:
        """Stop counting."""
        self._is_over.set()
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def make(self, count: "Count", state: State, direction: int) -> None:
        """Make the counts of a relation when it is their turn."""

        def work() -> None:
            with stopped_by(self._is_over):
                relation_query(state, direction, ids())

        async with self._turns.turn():
            count.is_begun = True
            with suppress(Exception):  # the question finds out
                await asyncio.get_running_loop().run_in_executor(self._thread, work)


class Count:
    """The counts of a relation in one state, while they are made and afterwards."""

    def __init__(self, counts: Counts, state: State, direction: int) -> None:
        self.is_begun = False
        self._state = ref(state)
        self._waiting = 0
        self._making = asyncio.ensure_future(counts.make(self, state, direction))

    def is_of(self, state: State) -> bool:
        """Whether these are the counts of a state, and were not left out."""
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
