"""Whatever happens to the process, to its machine or to the disk:
nothing acknowledged is lost, nothing is invented.
"""

import errno
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, partial
from itertools import count, product
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, TypeAlias

import pytest
from tests import crashing
from tests.apart import apart
from tests.conftest import Tally
from tests.crashing import BATCHES, FORGOTTEN, Failing
from tests.power_loss import Recorder
from tests.saying import DEEP
from tests.strategies import Fact, path_type_in_oracle, random_facts, relation_in_oracle

from casegraph.casebase import CaseBase
from casegraph.errors import CasegraphError
from casegraph.storage.case_files import COLUMNS
from casegraph.storage.store.checking import check, salvage
from casegraph.storage.store.store import CaseStore

# Of which each test is made, so that they run beside each other.
PARTS = range(8 if DEEP else 1)
ROOT = Path(__file__).parents[1]
FACTS = random_facts(Random(51), entities=8, relations=3, facts=24)
# How often the work makes each call of the system, at least.
SYSTEM_CALLS = {
    "fsync": 110,
    "write": 110,
    "unlink": 25,
    "mkdir": 4,
    "rename": 4,
    "rmdir": 2,
}

in_parts = pytest.mark.parametrize("part", PARTS)
needs_fork = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="no fork on this system"
)
needs_strace = pytest.mark.skipif(
    shutil.which("strace") is None, reason="no strace on this machine"
)


@cache
def states() -> list[set[Fact]]:
    return crashing.states()


def named_counts(cases: CaseBase) -> dict[Any, dict[Any, list[int]]]:
    """All counts of a case base, by name."""
    cases.prepare()
    graph = cases.graph
    n = cases.settings.max_length
    named = dict[Any, dict[Any, list[int]]]()
    for relation, found in cases.state.statistics.counted.items():
        columns = [getattr(found, column).tolist() for column in COLUMNS]
        rows = {}
        for number, *counts in zip(*columns, strict=True):
            rows[path_type_in_oracle(graph, number, n)] = counts
        if rows:
            named[relation_in_oracle(graph, relation)] = rows
    return named


@cache
def rebuilt_counts(facts: frozenset[Fact]) -> dict[Any, dict[Any, list[int]]]:
    rebuilt = CaseBase()
    rebuilt.update(add=facts)
    return named_counts(rebuilt)


Survival: TypeAlias = Callable[[Path, int], None]


@pytest.fixture
def assert_survived(caplog: pytest.LogCaptureFixture) -> Survival:
    """Checks a store to which so many updates were acknowledged.

    They are there, with the next update or without. Counts are those of a rebuild; all is whole.
    """

    def check_store(folder: Path, acknowledged: int) -> None:
        if acknowledged == 0 and not folder.exists():
            return
        with CaseStore.open(folder) as store:
            facts = set(store.graph.facts())
            assert facts in states()[acknowledged : acknowledged + 2]
            assert named_counts(store) == rebuilt_counts(frozenset(facts))
        caplog.clear()
        with CaseStore.open(folder) as store:
            assert set(store.graph.facts()) == facts
            assert store.torn == 0
            assert caplog.records == []
            store.update(add=[("a", "new", "fact")])
        assert ("a", "new", "fact") in CaseStore.open(folder, read_only=True).graph
        assert caplog.records == [], "something is damaged"

    return check_store


def run_killed(folder: Path, points: list[str]) -> dict[str, int]:
    """How many updates were acknowledged to a process that was killed at each point."""
    command = [sys.executable, "-m", "tests.crashing", str(folder), *points]
    subprocess.run(
        command, check=True, cwd=ROOT, env={**os.environ, "CASEGRAPH_THREADS": "1"}
    )
    acknowledged = {}
    for point in points:
        numbers = (folder / f"{point}.acknowledged").read_bytes()
        acknowledged[point] = max(numbers, default=0)
    return acknowledged


class Recording(NamedTuple):
    """All that the work does, and the folder that it does it in."""

    work: Recorder
    folder: Path


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    recorder = Recorder()
    folder = tmp_path_factory.mktemp("recorded")
    with crashing.calls_through(recorder):
        crashing.work(folder / "store", recorder.acknowledge)
    return Recording(recorder, folder)


def test_the_states_of_the_work_differ() -> None:
    assert len(set(map(frozenset, states()))) == BATCHES + 1


def points_to_kill_at(work: Recorder) -> list[int]:
    """All calls of the work; in the quick tier some, and more where history is forgotten."""
    every_call = range(1, work.calls + 1)
    if DEEP:
        return list(every_call)
    acknowledged_after = {
        event.of: event.given[0]
        for event in work.events
        if event.doing == "acknowledge"
    }
    forgetting = acknowledged_after[FORGOTTEN]
    return sorted({*every_call[::15], *range(forgetting, forgetting + 15, 3)})


def assert_all_survived(
    folder: Path, acknowledged: dict[str, int], assert_survived: Survival
) -> None:
    """Every process that was killed has left its store whole, in the folder of its point."""
    assert acknowledged
    for point, number in acknowledged.items():
        assert_survived(folder / point, number)


@needs_fork
@in_parts
def test_a_process_killed_at_any_call_loses_nothing(
    part: int,
    recording: Recording,
    memory_folder: Path,
    assert_survived: Survival,
    tally: Tally,
) -> None:
    points = [str(point) for point in points_to_kill_at(recording.work)]
    acknowledged = run_killed(memory_folder, points[part :: len(PARTS)])
    assert_all_survived(memory_folder, acknowledged, assert_survived)
    assert len(set(acknowledged.values())) > BATCHES / 2
    tally("kills at a call", len(acknowledged))


@needs_fork
@in_parts
def test_a_process_killed_again_while_it_recovers_loses_nothing(
    part: int,
    recording: Recording,
    memory_folder: Path,
    assert_survived: Survival,
    tally: Tally,
) -> None:
    at_work = range(3, recording.work.calls + 1, 18 if DEEP else 64)
    while_recovering = range(1, 12) if DEEP else (3, 6, 9)
    twice = [
        f"{first}:{second}" for first, second in product(at_work, while_recovering)
    ]
    acknowledged = run_killed(memory_folder, twice[part :: len(PARTS)])
    assert_all_survived(memory_folder, acknowledged, assert_survived)
    tally("kills while recovering from a kill", len(acknowledged))


@needs_strace
@in_parts
def test_a_process_killed_in_any_call_of_the_system_loses_nothing(
    part: int, tmp_path: Path, assert_survived: Survival, tally: Tally
) -> None:
    killed = 0
    for call, times in SYSTEM_CALLS.items():
        for point in range(1 + part, times + 1, 6 * len(PARTS) if DEEP else 90):
            folder = tmp_path / f"{call}-{point}"
            done = run_killed_by_strace(folder, call, point)
            killed += done.returncode != 0
            assert_survived(folder, max(done.stdout, default=0))
    assert killed
    tally("kills in a call of the system (strace)", killed)


def run_killed_by_strace(
    folder: Path, call: str, point: int
) -> subprocess.CompletedProcess[bytes]:
    """The work, killed at the n-th call of the system of this name;
    it prints the numbers of the updates that were acknowledged.
    """
    strace = ["strace", "-f", "-qq", "-o", "/dev/null"]
    inject = ["-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={point}"]
    work = [sys.executable, "-m", "tests.crashing", str(folder)]
    environment = {
        **os.environ,
        "CASEGRAPH_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return subprocess.run(
        [*strace, *inject, *work],
        check=False,
        cwd=ROOT,
        env=environment,
        capture_output=True,
    )


def killed_at_random(folder: str, times: int) -> int:
    """Kill a process that updates for ever, at random moments, and let the next go on;
    returns the updates made.

    Every other time the moment comes after an update of the process,
    so that there are some on however slow a machine.
    """
    os.environ["CASEGRAPH_THREADS"] = "1"
    random = Random(29)
    place = Path(folder, "store")
    number = 0
    told = os.open(Path(folder, "acknowledged"), os.O_RDWR | os.O_CREAT)

    def tell(done: int) -> None:
        os.pwrite(told, done.to_bytes(8, "little"), 0)

    def acknowledged() -> int:
        return int.from_bytes(os.pread(told, 8, 0), "little")

    def wait(updates: int, seconds: float) -> None:
        until = time.monotonic() + 20
        while acknowledged() < number + updates and time.monotonic() < until:
            time.sleep(0.0005)
        time.sleep(seconds)

    for trial in range(times):
        tell(number)
        moment = partial(wait, trial % 2, random.uniform(0, 0.03))
        crashing.killed_after(
            moment, partial(crashing.update_for_ever, place, number, tell)
        )
        least = acknowledged()
        with CaseStore.open(place) as store:
            facts = set(store.graph.facts())
        assert facts in (crashing.recent(least), crashing.recent(least + 1)), (
            f"{least} updates were acknowledged"
        )
        number = least + (facts != crashing.recent(least))
    assert not any(finding.damaged for finding in check(place))
    return number


@needs_fork
def test_a_process_killed_at_random_moments_loses_nothing(
    memory_folder: Path, tally: Tally
) -> None:
    times = 300 if DEEP else 25
    assert apart(killed_at_random, str(memory_folder), times) >= times // 2
    tally("kills at random moments", times)


@pytest.mark.skipif(
    os.name == "nt", reason="Windows flushes the names in folders by itself"
)
@in_parts
def test_a_machine_that_loses_power_loses_nothing(
    part: int,
    recording: Recording,
    memory_folder: Path,
    assert_survived: Survival,
    tally: Tally,
) -> None:
    random = Random(3 + part)
    moments = range(1 + part, len(recording.work.events) + 1, len(PARTS))
    seen = set[int]()
    folder = memory_folder / "disk"
    while len(seen) < (1260 if DEEP else 80):
        disk = recording.work.disk(random.choice(moments), random)
        if hash(disk) in seen:
            continue
        seen.add(hash(disk))
        folder.mkdir()
        disk.write(recording.folder, folder)
        assert_survived(folder / "store", disk.acknowledged)
        shutil.rmtree(folder)
    tally("different states after a power failure", len(seen))


class Stopping:
    """Records all calls, and stops the process at the next flush when it is told to."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.at_next_flush = False

    def __call__(self, name: str, real: Callable[..., Any], *given: Any) -> object:
        if name == "fsync" and self.at_next_flush:
            self.at_next_flush = False
            raise KeyboardInterrupt
        return self.recorder(name, real, *given)


@pytest.mark.skipif(
    os.name == "nt", reason="Windows flushes the names in folders by itself"
)
def test_what_recovery_acknowledges_is_there_after_the_power_fails(
    memory_folder: Path, assert_survived: Survival
) -> None:
    """An update was written, and not yet flushed, when the process was stopped. The next one
    finds it whole and goes on from it: then it has to be on disk.
    """
    recorder = Recorder()
    stopping = Stopping(recorder)
    root = memory_folder / "recorded"
    root.mkdir()
    added, retracted = crashing.batches()[1]
    with crashing.calls_through(stopping):
        crashing.update(root / "store", 1, recorder.acknowledge)
        with CaseStore.open(root / "store") as store:
            stopping.at_next_flush = True
            with pytest.raises(KeyboardInterrupt):
                store.update(add=added, retract=retracted)
        with CaseStore.open(root / "store") as recovered:
            recorder.acknowledge(recovered.sequence)
    assert recovered.sequence == 2
    for seed in range(20):
        disk = recorder.disk(len(recorder.events), Random(seed))
        folder = memory_folder / str(seed)
        folder.mkdir()
        disk.write(root, folder)
        assert_survived(folder / "store", 2)


def refused_after_failing(store: CaseStore, disk: Failing) -> None:
    """After an update that failed, the store takes no more, and does not touch its files again."""
    disk.mend()
    calls = disk.calls
    with pytest.raises(CasegraphError, match="open it again"):
        store.update(add=[("not", "to be", "kept")])
    assert disk.calls == calls, "written again after a failure"


def work_on(folder: Path, disk: Failing, first: int) -> int:
    """The work of `crashing` from some update on, on a disk that fails.

    Returns how many updates were acknowledged: all before it did, and one more if it failed once,
    while the store was compacted.
    """
    went_on = False
    for number, (added, retracted) in enumerate(
        crashing.batches()[first - 1 :], start=first
    ):
        try:
            with CaseStore.open(folder) as store:
                try:
                    store.update(add=added, retract=retracted)
                except CasegraphError:
                    refused_after_failing(store, disk)
                    return number - 1
                if number % 4 == 2:
                    with suppress(CasegraphError):
                        store.compact(forget_history=number == FORGOTTEN)
        except CasegraphError:  # it could not be opened
            return number - 1
        if disk.failed and (disk.sticky or went_on):
            return number
        went_on = disk.failed > 0
    return BATCHES


FAILURES = [
    (errno.ENOSPC, False),
    (errno.EIO, True),
    (errno.ENOSPC, True),
    (errno.EIO, False),
]
failing = pytest.mark.parametrize(
    "failure", range(len(FAILURES)), ids=["full once", "broken", "full", "broken once"]
)


@failing
def test_a_disk_that_fails_at_any_call_loses_nothing_and_is_not_written_again(
    failure: int, memory_folder: Path, assert_survived: Survival, tally: Tally
) -> None:
    error, sticky = FAILURES[failure]
    rehearsal = crashing.Rehearsal(memory_folder / "rehearsal")
    # Each call fails once, and, in another of these tests, from then on.
    for point in range(1 + failure // 2, rehearsal.calls + 1, 2 if DEEP else 60):
        start = rehearsal.before(point)
        disk = Failing(point - start.calls, error, sticky=sticky, halfway=point % 4 < 2)
        folder = memory_folder / str(point)
        start.copy_to(folder)
        with crashing.calls_through(disk):
            acknowledged = work_on(folder, disk, start.number)
        assert disk.failed
        assert_survived(folder, acknowledged)
        shutil.rmtree(folder, ignore_errors=True)  # it may never have come to be
        tally("failures of the disk at a call", 1)


@failing
def test_a_disk_that_fails_while_a_store_recovers_loses_nothing(
    failure: int,
    recording: Recording,
    memory_folder: Path,
    assert_survived: Survival,
    tally: Tally,
) -> None:
    error, sticky = FAILURES[failure]
    random = Random(43 + failure)
    events = len(recording.work.events)
    folder = memory_folder / "disk"
    for _ in range(12 if DEEP else 1):
        found = recording.work.disk(random.randint(events // 8, events), random)
        for point in count(1):
            disk = Failing(point, error, sticky=sticky, halfway=point % 2 == 1)
            folder.mkdir()
            found.write(recording.folder, folder)
            with crashing.calls_through(disk), suppress(CasegraphError):
                CaseStore.open(folder / "store").close()
            assert_survived(folder / "store", found.acknowledged)
            shutil.rmtree(folder)
            if not disk.failed:
                break
            tally("failures of the disk while recovering", 1)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with a generation and updates after it."""
    with CaseStore.open(tmp_path / "store") as store:
        for start in range(0, 20, 5):
            store.update(
                add=FACTS[start : start + 5], retract=FACTS[start - 3 : start - 1]
            )
        store.compact()
        store.update(add=FACTS[20:])
        store.update(retract=FACTS[2:4])
    return tmp_path / "store"


def said(store: CaseStore) -> list[Any]:
    """The number of the last update, every fact, and every answer to every question."""
    heads = sorted({head for head, _, _ in FACTS})
    questions = list(product(heads, ("r0", "r1", "r2")))
    return [
        store.sequence,
        sorted(store.graph.facts()),
        store.ask_many(questions, top=-1),
    ]


def damages(
    folder: Path, flips: int, cuts: int, seed: int
) -> Iterator[tuple[Path, bytes]]:
    """A file and what it holds after one bit of it flipped, or its end was cut off.

    Small files as often as large.
    """
    random = Random(seed)
    for number in range(flips + cuts):
        path = random.choice(sorted(folder.iterdir()))
        if path.is_dir():
            path = random.choice(sorted(path.iterdir()))
        content = bytearray(path.read_bytes())
        if number < flips:
            content[random.randrange(len(content))] ^= 1 << random.randrange(8)
        else:
            del content[random.randrange(len(content)) :]
        yield path, bytes(content)


@in_parts
def test_damage_is_noticed_or_harmless(
    part: int, store: Path, memory_folder: Path, tally: Tally
) -> None:
    expected = said(CaseStore.open(store, read_only=True))
    noticed = 0
    harmless = 0
    flips, cuts = (1260, 130) if DEEP else (100, 20)
    for number, (path, content) in enumerate(damages(store, flips, cuts, 11 + part)):
        folder = memory_folder / str(number)
        shutil.copytree(store, folder)
        (folder / path.relative_to(store)).write_bytes(content)
        for read_only in (True, False):
            try:
                with CaseStore.open(folder, read_only=read_only) as opened:
                    assert said(opened) == expected, (
                        f"{path.name} was damaged, and nobody noticed"
                    )
                harmless += 1
            except CasegraphError:
                noticed += 1
                assert any(finding.damaged for finding in check(folder)), path
                assert set(salvage(folder).facts) <= set(FACTS)
        shutil.rmtree(folder)
    assert min(noticed, harmless) > 40
    tally("bits flipped", flips)
    tally("files cut short", cuts)
