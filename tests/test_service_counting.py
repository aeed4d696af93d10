"""The service counts a relation once for all questions that wait for it."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from tests.serving import Live, live

from casegraph import CaseBase
from casegraph.service import counting

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from casegraph.answering.state import State

FACTS = [
    *[(f"e{k}", "likes", f"e{k + 1}") for k in range(40)],
    *[(f"e{k}", "knows", f"e{k + 1}") for k in range(0, 40, 2)],
]
NEW = ("e50", "likes", "e51")


@pytest.fixture
def updated(tmp_path: Path) -> Iterator[Live]:
    """A service after an update, so that nothing is counted yet."""
    with live(tmp_path / "store", facts=FACTS) as running:
        running.add(NEW)
        assert not running.service.store.state.statistics.counted
        yield running


@pytest.fixture(scope="module")
def cases() -> CaseBase:
    """The same facts, with everything counted."""
    counted = CaseBase()
    counted.update(add=[*FACTS, NEW])
    counted.prepare()
    return counted


def told(response: dict[str, Any]) -> list[tuple[str, float]]:
    return [(answer["entity"], answer["score"]) for answer in response["answers"]]


def expected(cases: CaseBase, name: str) -> list[tuple[str, float]]:
    return [(answer.entity, answer.score) for answer in cases.ask(name, "likes")]


def test_simultaneous_questions_about_several_entities_are_all_answered_right(
    updated: Live, cases: CaseBase
) -> None:
    names = [f"e{k}" for k in range(12)]
    with ThreadPoolExecutor(len(names)) as pool:
        answered = pool.map(
            lambda name: updated.get("/v1/ask", entity=name, relation="likes"), names
        )
        found = [told(response) for response in answered]
    assert found == [expected(cases, name) for name in names]


def test_nobody_waits_for_ever_for_counts_that_cannot_be_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[int] = []

    def refuse(state: State, direction: int) -> None:
        calls.append(direction)
        raise MemoryError

    monkeypatch.setattr(counting, "prepare", refuse)
    fresh = CaseBase()
    fresh.update(add=FACTS)

    async def ask() -> None:
        counts = counting.Counts()
        await asyncio.gather(*(counts.made(fresh.state, 0) for _ in range(3)))
        counts.close()
        await counts.made(fresh.state, 2)

    asyncio.run(asyncio.wait_for(ask(), 60))
    assert calls == [0]
