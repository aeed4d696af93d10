"""The service counts once for all that wait, and nobody waits for a question that takes long."""

from __future__ import annotations

import asyncio
import time
from threading import Event
from typing import TYPE_CHECKING

import pytest

from casegraph import CaseBase, CaseStore, world
from casegraph.errors import MalformedFact
from casegraph.service import counting
from casegraph.service.feed import Feed, Message
from casegraph.service.limits import Limits
from casegraph.service.turns import QUICK, Durations, Turns
from casegraph.service.writer import Writer
from casegraph.storage.store.store import PlannedUpdate

if TYPE_CHECKING:
    from pathlib import Path

    from casegraph.answering.state import State, Step
    from casegraph.errors import CasegraphError
    from casegraph.storage.store.store import Meanwhile


class Counted:
    """Stands in for counting: notes what is counted, which takes until it is let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.directions: list[int] = []
        self.let_go = Event()
        monkeypatch.setattr(counting, "prepare", self._count)

    def _count(self, state: State, direction: int) -> None:
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
        counts = counting.Counts()
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
        counts = counting.Counts()
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
    assert seen == [
        "the first begins",
        "the second begins",
        "the second ends",
        "the first ends",
    ]


def test_what_is_asked_about_most_is_counted_first_and_is_forgotten_in_time(
    monkeypatch: pytest.MonkeyPatch, state: State
) -> None:
    counted = Counted(monkeypatch)
    counted.let_go.set()

    async def ask_and_update() -> None:
        counts = counting.Counts()
        for direction in (4, 2, 2):
            await counts.made(state, direction)
        counted.directions.clear()
        with counts.ahead(state, counts.in_demand()):
            pass
        assert counted.directions == [2, 4]
        for _ in range(20):
            counts.in_demand()
        assert counts.in_demand() == []
        counts.close()

    asyncio.run(ask_and_update())


def test_an_update_does_not_wait_long_for_counts(
    counted: Counted, state: State
) -> None:
    counts = counting.Counts()
    with counts.ahead(state, [0, 2]):
        pass  # it ends although what has begun to be counted takes longer
    counted.let_go.set()
    with counts.ahead(state, [4]):  # and begins no more of these
        pass
    assert counted.directions == [0, 4]
    counts.close()


def test_what_is_counted_is_not_counted_again(
    monkeypatch: pytest.MonkeyPatch, state: State
) -> None:
    counts = counting.Counts()
    with counts.ahead(state, [0]):
        assert counts._ahead.submit(lambda: True).result(60)  # after what was begun
    counted = Counted(monkeypatch)
    counted.let_go.set()
    asyncio.run(counts.made(state, 0))
    counts.close()
    assert counted.directions == []


def test_questions_are_quick_if_those_before_were() -> None:
    durations = Durations()
    assert not durations.is_quick(0)  # nobody knows yet
    with durations.measured(0):
        pass
    assert durations.is_quick(0)
    assert not durations.is_quick(2)
    with durations.measured(0):
        time.sleep(20 * QUICK)
    assert not durations.is_quick(0)
    for _ in range(40):
        with durations.measured(0):
            pass
    assert durations.is_quick(0)


def test_updates_that_wait_at_the_same_time_are_written_together(
    tmp_path: Path,
) -> None:
    facts = [(f"e{number}", "is", "new") for number in range(10)]
    malformed = ("a", "b", "line\nend")

    async def write_all() -> list[Step | BaseException]:
        writer = Writer(store, counting.Counts(), Turns(), listeners)
        writing = [
            writer.write(PlannedUpdate(add=[fact]))
            for fact in (*facts, malformed, facts[0])
        ]
        made = await asyncio.gather(*writing, return_exceptions=True)
        await writer.close()
        return made

    with CaseStore.open(tmp_path / "store") as store:
        groups = []
        together = store.update_all

        def noted(
            all_wanted: list[PlannedUpdate], meanwhile: Meanwhile
        ) -> list[Step | CasegraphError]:
            groups.append(len(all_wanted))
            return together(all_wanted, meanwhile)

        store.update_all = noted  # type: ignore[method-assign, assignment]
        listeners = Told()
        made = asyncio.run(write_all())
        assert sum(groups) == 12
        assert len(groups) < 4
        assert [one.state.sequence for one in made[:10]] == list(range(1, 11))  # type: ignore[union-attr]
        assert isinstance(made[10], MalformedFact)
        assert made[11].update.repeated == 1  # type: ignore[union-attr]
        assert listeners.sequences == list(range(1, 11))
        assert set(store.graph.facts()) == set(facts)


class Told(Feed):
    """Notes what listeners are told."""

    def __init__(self) -> None:
        super().__init__(Limits())
        self.sequences: list[int | None] = []

    def tell(self, message: Message) -> None:
        self.sequences.append(message.sequence)
