"""On a cluster of worker processes everything is as in one process, to the last byte,
also when workers are killed.
"""

import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from click.testing import CliRunner
from tests.test_datasets import DATA, needs_data

from casegraph import world, write_facts
from casegraph.answering.state import State
from casegraph.batch.audit import audit
from casegraph.batch.completion import Wanted, complete
from casegraph.casebase import CaseBase
from casegraph.cli import cli
from casegraph.errors import CasegraphError
from casegraph.evaluation.datasets import Benchmark
from casegraph.evaluation.evaluation import evaluate
from casegraph.execution.dask import DaskExecutor
from casegraph.execution.executor import HERE, Executor
from casegraph.graph.directions import directions_of, forward
from casegraph.running import Show, quiet
from casegraph.settings import Settings

distributed = pytest.importorskip("distributed")
WORKERS = 2
RELATIONS = 70  # of the 122 of FB122, those with the fewest facts: the others take most of the time


@contextmanager
def started(workers: int = WORKERS) -> Iterator[DaskExecutor]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CASEGRAPH_THREADS", str(workers))
        with DaskExecutor() as executor:
            yield executor


@pytest.fixture(scope="module")
def cluster() -> Iterator[DaskExecutor]:
    with started() as executor:
        yield executor


@pytest.fixture
def doomed() -> Iterator[DaskExecutor]:
    """A cluster whose workers are to be killed:
    Dask starts them again, but not one that dies while it starts.
    """
    with started() as executor:
        yield executor


class Killer:
    """A progress bar that kills a worker with signal 9 when a third
    of the work is done, once for each stage named.
    """

    def __init__(self, executor: DaskExecutor, *stages: str) -> None:
        self.client = executor._client
        self.left = pids(executor)
        self.stages = list(stages)
        self.killed = list[int]()

    def __call__(self, doing: str, done: int, total: int) -> None:
        if doing in self.stages and 3 * done >= total:
            self.stages.remove(doing)
            self.killed.append(self.left.pop())
            os.kill(self.killed[-1], signal.SIGKILL)


def pids(executor: DaskExecutor) -> list[int]:
    found: dict[str, int] = executor._client.run(os.getpid)
    return sorted(found.values())


def case_base(facts: list[Any], settings: Settings | None = None) -> CaseBase:
    cases = CaseBase(settings)
    cases.update(add=facts)
    return cases


@needs_data
def test_workers_killed_in_the_middle_cost_no_byte_of_fb122(
    doomed: DaskExecutor, tmp_path: Path
) -> None:
    facts = list(Benchmark.open(DATA / "FB122").facts("train"))
    graph = case_base(facts).graph

    def fewest_first(relation: int) -> tuple[int, str]:
        return len(graph.rows(forward(relation))), graph.relations[relation]

    chosen = sorted(range(len(graph.relations)), key=fewest_first)[:RELATIONS]
    relations = list(directions_of(chosen))
    asked = Wanted(
        relations=tuple(graph.relations[relation] for relation in chosen[-3:]),
        min_probability=0.0,
        entities=tuple(sorted(graph.entities.names)[::150]),
    )

    def written(name: str, executor: Executor, show: Show) -> tuple[bytes, bytes]:
        cases = case_base(facts)
        executor.count(cases.state, relations, show)
        cases.save(tmp_path / name)
        assert (
            complete(cases, tmp_path / f"{name}.jsonl", asked, executor, show).proposed
            > 100
        )
        return (tmp_path / name).read_bytes(), (tmp_path / f"{name}.jsonl").read_bytes()

    killer = Killer(doomed, "counting what paths reach", "asking")
    assert len(killer.left) == WORKERS
    assert written("many", doomed, killer) == written("one", HERE, quiet)
    assert len(killer.killed) == 2
    assert not set(killer.killed) & set(pids(doomed))


def test_evaluations_and_audits_are_those_of_one_process(
    cluster: DaskExecutor, tmp_path: Path
) -> None:
    write_facts(world.facts(), tmp_path / "train.txt")
    write_facts(world.questions(), tmp_path / "test.txt")
    for settings in (Settings(), Settings.paper("NELL-995")):
        one, many = (
            evaluate(Benchmark.open(tmp_path), settings, executor=executor)
            for executor in (HERE, cluster)
        )
        assert many.metrics == one.metrics
        assert many.by_relation == one.by_relation
    found = [
        audit(case_base(world.facts()), executor=executor)
        for executor in (HERE, cluster)
    ]
    assert found[0] == found[1]


def tuned_content(
    facts: list[Any], path: Path, executor: Executor, show: Show
) -> bytes:
    """All bytes of a case base that was tuned: what was chosen, the curves, and the counts."""
    cases = case_base(facts)
    tuning = cases.tune(show, executor=executor)
    assert tuning is not None
    cases.save(path)
    return path.read_bytes()


def test_tuning_is_that_of_one_process_on_any_number_of_workers(
    cluster: DaskExecutor, tmp_path: Path
) -> None:
    facts = list(world.facts())
    path = tmp_path / "tuned.case"
    expected = tuned_content(facts, path, HERE, quiet)
    assert tuned_content(facts, path, cluster, quiet) == expected
    with started(workers=1) as one_worker:
        assert tuned_content(facts, path, one_worker, quiet) == expected


def test_workers_killed_in_the_middle_cost_no_byte_of_a_tuning(
    doomed: DaskExecutor, tmp_path: Path
) -> None:
    facts = list(world.facts())
    path = tmp_path / "tuned.case"
    killer = Killer(doomed, "counting what paths reach", "tuning")
    found = tuned_content(facts, path, doomed, killer)
    assert found == tuned_content(facts, path, HERE, quiet)
    assert len(killer.killed) == 2
    assert not set(killer.killed) & set(pids(doomed))


def test_commands_that_tune_do_so_on_a_cluster(
    cluster: DaskExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    address = cluster._client.scheduler_info()["address"]
    on_cluster = ("--executor", "dask", "--scheduler", address)

    def run(*arguments: str) -> str:
        done = CliRunner().invoke(cli, arguments)
        assert done.exit_code == 0, done.stderr
        return done.stdout

    short = ("--max-length", "2")
    chosen = run("tune", "world", "--format", "json", *short)
    assert run("tune", "world", "--format", "json", *short, *on_cluster) == chosen

    run("build", "world", "--into", "one", *short)
    run("build", "world", "--into", "many", *short, *on_cluster)
    run("save", "one", "built-by-one.case")
    run("save", "many", "built-by-many.case")
    run("save", "world", "saved-by-many.case", "--tune", *short, *on_cluster)
    expected = Path("built-by-one.case").read_bytes()
    assert Path("built-by-many.case").read_bytes() == expected
    assert Path("saved-by-many.case").read_bytes() == expected


def test_a_snapshot_is_written_once_and_removed_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    state = case_base(world.facts()).state
    snapshots = list[list[Path]]()
    with started(workers=1) as executor:
        for _ in range(2):
            assert list(executor.each(state, named_facts, [3])) == [
                named_facts(state, 3)
            ]
            snapshots.append(list(tmp_path.glob("casegraph-*")))
        state.statistics.prepare([0])  # now a snapshot spares workers to count it again
        assert list(executor.each(state, counted_relations, [None])) == [[0]]
        snapshots.append(list(tmp_path.glob("casegraph-*")))
    first, again, counted = snapshots
    assert first == again
    assert counted != first
    assert len(first) == len(counted) == 1
    assert not list(tmp_path.glob("casegraph-*"))


def test_workers_that_do_not_see_the_file_get_the_snapshot_sent(
    cluster: DaskExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster._client, "run", lambda *_: {"somewhere": False})
    cases = case_base(world.facts()).state
    assert list(cluster.each(cases, named_facts, range(5))) == [
        named_facts(cases, number) for number in range(5)
    ]


def test_a_snapshot_that_was_lost_with_all_workers_is_sent_again(
    doomed: DaskExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = pids(doomed)
    monkeypatch.setattr(doomed._client, "run", lambda *_: {"somewhere": False})
    cases = case_base(world.facts()).state
    numbers = range(8)
    results = doomed.each(cases, slowly_named_facts, numbers)
    found = [next(results)]
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    assert [*found, *results] == [named_facts(cases, number) for number in numbers]
    monkeypatch.undo()
    assert not set(before) & set(pids(doomed))


def test_an_error_of_a_task_comes_to_whoever_asked(cluster: DaskExecutor) -> None:
    with pytest.raises(CasegraphError, match="task 1 is refused"):
        list(cluster.each(case_base(world.facts()).state, refused, [1]))


def test_a_scheduler_that_does_not_answer_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("casegraph.execution.dask.PATIENCE", 0.5)
    with pytest.raises(
        CasegraphError,
        match=r"no Dask scheduler with workers answers at tcp://127\.0\.0\.1:9",
    ):
        DaskExecutor("tcp://127.0.0.1:9")


def named_facts(cases: State, number: int) -> tuple[int, list[str]]:
    return number, [graph_fact.head for graph_fact in cases.graph.facts()][
        :: number + 1
    ]


def slowly_named_facts(cases: State, number: int) -> tuple[int, list[str]]:
    sleep(0.3)
    return named_facts(cases, number)


def counted_relations(cases: State, _: None) -> list[int]:
    return sorted(cases.statistics.counted)


def refused(cases: State, number: int) -> None:
    raise CasegraphError(f"task {number} is refused")
