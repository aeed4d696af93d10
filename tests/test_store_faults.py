"""Whatever happens to the process, to its machine or to the disk: nothing acknowledged is lost, nothing is invented."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests import crashing
from tests.crashing import BATCHES, FORGOTTEN
from tests.power_loss import Recorder
from tests.strategies import Fact, path_type_in_oracle, random_facts, relation_in_oracle

from casegraph.casebase import CaseBase
from casegraph.errors import CasegraphError
from casegraph.saving import COLUMNS
from casegraph.store.checking import check, salvage
from casegraph.store.store import CaseStore

DEEP = os.environ.get("CASEGRAPH_DEEP") == "1"
ROOT = Path(__file__).parents[1]
FACTS = random_facts(Random(51), entities=8, relations=3, facts=24)
# How often the work makes each call of the system, at least.
SYSTEM_CALLS = {"fsync": 110, "write": 110, "unlink": 25, "mkdir": 4, "rename": 4, "rmdir": 2}

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="no strace on this machine")


@cache
def states() -> list[set[Fact]]:
    return crashing.states()


def named_counts(cases: CaseBase) -> dict[Any, dict[Any, list[int]]]:
    """All counts of a case base, by name."""
    cases.prepare()
    graph, n, named = cases.graph, cases.settings.max_length, dict[Any, dict[Any, list[int]]]()
    for relation, found in cases.cases.statistics.counted.items():
        columns = [getattr(found, column).tolist() for column in COLUMNS]
        rows = {path_type_in_oracle(graph, number, n): counts for number, *counts in zip(*columns, strict=True)}
        named |= {relation_in_oracle(graph, relation): rows} if rows else {}
    return named


def assert_survived(folder: Path, acknowledged: int, caplog: pytest.LogCaptureFixture) -> None:
    """What was acknowledged is there, with the next update or without; counts are those of a rebuild; all is whole."""
    if acknowledged or folder.exists():
        with CaseStore.open(folder) as store:
            facts = set(store.graph.facts())
            assert facts in states()[acknowledged : acknowledged + 2]
            rebuilt = CaseBase()
            rebuilt.update(add=facts)
            assert named_counts(store) == named_counts(rebuilt)
        caplog.clear()
        with CaseStore.open(folder) as store:
            assert (set(store.graph.facts()), store.torn, caplog.records) == (facts, 0, [])
            store.update(add=[("a", "new", "fact")])
        assert not any(finding.damaged for finding in check(folder))
        assert ("a", "new", "fact") in CaseStore.open(folder, read_only=True).graph


def run_killed(folder: Path, points: list[str]) -> dict[str, int]:
    """How many updates were acknowledged to a process that was killed at each point."""
    command = [sys.executable, "-m", "tests.crashing", str(folder), *points]
    subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, "CASEGRAPH_THREADS": "1"})
    return {point: max((folder / f"{point}.acknowledged").read_bytes(), default=0) for point in points}


@pytest.fixture(scope="module")
def recorder(tmp_path_factory: pytest.TempPathFactory) -> tuple[Recorder, Path]:
    """All that the work does, and where."""
    recorder, folder = Recorder(), tmp_path_factory.mktemp("recorded")
    with crashing.calls_through(recorder):
        crashing.work(folder / "store", recorder.acknowledge)
    return recorder, folder


def test_the_states_of_the_work_differ() -> None:
    assert len(set(map(frozenset, states()))) == BATCHES + 1


@needs_fork
def test_a_process_killed_at_any_call_loses_nothing(
    recorder: tuple[Recorder, Path], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    events, calls = recorder[0].events, recorder[0].calls
    forgetting = next(event.given[0] for event in events if (event.doing, event.of) == ("acknowledge", FORGOTTEN))
    points = range(1, calls + 1) if DEEP else {*range(1, calls + 1, 15), *range(forgetting, forgetting + 15, 3)}
    acknowledged = run_killed(tmp_path, list(map(str, points)))
    assert len(set(acknowledged.values())) > BATCHES / 2
    for point, number in acknowledged.items():
        assert_survived(tmp_path / point, number, caplog)


@needs_fork
def test_a_process_killed_again_while_it_recovers_loses_nothing(
    recorder: tuple[Recorder, Path], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    points = range(3, recorder[0].calls + 1, 9 if DEEP else 64)
    twice = [f"{point}:{again}" for point in points for again in (range(1, 12) if DEEP else (3, 6, 9))]
    for point, number in run_killed(tmp_path, twice).items():
        assert_survived(tmp_path / point, number, caplog)


@needs_strace
def test_a_process_killed_in_any_call_of_the_system_loses_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    killed = 0
    for call, times in SYSTEM_CALLS.items():
        for point in range(1, times + 1, 4 if DEEP else 90):
            folder = tmp_path / f"{call}-{point}"
            inject = ["-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={point}"]
            command = [
                "strace",
                "-f",
                "-qq",
                "-o",
                "/dev/null",
                *inject,
                sys.executable,
                "-m",
                "tests.crashing",
                str(folder),
            ]
            environment = {**os.environ, "CASEGRAPH_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
            done = subprocess.run(command, check=False, cwd=ROOT, env=environment, capture_output=True)
            killed += done.returncode != 0
            assert_survived(folder, max(done.stdout, default=0), caplog)
    assert killed > (60 if DEEP else 5)


@pytest.mark.skipif(os.name == "nt", reason="Windows flushes the names in folders by itself")
def test_a_machine_that_loses_power_loses_nothing(
    recorder: tuple[Recorder, Path], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    random, recording, root = Random(3), *recorder
    for number in range(2000 if DEEP else 80):
        folder = tmp_path / str(number)
        folder.mkdir()
        until = random.randint(1, len(recording.events))
        assert_survived(folder / "store", recording.state(root, folder, until, random), caplog)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with a generation and updates after it."""
    with CaseStore.open(tmp_path / "store") as store:
        for start in range(0, 20, 5):
            store.update(add=FACTS[start : start + 5], retract=FACTS[start - 3 : start - 1])
        store.compact()
        store.update(add=FACTS[20:])
        store.update(retract=FACTS[2:4])
    return tmp_path / "store"


def said(store: CaseStore) -> list[Any]:
    """The number of the last update, every fact, and every answer to every question."""
    questions = [(name, relation) for name in sorted({fact[0] for fact in FACTS}) for relation in ("r0", "r1", "r2")]
    return [store.sequence, sorted(store.graph.facts()), store.ask_many(questions, top=-1)]


def damages(folder: Path, flips: int, cuts: int) -> Iterator[tuple[Path, bytes]]:
    """A file and what it holds after one bit of it flipped, or its end was cut off; small files as often as large."""
    random = Random(11)
    for number in range(flips + cuts):
        path = random.choice(sorted(folder.iterdir()))
        path = random.choice(sorted(path.iterdir())) if path.is_dir() else path
        content = bytearray(path.read_bytes())
        if number < flips:
            content[random.randrange(len(content))] ^= 1 << random.randrange(8)
        else:
            del content[random.randrange(len(content)) :]
        yield path, bytes(content)


def test_damage_is_noticed_or_harmless(store: Path, tmp_path: Path) -> None:
    expected, noticed, harmless = said(CaseStore.open(store, read_only=True)), 0, 0
    for number, (path, content) in enumerate(damages(store, *((1000, 200) if DEEP else (100, 20)))):
        folder = tmp_path / str(number)
        shutil.copytree(store, folder)
        (folder / path.relative_to(store)).write_bytes(content)
        for read_only in (True, False):
            try:
                with CaseStore.open(folder, read_only=read_only) as opened:
                    assert said(opened) == expected, f"{path.name} was damaged, and nobody noticed"
                harmless += 1
            except CasegraphError:
                noticed += 1
                assert any(finding.damaged for finding in check(folder)), path
                assert set(salvage(folder).facts) <= set(FACTS)
        shutil.rmtree(folder)
    assert min(noticed, harmless) > 40
