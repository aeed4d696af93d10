"""Ctrl-C at any moment: memory equals disk, or the store refuses to write
until it is opened again; nothing is lost.

Interrupts are raised at the chances that the interpreter has (`tests/interrupting.py`),
and by real signals at random moments. All runs in processes of their own,
since what an interrupt may leave behind is a lock that nobody lets go.
"""

import json
import os
import shutil
import signal
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial
from itertools import count
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, TypeAlias

import pytest
from tests.apart import apart
from tests.conftest import Tally
from tests.interrupting import Alarm, Chances, chances, interrupted, sampled, seconds_of
from tests.saying import DEEP, SETTINGS, facts_of, questions_about, rebuilt, said
from tests.strategies import Fact, random_facts

from casegraph import CaseBase, CasegraphError, CaseStore, Settings

if os.name == "posix":
    import resource

# At how many points work is interrupted around its writes, after them, and at all places of the
# code, by settings.
ALL = 1_000_000
POINTS = {"default": ALL, "paper": ALL} if DEEP else {"default": 6}
SHOWN = 5  # failures
LONGEST = 400  # characters of a failure
START = set(random_facts(Random(17), entities=6, relations=2, facts=18))
COME = [("alice", "knows", "bob"), ("alice", "r0", "e1"), ("e2", "r1", "carol")]
GONE: list[Fact | str] = [*sorted(START)[:2], "e3"]
AFTER = {fact for fact in START if fact not in GONE and "e3" not in fact} | set(COME)
NEXT = [("dave", "r0", "e1"), ("erin", "meets", "e2")]
ENTITIES = ["e1", "e2", "alice", "dave", "erin"]
RELATIONS = ["r0", "r1", "knows", "meets"]

needs_signals = pytest.mark.skipif(
    not hasattr(signal, "setitimer"), reason="no interval timers on this system"
)


@dataclass(frozen=True)
class Work:
    """Something to interrupt: what to do before, what to do,
    and the facts that may be there afterwards.
    """

    do: Callable[[CaseBase], object]
    before: Callable[[CaseBase], object] = lambda _: None
    possible: tuple[set[Fact], ...] = (START,)
    empty: bool = False


def counted(cases: CaseBase) -> None:
    cases.prepare()
    cases.ask("e1", "r0")


def changed(
    cases: CaseBase, come: Iterable[Fact] = COME, gone: Iterable[Fact | str] = GONE
) -> None:
    cases.update(add=come, retract=gone)


def forgetting(cases: CaseBase) -> None:
    assert isinstance(cases, CaseStore)
    cases.compact(forget_history=True)


def compacting(cases: CaseBase) -> None:
    assert isinstance(cases, CaseStore)
    cases.compact()


def closing(cases: CaseBase) -> None:
    assert isinstance(cases, CaseStore)
    cases.close()


def explaining(cases: CaseBase) -> None:
    cases.explain(cases.ask("e1", "r0")[0])


IN_MEMORY = {
    "update": Work(changed, possible=(START, AFTER)),
    "update of what was counted": Work(changed, counted, (START, AFTER)),
    "first update": Work(
        lambda cases: cases.update(add=START), possible=(set(), START), empty=True
    ),
    "prepare": Work(lambda cases: cases.prepare()),
    "ask": Work(lambda cases: cases.ask("e1", "r0")),
    "explain": Work(explaining),
}
ON_DISK = IN_MEMORY | {
    "compact": Work(compacting, changed, (AFTER,)),
    "forget history": Work(forgetting, changed, (AFTER,)),
    "close": Work(closing, changed, (AFTER,)),
}


@cache
def expected(facts: frozenset[Fact], chosen: str) -> list[str | None]:
    """What a rebuild of some facts says to all questions."""
    return said(rebuilt(facts, SETTINGS[chosen]), questions())


@cache
def questions() -> list[Any]:
    guests = [*ENTITIES[2:], *RELATIONS[2:]]
    return questions_about(rebuilt(AFTER | set(NEXT)), ENTITIES, RELATIONS, guests)


# In which all questions are asked; no divisor of how many there are of a kind.
TURNS = 11
_turns = count()


def assert_says_what_a_rebuild_says(cases: CaseBase, chosen: str) -> None:
    """To some of the questions, each time to the next: to count for all takes most of the time."""
    turn = next(_turns) % TURNS
    asked = questions()[turn::TURNS]
    answers = expected(frozenset(facts_of(cases)), chosen)[turn::TURNS]
    assert said(cases, asked) == answers, "answers are not a rebuild's"


def assert_sound(cases: CaseBase, possible: Iterable[set[Fact]], chosen: str) -> None:
    """All or nothing was done, and the next update is right."""
    memory = facts_of(cases)
    assert memory in possible, "neither all nor nothing is in memory"
    assert_says_what_a_rebuild_says(cases, chosen)
    cases.update(add=NEXT)
    assert facts_of(cases) == memory | set(NEXT)
    assert_says_what_a_rebuild_says(cases, chosen)


def assert_store_sound(
    store: CaseStore, possible: tuple[set[Fact], ...], chosen: str
) -> None:
    """Memory equals disk or the store says to open it again.

    Then it opens, and keeps what it acknowledges next.
    """
    folder = store.folder
    memory = facts_of(store)
    assert memory in possible, "neither all nor nothing is in memory"
    assert_says_what_a_rebuild_says(store, chosen)
    disk = facts_of(CaseStore.open(folder, read_only=True))
    assert disk in possible, "neither all nor nothing is on disk"
    try:
        store.update(add=NEXT)
        assert memory == disk, "memory and disk differ, and the store takes more"
    except CasegraphError as refused:
        assert "open it again" in str(refused), f"refused with {refused!r}"  # noqa: PT017
        store = CaseStore.open(folder)
        assert facts_of(store) == disk, "opening changed what is there"
        store.update(add=NEXT)
    kept = disk | set(NEXT)
    assert facts_of(store) == kept
    sequence = store.sequence
    store.update(retract=NEXT[:1], add=[("frank", "meets", "dave")])
    kept = (kept - {NEXT[0]}) | {("frank", "meets", "dave")}
    assert facts_of(store) == kept
    assert store.sequence == sequence + 1
    store.close()
    with CaseStore.open(folder) as again:
        assert facts_of(again) == kept, "acknowledged, and not there"
        assert again.sequence == sequence + 1
        assert again.torn == 0
        assert_says_what_a_rebuild_says(again, chosen)


def each_chance(
    act: Callable[[Path, Callable[[Any], Any]], object],
    name: str,
    folder: str,
    chosen: str,
) -> list[Any]:
    """How often some work was interrupted, and every failure after it.

    act  does everything in a folder of its own,
         and lets the work itself go through what it is given
    """
    found: list[Chances] = []
    act(Path(folder, "counting"), lambda work: found.append(chances(work)))
    tried = 0
    failures = []
    points = sampled(found[0], POINTS[chosen])
    for chance in points:
        where: list[str] = []
        try:
            trial = Path(folder, "trial")
            act(trial, lambda work: where.append(interrupted(work, chance)))  # noqa: B023
        except Exception as error:
            place = f"{name}, at {''.join(where)} (chance {chance})"
            failures.append(f"{place}: {type(error).__name__}: {error}"[:LONGEST])
        tried += any(where)
        shutil.rmtree(Path(folder, "trial"), ignore_errors=True)
    return [tried, failures]


def memory_interrupted(name: str, chosen: str, folder: str) -> list[Any]:
    work = IN_MEMORY[name]

    def act(_: Path, through: Callable[[Any], Any]) -> None:
        cases = (
            CaseBase(SETTINGS[chosen])
            if work.empty
            else rebuilt(START, SETTINGS[chosen])
        )
        work.before(cases)
        through(lambda: work.do(cases))
        assert_sound(cases, work.possible, chosen)

    return each_chance(act, name, folder, chosen)


def store_interrupted(name: str, chosen: str, folder: str) -> list[Any]:
    work = ON_DISK[name]
    template = made(Path(folder, "template"), SETTINGS[chosen], empty=work.empty)

    def act(trial: Path, through: Callable[[Any], Any]) -> None:
        shutil.copytree(template, trial)
        store = CaseStore.open(trial)
        work.before(store)
        through(lambda: work.do(store))
        if name == "close":
            store.close()  # once more does no harm, and does what is left to do
            store = CaseStore.open(trial)
        assert_store_sound(store, work.possible, chosen)

    return each_chance(act, name, folder, chosen)


def opening_interrupted(name: str, chosen: str, folder: str) -> list[Any]:
    """Opening makes a store, or recovers one whose last update was cut short, or reads one.

    Then it opens again.
    """
    template = made(Path(folder, "template"), SETTINGS[chosen], empty=False)
    if name == "torn":
        log = next(template.glob("log-*"))
        log.write_bytes(log.read_bytes() + b"an update that was not finished")

    def act(trial: Path, through: Callable[[Any], Any]) -> None:
        if name != "new":
            shutil.copytree(template, trial)
        opened: list[CaseStore] = []
        through(lambda: opened.append(CaseStore.open(trial, SETTINGS[chosen])))
        store = opened[0] if opened else CaseStore.open(trial, SETTINGS[chosen])
        facts = set() if name == "new" else START
        assert_store_sound(store, (facts,), chosen)

    return each_chance(act, f"open {name}", folder, chosen)


def made(folder: Path, settings: Settings, *, empty: bool) -> Path:
    """A store, closed."""
    with CaseStore.open(folder, settings) as store:
        if not empty:
            store.update(add=sorted(START)[::2])
            store.compact()
            store.update(add=sorted(START)[1::2])
    return folder


def living_under_signals(kind: str, folder: str, times: int) -> list[int]:
    """Updates, with real signals at random moments.

    A store forgets its history now and then, under signals, too.
    """
    random = Random(5)
    alarm = Alarm()
    hits = 0
    reopened = 0
    cases = CaseBase() if kind == "CaseBase" else CaseStore.open(Path(folder, "store"))
    cases.update(add=START)
    first_updates = [
        partial(cases.update, add=[(f"first {number}", "r0", "e1")])
        for number in range(9)
    ]
    taken = median(map(seconds_of, first_updates))
    for number in count():
        if hits >= times:
            break
        before = facts_of(cases)
        if kind == "CaseStore" and number % 50 == 49:
            after = before
            seconds = 4 * taken
            work = partial(forgetting, cases)
        else:
            come = {
                *random_facts(random, entities=9, relations=3, facts=4),
                (f"new {number}", "r0", "e1"),
            }
            gone = {fact for fact in sorted(before) if random.random() < 0.2}
            after = (before - gone) | come
            seconds = taken
            work = partial(changed, cases, come, gone)
        hit = alarm.interrupts(work, random.uniform(1e-5, 1.5 * seconds))
        hits += hit
        when = f"interrupt {hits}, update {number}"
        possible = (before, after) if hit else (after,)
        assert facts_of(cases) in possible, (
            f"{when}: neither all nor nothing is in memory"
        )
        if isinstance(cases, CaseStore):
            now = as_on_disk(cases, possible, when)
            assert now is cases or hit, "refused without an interrupt"
            reopened += now is not cases
            cases = now
        if number % 20 == 0:
            assert_says_what_a_rebuild_says(cases, "default")
    return [hits, reopened]


def as_on_disk(
    store: CaseStore, possible: tuple[set[Fact], ...], when: str
) -> CaseStore:
    """The store, or the one opened in its place if it refuses to write."""
    disk = facts_of(CaseStore.open(store.folder, read_only=True))
    memory = facts_of(store)
    assert disk in possible, f"{when}: neither all nor nothing is on disk"
    try:
        store.update(add=[("probe", "r0", "e1")])
        store.update(retract=[("probe", "r0", "e1")])
    except CasegraphError as refused:
        assert "open it again" in str(refused), f"{when}: refused with {refused!r}"  # noqa: PT017
        return CaseStore.open(store.folder)
    assert memory == disk, f"{when}: memory and disk differ, and the store takes more"
    return store


LARGE = [
    (f"large {number}", "is large", f"large {number + 1}") for number in range(8000)
]


def memory_exhausted(kind: str, folder: str, times: int) -> list[Any]:
    """A large update with ever more memory to spare;
    how often that did not suffice, and what was not sound then.

    Every trial is a fork, since memory that was taken once is there for the next.
    """
    os.environ["CASEGRAPH_THREADS"] = "1"
    # Found out here, once, and not in each of the forks.
    expected(frozenset(START), "default")
    needed = _told_by_fork(partial(_large_update, kind, folder, None))[0]
    failures = 0
    all_problems = []
    for trial in range(times):
        spare = needed * trial // times
        failed, *problems = _told_by_fork(partial(_large_update, kind, folder, spare))
        failures += failed
        all_problems += problems
    return [failures, all_problems]


def _large_update(kind: str, folder: str, spare: int | None) -> list[Any]:
    """How much memory a large update takes;
    or, if there is less to spare, whether it failed and what went wrong.
    """
    place = Path(folder, "trial")
    if kind == "CaseBase":
        cases = rebuilt(START)
    else:
        cases = CaseStore.open(made(place, Settings(), empty=False))
    before = _status("VmSize")
    failed = False
    problems = list[str]()
    resource.setrlimit(
        resource.RLIMIT_AS, (-1 if spare is None else before + spare, -1)
    )
    try:
        cases.update(add=LARGE)
    except Exception:
        failed = True
    resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
    if spare is None:
        shutil.rmtree(place, ignore_errors=True)
        return [_status("VmPeak") - before]
    try:
        possible = (START, START | set(LARGE))
        if isinstance(cases, CaseStore):
            assert_store_sound(cases, possible, "default")
        else:
            assert_sound(cases, possible, "default")
    except Exception as error:
        problem = f"with {spare:,} bytes to spare: {type(error).__name__}: {error}"
        problems.append(problem[:LONGEST])
    shutil.rmtree(place, ignore_errors=True)
    return [failed, *problems]


def _told_by_fork(work: Callable[[], list[Any]]) -> list[Any]:
    """What some work returns, done in a copy of this process."""
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        try:
            os.write(writing, json.dumps(work()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as told:  # noqa: PTH123  (a pipe has no path)
        content = told.read()
    _, status = os.waitpid(child, 0)
    return (
        json.loads(content) if content else [True, f"the process ended with {status}"]
    )


def _status(name: str) -> int:
    """Bytes of memory of this process."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    line = next(line for line in lines if line.startswith(f"{name}:"))
    kibibytes = line.split()[1]
    return 1024 * int(kibibytes)


def assert_none(found: list[Any]) -> int:
    """No failure; returns how many interrupts there were."""
    tried, failures = found
    assert not failures, f"{len(failures)} of {tried} interrupts:\n" + "\n".join(
        failures[:SHOWN]
    )
    assert tried > 0
    return int(tried)


Interrupts: TypeAlias = Callable[[Callable[[str, str, str], list[Any]], str, str], None]


@pytest.fixture(params=list(POINTS))
def assert_sound_after_interrupts(
    request: pytest.FixtureRequest, memory_folder: Path, tally: Tally
) -> Interrupts:
    """Interrupts some work at its chances, in a process of its own, under each of the settings."""

    def interrupt(
        work: Callable[[str, str, str], list[Any]], name: str, of: str
    ) -> None:
        found = apart(work, name, request.param, str(memory_folder))
        tally(f"interrupts at a chance, {of}", assert_none(found))

    return interrupt


@pytest.mark.parametrize("name", IN_MEMORY)
def test_a_case_base_interrupted_at_any_chance_has_done_all_or_nothing(
    name: str, assert_sound_after_interrupts: Interrupts
) -> None:
    assert_sound_after_interrupts(memory_interrupted, name, "CaseBase")


@pytest.mark.parametrize("name", ON_DISK)
def test_a_store_interrupted_at_any_chance_equals_its_disk_or_says_to_open_it_again(
    name: str, assert_sound_after_interrupts: Interrupts
) -> None:
    assert_sound_after_interrupts(store_interrupted, name, "CaseStore")


@pytest.mark.parametrize("name", ["new", "whole", "torn"])
def test_opening_a_store_that_was_interrupted_at_any_chance_lets_it_be_opened_again(
    name: str, assert_sound_after_interrupts: Interrupts
) -> None:
    assert_sound_after_interrupts(opening_interrupted, name, "opening a CaseStore")


@needs_signals
@pytest.mark.parametrize("kind", ["CaseBase", "CaseStore"])
def test_signals_at_random_moments_lose_nothing(
    kind: str, memory_folder: Path, tally: Tally
) -> None:
    times = 1000 if DEEP else 100
    hits, _ = apart(living_under_signals, kind, str(memory_folder), times)
    assert hits == times
    tally(f"signals at random moments, {kind}", hits)


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(),
    reason="needs a system that tells and limits memory",
)
@pytest.mark.parametrize("kind", ["CaseBase", "CaseStore"])
def test_an_update_that_memory_does_not_suffice_for_has_done_all_or_nothing(
    kind: str, memory_folder: Path, tally: Tally
) -> None:
    found = apart(memory_exhausted, kind, str(memory_folder), 100 if DEEP else 8)
    tally("updates that memory did not suffice for", assert_none(found))
