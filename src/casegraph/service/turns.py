"""
Turns: threads that compute one at a time, as long as each is quick.

Only one thread of Python runs at a time. Those that want to run stop each other again and again, so
two questions beside each other take longer than one after the other. But nobody must wait for a
question that takes long: after a moment, it lets the next begin beside it.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

MOMENT = 0.03  # seconds


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
