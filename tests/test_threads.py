"""Any number of threads ask while one updates:
each is told what some state between says, and nobody waits or crashes.

The bodies run in processes of their own (`tests/apart.py`),
with threads that take turns as often as they can.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import nullcontext
from functools import cache, partial
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.apart import apart
from tests.conftest import Tally
from tests.saying import (
    DEEP,
    SETTINGS,
    facts_of,
    held,
    questions_about,
    rebuilt,
    reply,
    said,
)
from tests.strategies import Fact, random_facts

from casegraph import CaseBase, CasegraphError, CaseStore, Settings

STATES = 7  # of the history that is lived over and over
FRESH = 40  # names that come with every update and go with the next; no question is about them
GUESTS = ["guest", "visits"]  # an entity and a relation
ENTITIES = [*(f"e{number}" for number in range(9)), "guest"]
RELATIONS = ["r0", "r1", "r2", "visits"]
KINDS = ["CaseBase", "CaseStore"]
both_kinds = pytest.mark.parametrize("kind", KINDS)


@cache
def states() -> list[set[Fact]]:
    """Facts, an entity and a relation come and go."""
    random = Random(91)
    stable = set(random_facts(random, entities=9, relations=3, facts=30))
    visits = {
        ("guest", "visits", "e1"),
        ("guest", "r0", "e2"),
        ("e3", "r1", "guest"),
        ("e4", "visits", "e1"),
    }
    found = []
    for number in range(STATES):
        passing = set(random_facts(random, entities=9, relations=3, facts=10))
        if number % 3 == 1:
            passing |= visits
        found.append(stable | passing)
    return found


def opened(kind: str, folder: str, settings: Settings | None = None) -> CaseBase:
    return (
        CaseBase(settings) if kind == "CaseBase" else CaseStore.open(folder, settings)
    )


def at_once(*works: Callable[[], Any]) -> list[Any]:
    """What each returns when all run together, as interleaved as threads can be.

    Raises what one of them raises.
    """
    sys.setswitchinterval(1e-5)
    with ThreadPoolExecutor(len(works)) as pool:
        all_running = [pool.submit(work) for work in works]
        return [running.result() for running in all_running]


ENOUGH = 60  # questions that a test asks at least


class Timeline:
    """Numbers of the updates that have begun and ended:
    what is asked between two of them knows one between.
    """

    def __init__(self) -> None:
        self.begun = self.ended = 0
        # Answers that were seen; threads that add at once may miss some, which does no harm.
        self.answers = 0

    def possible(self, ended_before: int) -> range:
        """The states that a question asked since then may have been answered from."""
        return range(ended_before, self.begun + 1)


def fresh(number: int) -> set[Fact]:
    """Facts about entities that only one state has."""
    return {
        (f"new {number} {place}", "is new", f"new {number} {place + 1}")
        for place in range(FRESH)
    }


def asking_while_updating(
    kind: str, chosen: str, folder: str, threads: int, updates: int, seconds: float
) -> int:
    """How many questions were answered.

    Each as one of the states between says that could have been asked.
    """
    settings = SETTINGS[chosen]
    every = rebuilt(set().union(*states()), settings)
    questions = questions_about(every, ENTITIES, RELATIONS, GUESTS)
    # As often as the others.
    questions += 5 * [
        *(("complete", relation) for relation in RELATIONS),
        ("save", "new "),
    ]
    # How rare a fact is depends on how many entities there are: always as many are new.
    expected = [
        said(rebuilt(facts | fresh(0), settings), questions) for facts in states()
    ]
    replies_by_question = zip(*expected, strict=True)
    telling = [
        place
        for place, replies in enumerate(replies_by_question)
        if len(set(replies)) > 3
    ]
    assert len(telling) > 60, "questions that tell states apart"
    cases = opened(kind, folder, settings)
    timeline = Timeline()
    done = threading.Event()
    cases.update(add=states()[0] | fresh(0))

    def update() -> None:
        until = time.monotonic() + seconds
        for number in count(1):
            # A slow thread is waited for.
            is_enough = number > updates and timeline.answers > ENOUGH
            if done.is_set() or is_enough or (seconds and time.monotonic() > until):
                break
            before = states()[(number - 1) % STATES]
            after = states()[number % STATES]
            come = sorted(fresh(number))
            gone = sorted(fresh(number - 1))
            timeline.begun = number
            cases.update(
                add=[*sorted(after - before), *come],
                retract=[*sorted(before - after), *gone],
            )
            timeline.ended = number
        done.set()

    def ask(seed: int) -> int:
        random = Random(seed)
        asked = 0
        while not done.is_set():
            place = random.choice(telling)
            ended = timeline.ended
            try:
                found = reply(cases, questions[place])
            except BaseException:
                done.set()
                raise
            possible = {
                expected[number % STATES][place] for number in timeline.possible(ended)
            }
            if found not in possible:
                done.set()
                raise AssertionError(
                    f"{questions[place]} between {ended} and {timeline.begun}: {found}"
                )
            asked += 1
            timeline.answers += 1
        return asked

    _, *asked = at_once(update, *(partial(ask, seed) for seed in range(threads)))
    assert facts_of(cases) >= states()[timeline.ended % STATES]
    return sum(asked)


def asking_together(chosen: str, threads: int, times: int) -> int:
    """Nobody updates:
    what the first question finds out is found out once, or by each on its own.
    """
    settings = SETTINGS[chosen]
    questions = questions_about(rebuilt(states()[0], settings), ENTITIES, RELATIONS)
    expected = said(rebuilt(states()[0], settings), questions)
    for seed in range(times):
        cases = rebuilt(states()[0], settings)
        order = Random(seed).sample(range(len(questions)), len(questions))
        parts = [order[thread::threads] for thread in range(threads)]
        asked = [[questions[place] for place in part] for part in parts]
        found = at_once(*(partial(said, cases, part) for part in asked))
        assert found == [[expected[place] for place in part] for part in parts], (
            f"time {seed}"
        )
    return times * len(questions)


def updating_together(kind: str, folder: str, threads: int, each: int) -> list[Any]:
    """Every thread adds facts of its own, with names of its own and names of all;
    and takes every third out again.
    """
    cases = opened(kind, folder)

    def update(thread: int) -> set[Fact]:
        kept: set[Fact] = set()
        for number in range(each):
            fact = f"e{thread} {number}", f"r{number % 3}", f"e{number}"
            assert cases.update(add=[fact]).added == 1
            kept.add(fact)
            if number % 3 == 2:
                assert cases.update(retract=[fact]).retracted == 1
                kept.remove(fact)
        return kept

    kept_by_each = at_once(*(partial(update, thread) for thread in range(threads)))
    kept = set().union(*kept_by_each)
    missing = kept - facts_of(cases)
    assert facts_of(cases) == kept, (
        f"{len(missing)} of {len(kept)} acknowledged facts are missing"
    )
    questions = questions_about(
        rebuilt(kept), ["e0", "e1", "e0 0", "e1 1"], ["r0", "r1", "r2"]
    )
    assert said(cases, questions) == said(rebuilt(kept), questions)
    if isinstance(cases, CaseStore):
        updates = threads * (each + each // 3)
        assert cases.sequence == updates
        cases.close()
        with CaseStore.open(folder) as again:
            assert facts_of(again) == kept
            assert [event.sequence for event in again.history()] == list(
                range(1, updates + 1)
            )
    return sorted(kept)


def an_update_inside_an_update(kind: str, folder: str, propagates: bool) -> None:
    cases = opened(kind, folder)
    cases.update(add=states()[0])
    questions = questions_about(cases, ENTITIES, RELATIONS)
    before = facts_of(cases)
    told = list[CasegraphError]()
    expected = said(cases, questions)

    def facts() -> Iterator[Fact]:
        yield "outer", "r0", "e1"
        assert said(cases, questions) == expected, (
            "asking inside an update is answered from the state before"
        )
        try:
            cases.update(add=[("inner", "r0", "e2")])
        except CasegraphError as error:
            told.append(error)
            if propagates:
                raise
        yield "outer", "r1", "e2"

    with pytest.raises(CasegraphError) if propagates else nullcontext():
        cases.update(add=facts())
    assert told, "an update inside an update was taken in"
    kept = set(before)
    if not propagates:
        kept |= {("outer", "r0", "e1"), ("outer", "r1", "e2")}
    assert facts_of(cases) == kept
    cases.update(add=[("later", "r0", "e1")])
    assert facts_of(cases) == kept | {("later", "r0", "e1")}
    if isinstance(cases, CaseStore):
        assert cases.sequence == 2 + (not propagates)
        cases.close()
        assert facts_of(CaseStore.open(folder, read_only=True)) == facts_of(cases)


def asking_beside_an_update_that_waits(kind: str, folder: str) -> None:
    """One update waits for its facts.

    Meanwhile all asks end, and a second update waits for its turn.
    """
    cases = opened(kind, folder)
    begun = threading.Event()
    go = threading.Event()
    cases.update(add=states()[0])
    questions = questions_about(cases, ENTITIES, RELATIONS)
    expected = said(rebuilt(states()[0]), questions)

    def facts() -> Iterator[Fact]:
        yield "slow", "r0", "e1"
        begun.set()
        assert go.wait(50), "nobody asked"
        yield "slow", "r1", "e2"

    with ThreadPoolExecutor(8) as pool:
        slow = pool.submit(lambda: cases.update(add=facts()))
        assert begun.wait(20)
        second = pool.submit(lambda: cases.update(add=[("second", "r0", "e1")]))
        asking = [pool.submit(said, cases, questions) for _ in range(4)]
        try:
            assert all(one.result(timeout=30) == expected for one in asking)
        finally:
            go.set()
        assert slow.result(timeout=20).added == 2
        assert second.result(timeout=20).added == 1
    assert facts_of(cases) == states()[0] | {
        ("slow", "r0", "e1"),
        ("slow", "r1", "e2"),
        ("second", "r0", "e1"),
    }


def closing_beside_an_update_that_waits(folder: str) -> None:
    """One update waits for its facts. A store that is closed meanwhile is closed after it:
    else it would write to files that are closed, or to others that have got their numbers.
    """
    store = CaseStore.open(folder)
    store.update(add=states()[0])
    begun = threading.Event()
    go = threading.Event()

    def facts() -> Iterator[Fact]:
        yield "slow", "r0", "e1"
        begun.set()
        assert go.wait(50)
        yield "slow", "r1", "e2"

    with ThreadPoolExecutor(2) as pool:
        slow = pool.submit(lambda: store.update(add=facts()))
        assert begun.wait(20)
        closing = pool.submit(store.close)
        assert not wait([closing], timeout=0.2).done, "closed amid an update"
        go.set()
        assert slow.result(timeout=20).added == 2
        closing.result(timeout=20)
    expected = states()[0] | {("slow", "r0", "e1"), ("slow", "r1", "e2")}
    assert facts_of(CaseStore.open(folder)) == expected


def holding_a_state(kind: str, chosen: str, folder: str, names: int) -> None:
    cases = opened(kind, folder, SETTINGS[chosen])
    cases.update(add=states()[0])
    questions = questions_about(cases, ENTITIES, RELATIONS)
    # One that has counted what it needs, and one that counts only afterwards.
    asked = held(cases)
    fresh = held(cases)
    expected = said(asked, questions)
    graph = asked.graph
    sizes = len(graph), len(graph.entities), len(graph.relations)
    more = [
        (f"new {number}", f"r{number % 5}", f"e{number % 9}") for number in range(names)
    ]
    cases.update(add=more)
    cases.update(retract=["e1", "e2"])
    assert ("new 0", "r0", "e0") in cases.graph
    assert ("new 0", "r0", "e0") not in graph
    assert "new 0" not in graph.entities
    assert reply(fresh, ("ask", ("new 0", "r0"))) == reply(
        asked, ("ask", ("nobody", "r0"))
    )
    assert (len(graph), len(graph.entities), len(graph.relations)) == sizes
    assert said(fresh, questions) == expected
    assert said(asked, questions) == expected


@both_kinds
@pytest.mark.parametrize("chosen", list(SETTINGS))
def test_threads_that_ask_while_one_updates_are_told_what_some_state_between_says(
    kind: str, chosen: str, memory_folder: Path, tally: Tally
) -> None:
    lasting = 60 if chosen == "default" else 15
    threads, updates, seconds = (8, sys.maxsize, lasting) if DEEP else (3, 12, 0)
    asked = apart(
        asking_while_updating,
        kind,
        chosen,
        str(memory_folder),
        threads,
        updates,
        seconds,
    )
    assert asked > 20
    tally("questions asked while others updated", asked)


@pytest.mark.parametrize("chosen", list(SETTINGS))
def test_threads_that_ask_a_new_case_base_at_once_are_told_what_one_is(
    chosen: str, tally: Tally
) -> None:
    asked = apart(asking_together, chosen, 8, 50 if DEEP else 25)
    assert asked > 0
    tally("first questions asked by threads at once", asked)


@both_kinds
@pytest.mark.parametrize("threads", [2, 8])
def test_every_update_of_threads_that_update_one_object_is_there(
    kind: str, threads: int, memory_folder: Path, tally: Tally
) -> None:
    for number in range(10 if DEEP else 1):
        each = 120 // threads
        apart(updating_together, kind, str(memory_folder / str(number)), threads, each)
        tally("updates that other threads updated beside", threads * (each + each // 3))


@both_kinds
@pytest.mark.parametrize("propagates", [True, False], ids=["raised", "caught"])
def test_an_update_inside_an_update_is_refused_and_nothing_of_it_is_taken_in(
    kind: str, propagates: bool, memory_folder: Path
) -> None:
    apart(an_update_inside_an_update, kind, str(memory_folder), propagates)


@both_kinds
def test_asking_waits_for_no_update_and_a_second_update_waits_for_the_first(
    kind: str, memory_folder: Path
) -> None:
    apart(asking_beside_an_update_that_waits, kind, str(memory_folder))


def test_a_store_is_closed_after_the_update_that_another_thread_makes(
    memory_folder: Path,
) -> None:
    apart(closing_beside_an_update_that_waits, str(memory_folder))


@both_kinds
@pytest.mark.parametrize("chosen", list(SETTINGS))
def test_who_holds_a_state_keeps_it_as_it_was_however_many_names_come(
    kind: str, chosen: str, memory_folder: Path
) -> None:
    apart(
        holding_a_state,
        kind,
        chosen,
        str(memory_folder),
        1_000_000 if DEEP else 100_000,
    )
