"""
Turns: threads that compute one at a time, as long as each is quick.

Only one thread of Python runs at a time. Threads that compete for it interrupt each other again and
again, so two questions at the same time take longer than one after the other. But nobody should
wait for a slow question: after a moment, the next one may begin beside it.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from time import perf_counter

MOMENT = 0.025  # seconds
QUICK = 0.004  # seconds; handing work to a thread and back takes a good part of this
RECENT = 0.1  # the weight of the latest duration in the moving average


class Turns:
    """Whose turn it is to compute; in the order of arrival."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a turn, which lasts until the block ends, or a moment."""
        await self._turn.acquire()
        is_held = True

        def pass_on() -> None:
            nonlocal is_held
            if is_held:
                is_held = False
                self._turn.release()

        passing_on = asyncio.get_running_loop().call_later(MOMENT, pass_on)
        try:
            yield
        finally:
            passing_on.cancel()
            pass_on()


class Durations:
    """How long questions take, by the direction of a relation that they are about."""

    def __init__(self) -> None:
        # Exponential moving average, in seconds.
        self._mean: dict[int | None, float] = {}

    def is_quick(self, direction: int) -> bool:
        """Whether recent questions about a direction were quick."""
        return self._mean.get(direction, QUICK) < QUICK

    @contextmanager
    def measured(self, direction: int | None) -> Iterator[None]:
        """Measure a question about a direction."""
        start = perf_counter()
        yield
        took = perf_counter() - start
        mean = self._mean.get(direction, took)
        self._mean[direction] = mean + RECENT * (took - mean)
