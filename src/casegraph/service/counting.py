"""
What questions about a relation need is counted once for each state, in a thread of its own.

After an update, the first question about a relation brings its counts up to date. All questions that
need the same counts wait for them together, and no thread that answers waits with them: questions
about other relations are answered meanwhile. What has begun is finished, even if nobody waits for it
any more, since the next question needs it. What has not begun is left out then.
"""

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from weakref import ref

from casegraph.answering.query import relation_query
from casegraph.answering.state import State
from casegraph.graph.arrays import ids
from casegraph.kernels import StopFlag
from casegraph.running import stopped_by

THREADS = 2  # one brings counts up to date, while the other makes of them what questions walk


@dataclass
class Count:
    """The counts of a relation in one state; `waiting` is how many wait for them."""

    state: ref[State]
    made: Future[None]
    waiting: int = 0


class Counts:
    """Makes the counts of relations; called in the event loop only."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(THREADS, thread_name_prefix="casegraph-count")
        self._newest: dict[int, Count] = {}  # by direction
        self._is_over = StopFlag()

    async def made(self, state: State, direction: int) -> None:
        """Return when a question about a direction of a relation has all counts that it needs.

        If they cannot be made, the question finds out why.
        """
        count = self._newest.get(direction)
        if count is None or count.state() is not state:
            made = self._thread.submit(self._make, state, direction)
            count = self._newest[direction] = Count(ref(state), made)
        if count.made.done():
            return
        count.waiting += 1
        try:
            await asyncio.wait([asyncio.wrap_future(count.made)])
        finally:
            count.waiting -= 1
            is_left_out = not count.waiting and count.made.cancel()
            if is_left_out and self._newest.get(direction) is count:
                del self._newest[direction]

    def close(self) -> None:
        """Stop counting."""
        self._is_over.set()
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _make(self, state: State, direction: int) -> None:
        with stopped_by(self._is_over):
            relation_query(state, direction, ids())
