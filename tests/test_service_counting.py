"""In a large graph, the service counts no more than the questions depend on that it is asked.

What it answers is the same as if everything had been counted.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from tests.serving import Live, live

from casegraph import CaseBase
from casegraph.answering.query import is_prepared, prepare
from casegraph.graph.arrays import Ids, ids
from casegraph.graph.directions import forward
from casegraph.service import counting
from casegraph.statistics import own_hits

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from casegraph.answering.state import State

# Who likes whom can be told by who knows whom from half of the entities, and by who meets whom from
# the others.
SEVERAL = [
    *[(f"e{k}", "likes", f"e{k + 1}") for k in range(40)],
    *[(f"e{k}", "knows", f"e{k + 1}") for k in range(0, 40, 2)],
    *[(f"e{k}", "meets", f"e{k + 1}") for k in range(1, 40, 2)],
]
NEW = ("e50", "likes", "e51")


@pytest.fixture(autouse=True)
def every_graph_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_hits, "LARGE", 0)


@pytest.fixture
def large(tmp_path: Path) -> Iterator[Live]:
    """A service after an update, so that nothing is counted yet."""
    with live(tmp_path / "store", facts=SEVERAL) as running:
        running.add(NEW)
        assert not running.service.store.state.statistics.counted
        yield running


@pytest.fixture(scope="module")
def cases() -> CaseBase:
    """The same facts, with everything counted."""
    counted = CaseBase()
    counted.update(add=[*SEVERAL, NEW])
    counted.prepare()
    return counted


def likes_of(state: State) -> int:
    return forward(state.graph.relations.find("likes") or 0)


def entity(state: State, name: str) -> Ids:
    found = state.graph.entities.find(name)
    assert found is not None
    return ids([found])


def told(response: dict[str, Any]) -> list[tuple[str, float]]:
    return [(answer["entity"], answer["score"]) for answer in response["answers"]]


def expected(cases: CaseBase, name: str) -> list[tuple[str, float]]:
    return [(answer.entity, answer.score) for answer in cases.ask(name, "likes")]


def test_what_a_question_does_not_depend_on_is_not_counted(
    large: Live, cases: CaseBase
) -> None:
    assert told(large.get("/v1/ask", entity="e0", relation="likes")) == expected(
        cases, "e0"
    )
    state = large.service.store.state
    likes = likes_of(state)
    assert likes not in state.statistics.counted
    assert state.statistics.is_counted_around(likes, entity(state, "e0"))
    assert not state.statistics.is_counted_around(likes, entity(state, "e1"))
    assert told(large.get("/v1/ask", entity="e1", relation="likes")) == expected(
        cases, "e1"
    )


def test_a_batch_is_counted_for_all_its_entities(large: Live, cases: CaseBase) -> None:
    """Of more than a few, everything is counted."""
    state = large.service.store.state
    for names in (["e0", "e2"], [f"e{k}" for k in range(20)]):
        questions = [{"entity": name, "relation": "likes"} for name in names]
        batch = large.post("/v1/ask", {"questions": questions})
        for name, answered in zip(names, batch["answered"], strict=True):
            assert told(answered) == expected(cases, name)
        is_whole = likes_of(state) in state.statistics.counted
        assert is_whole == (len(names) > 2)


def test_simultaneous_questions_about_several_entities_are_all_answered_right(
    large: Live, cases: CaseBase
) -> None:
    names = [f"e{k}" for k in range(12)]
    with ThreadPoolExecutor(len(names)) as pool:
        answered = pool.map(
            lambda name: large.get("/v1/ask", entity=name, relation="likes"), names
        )
        found = [told(response) for response in answered]
    assert found == [expected(cases, name) for name in names]


@pytest.mark.parametrize("is_large", [True, False])
def test_questions_wait_together_and_count_again_only_if_that_does_not_suffice(
    is_large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_large:
        monkeypatch.setattr(own_hits, "LARGE", 1 << 25)
    fresh = CaseBase()
    fresh.update(add=SEVERAL)
    state = fresh.state
    counted: list[list[int]] = []

    def noted(state: State, direction: int, entities: Ids) -> bool:
        counted.append(entities.tolist())
        return prepare(state, direction, entities)

    monkeypatch.setattr(counting, "prepare", noted)
    even, odd, other_even = (entity(state, name) for name in ("e0", "e1", "e2"))

    async def ask_at_once() -> None:
        counts = counting.Counts()
        likes = likes_of(state)

        async def ask(entities: Ids) -> None:
            await counts.made(state, likes, entities)
            assert is_prepared(state, likes, entities)

        await asyncio.gather(*map(ask, [even, even, odd, other_even, odd]))
        counts.close()

    asyncio.run(ask_at_once())
    asked_for = [entities.tolist() for entities in (even, odd, other_even)]
    assert counted[0] == asked_for[0]
    assert len(counted) == 1 if not is_large else len(counted) <= 3
    assert all(one in asked_for for one in counted)


def test_nobody_waits_for_ever_for_counts_that_cannot_be_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[int] = []

    def refuse(state: State, direction: int, entities: Ids) -> bool:
        calls.append(direction)
        raise MemoryError

    monkeypatch.setattr(counting, "prepare", refuse)
    fresh = CaseBase()
    fresh.update(add=SEVERAL)

    async def ask() -> None:
        counts = counting.Counts()
        asked = [ids([0]), ids([1]), ids([2])]
        await asyncio.gather(*(counts.made(fresh.state, 0, one) for one in asked))
        counts.close()
        await counts.made(fresh.state, 2, ids([0]))

    asyncio.run(asyncio.wait_for(ask(), 60))
    assert calls == [0]
