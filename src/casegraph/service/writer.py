"""
Writing: updates that wait at the same time go to disk together (group commit).

Updates run one after the other in a separate thread. Those that arrive while others are being
written are written next, all with the same two flushes. Each has its own number. When it is on
disk, its client gets the response, and all listeners are notified. While the disk works, what
questions will need is counted for the new state (see `counting`), so that they need not wait.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

from casegraph.answering.state import Step
from casegraph.service import feed
from casegraph.service.counting import Counts
from casegraph.service.turns import Turns
from casegraph.storage.store.store import CaseStore, PlannedUpdate

T = TypeVar("T")
MOST_TOGETHER = 64  # updates


class Waiting(NamedTuple):
    """An update that waits to be written, and the future that its client waits for."""

    wanted: PlannedUpdate
    made: asyncio.Future[Step]


class Written(NamedTuple):
    """The result of an update, or its error; and the message to listeners, if there is one."""

    made: Step | BaseException
    told: feed.Message | None = None


class Writer:
    """Writes updates; called in the event loop only."""

    def __init__(
        self, store: CaseStore, counts: Counts, turns: Turns, listeners: feed.Feed
    ) -> None:
        self._store = store
        self._counts = counts
        self._turns = turns
        self._listeners = listeners
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="casegraph-write")
        self._waiting: list[Waiting] = []
        self._writing: asyncio.Task[None] | None = None

    async def write(self, wanted: PlannedUpdate) -> Step:
        """Make an update; it is on disk when this returns."""
        made: asyncio.Future[Step] = asyncio.get_running_loop().create_future()
        self._waiting.append(Waiting(wanted, made))
        if self._writing is None:
            self._writing = asyncio.ensure_future(self._write_all())
        return await made

    async def run(self, work: Callable[[], T]) -> T:
        """Run some work in the thread that writes, between two updates."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def close(self) -> None:
        """Write all updates that wait, and end the thread."""
        if self._writing is not None:
            await self._writing
        await asyncio.get_running_loop().run_in_executor(None, self._thread.shutdown)

    async def _write_all(self) -> None:
        """Write until nothing waits."""
        while self._waiting:
            together = self._waiting[:MOST_TOGETHER]
            del self._waiting[:MOST_TOGETHER]
            await self._write(together)
        self._writing = None

    async def _write(self, together: list[Waiting]) -> None:
        """Write some updates, and notify their clients and all listeners."""
        all_wanted = [waiting.wanted for waiting in together]
        in_demand = self._counts.in_demand()
        try:
            async with self._turns.turn():
                all_written = await self.run(
                    lambda: self._written(all_wanted, in_demand)
                )
        except Exception as error:
            all_written = [Written(error)] * len(together)
        for waiting, written in zip(together, all_written, strict=True):
            if written.told is not None:
                self._listeners.tell(written.told)
            if waiting.made.cancelled():
                continue
            if isinstance(written.made, BaseException):
                waiting.made.set_exception(written.made)
            else:
                waiting.made.set_result(written.made)

    def _written(
        self, all_wanted: list[PlannedUpdate], in_demand: list[int]
    ) -> list[Written]:
        """Write updates, in the thread that does so.

        in_demand  the directions of relations whose counts are made meanwhile
        """
        last = self._store.sequence
        all_made = self._store.update_all(
            all_wanted, meanwhile=lambda state: self._counts.ahead(state, in_demand)
        )
        all_written = []
        for made in all_made:
            told = None
            if isinstance(made, Step) and made.state.sequence > last:
                last = made.state.sequence
                told = feed.of_change(feed.change_made(made))
            all_written.append(Written(made, told))
        return all_written
