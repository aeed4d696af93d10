"""The service counts once for all that wait, and nobody waits for a question that takes long."""

from __future__ import annotations

import asyncio
from threading import Event
from typing import TYPE_CHECKING

import pytest

from casegraph import CaseBase, world
from casegraph.service import counting
from casegraph.service.turns import Turns

if TYPE_CHECKING:
    from casegraph.answering.state import State


class Counted:
    """Stands in for counting: notes what is counted, which takes until it is let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.directions: list[int] = []
        self.let_go = Event()
        monkeypatch.setattr(counting, "relation_query", self._count)

    def _count(self, state: State, direction: int, entities: object) -> None:
        self.directions.append(direction)
        assert self.let_go.wait(60)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    return Counted(monkeypatch)


@pytest.fixture
def state() -> State:
    cases = CaseBase()
    cases.update(add=world.facts())
    return cases.state


def test_all_that_need_the_same_counts_wait_for_them_together(
    counted: Counted, state: State
) -> None:
    async def ask_at_once() -> None:
        counts = counting.Counts(Turns())
        asking = [asyncio.ensure_future(counts.made(state, 0)) for _ in range(5)]
        await asyncio.wait(asking, timeout=0.1)
        assert not any(one.done() for one in asking)
        counted.let_go.set()
        await asyncio.gather(*asking)
        await counts.made(state, 0)  # and never again for this state
        counts.close()

    asyncio.run(ask_at_once())
    assert counted.directions == [0]


def test_what_has_begun_is_finished_and_what_nobody_waits_for_is_left_out(
    counted: Counted, state: State
) -> None:
    async def leave() -> None:
        counts = counting.Counts(Turns())
        begun = asyncio.ensure_future(counts.made(state, 0))
        await asyncio.sleep(0.01)
        not_begun = asyncio.ensure_future(counts.made(state, 2))
        await asyncio.sleep(0)
        for asking in (begun, not_begun):
            asking.cancel()
        await asyncio.wait([begun, not_begun])
        counted.let_go.set()
        await counts.made(state, 0)
        assert counted.directions == [0]
        await counts.made(state, 2)
        counts.close()

    asyncio.run(leave())
    assert counted.directions == [0, 2]


def test_one_that_takes_long_lets_the_next_begin() -> None:
    async def take_turns() -> list[str]:
        turns = Turns()
        is_over = asyncio.Event()
        seen = []

        async def take(name: str, *, long: bool) -> None:
            async with turns.turn():
                seen.append(f"{name} begins")
                if long:
                    await is_over.wait()
            seen.append(f"{name} ends")

        working = [
            asyncio.ensure_future(take("the first", long=True)),
            asyncio.ensure_future(take("the second", long=False)),
        ]
        await working[1]
        is_over.set()
        await asyncio.gather(*working)
        async with turns.turn():  # which each has passed on once
            pass
        return seen

    seen = asyncio.run(take_turns())
    assert seen == ["the first begins", "the second begins", "the second ends", "the first ends"]
