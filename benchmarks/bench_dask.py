"""Counting and tuning on a Dask cluster of this machine: one and two workers of one core each.

Run: scripts/bench dask [SOURCE] [--n N]
Prints the bytes of the snapshots that each worker reads, and of results that come back. Then, for
counting and for tuning (only its questions, as everything is counted before): the seconds by the
clock of one process with one thread; of one and of two workers, with the seconds of the processor
that all workers took together, and the speed-up over one worker; and of two workers of which one is
killed half-way, with the seconds that this costs. Fails if any result differs from that of one
process.
"""

import argparse
import logging
import os
import pickle
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Timer
from typing import NamedTuple

from casegraph.answering.state import State
from casegraph.cli.loader import case_base
from casegraph.execution.dask import DaskExecutor
from casegraph.execution.executor import HERE, Executor
from casegraph.execution.shards import Shard, count_hits
from casegraph.settings import Settings
from casegraph.storage.case_files import save
from casegraph.tuning.questions import Questions, Task, first_answers
from casegraph.tuning.sample import own_sample
from casegraph.tuning.tuning import tuned

Work = Callable[[State, Executor], State]


def main() -> None:
    """The bytes, and a table for counting and for tuning."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", nargs="?", default="world")
    parser.add_argument("--n", type=int, default=3)
    given = parser.parse_args()
    os.environ["CASEGRAPH_THREADS"] = "1"
    uncounted = case_base(given.source, Settings(max_length=given.n)).state
    print(
        f"{given.source}, {len(uncounted.graph):,} facts, paths of up to {given.n} steps"
    )

    counted = compare("counting", count, uncounted)
    print_bytes(uncounted, counted)
    compare("tuning", tune, counted)


def count(state: State, executor: Executor) -> State:
    """Count everything."""
    fresh = State.of(state.graph, state.settings)
    executor.count(fresh, list(range(fresh.graph.directions)))
    return fresh


def tune(state: State, executor: Executor) -> State:
    """Ask the questions of tuning; what was counted is kept."""
    return tuned(state, keep_length=True, executor=executor)


def compare(name: str, work: Work, state: State) -> State:
    """A table: the same work in one process, and on workers. Returns its result."""
    print(f"{name}:")
    started = time.perf_counter()
    expected = work(state, HERE)
    report("one process", time.perf_counter() - started)
    content = content_of(expected)

    one = on_workers(1, work, state, content)
    report("1 worker", one.seconds, f"{one.processor:.2f} s of its processor")
    two = on_workers(2, work, state, content)
    both = f"{two.processor:.2f} s of both processors"
    report(
        "2 workers",
        two.seconds,
        f"{both}; {one.seconds / two.seconds:.2f} times as fast",
    )
    half_way = two.seconds / 2
    killed = on_workers(2, work, state, content, kill_after=half_way)
    lost = f"{killed.seconds - two.seconds:.2f} s lost"
    report(f"2 workers, one killed after {half_way:.1f} s", killed.seconds, lost)
    return expected


class Took(NamedTuple):
    """The seconds that work took by the clock, and all workers together by their processors."""

    seconds: float
    processor: float


def on_workers(
    workers: int,
    work: Work,
    state: State,
    expected: bytes,
    kill_after: float | None = None,
) -> Took:
    """How long the work takes, without starting the workers; its result must be as expected."""
    with cluster(workers) as address, DaskExecutor(address) as executor:
        client = executor._client
        client.wait_for_workers(workers)
        pids: list[int] = list(client.run(os.getpid).values())
        killer = Timer(kill_after or 0, os.kill, (pids[0], signal.SIGKILL))
        processor_before = sum(client.run(time.process_time).values())
        started = time.perf_counter()
        if kill_after is not None:
            killer.start()
        found = work(state, executor)
        seconds = time.perf_counter() - started
        killer.cancel()
        processor = sum(client.run(time.process_time).values()) - processor_before
    if content_of(found) != expected:
        raise AssertionError("the result differs from that of one process")
    return Took(seconds, processor)


@contextmanager
def cluster(workers: int) -> Iterator[str]:
    """The address of a scheduler with so many workers, each a process of one thread."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        memory_limit=0,
        dashboard_address="127.0.0.1:0",
        env={"CASEGRAPH_THREADS": "1"},
        silence_logs=logging.CRITICAL,  # it would tell of the worker that is killed
    ) as running:
        yield running.scheduler_address


def report(what: str, seconds: float, more: str = "") -> None:
    """A line of a table."""
    print(f"  {what:40} {seconds:8.2f} s  {more}", flush=True)


def content_of(state: State) -> bytes:
    """Everything that a state holds, as the bytes of its case file."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "state.case")
        save(state, path)
        return path.read_bytes()


def print_bytes(uncounted: State, counted: State) -> None:
    """How much a worker reads, and how much comes back from it."""
    print("bytes:")
    print(f"  a snapshot, before counting      {len(content_of(uncounted)):12,}")
    print(f"  a snapshot, when all is counted  {len(content_of(counted)):12,}")

    hits = count_hits(uncounted, Shard(1, 16))
    print(f"  the hits of one shard of 16      {len(pickle.dumps(hits)):12,}")

    questions = Questions.of(own_sample(counted.graph), in_graph=True)
    part = next(questions.in_parts(counted.graph, 0, len(questions)))
    answers = first_answers(counted, Task(counted.settings.combined, part))
    asked = f"the answers to {len(part)} questions"
    print(f"  {asked:32} {len(pickle.dumps(answers)):12,}")


if __name__ == "__main__":
    main()
