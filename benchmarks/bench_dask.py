"""Counting on a Dask cluster of this machine: one and two workers of one core each.

Run: scripts/bench dask [SOURCE] [--n N]
Prints, for one process of one thread, and for one and two workers: seconds by the clock, those of
the processors, the speed-up over one worker, the bytes of the snapshot that each worker reads and
of the results that come back; and for two workers of which one is killed amid counting, the
seconds that this costs.
"""

import argparse
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Timer
from typing import Any

from casegraph.casebase import CaseBase
from casegraph.cli.sources import case_base
from casegraph.execution.dask import DaskExecutor
from casegraph.execution.shard_files import write_part
from casegraph.execution.shards import Shard, count_hits
from casegraph.settings import Settings
from casegraph.storage.case_files import save

WORKERS = (1, 2)


def main() -> None:
    """A line for each number of workers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", nargs="?", default="world")
    parser.add_argument("--n", type=int, default=3)
    given = parser.parse_args()
    os.environ["CASEGRAPH_THREADS"] = "1"
    cases = case_base(given.source, Settings(max_length=given.n))
    print(f"{given.source}, {len(cases.graph):,} facts, paths of up to {given.n} steps")
    print_bytes(cases)

    started = time.perf_counter()
    alone = fresh(cases)
    alone.prepare()
    report("one process", time.perf_counter() - started)

    seconds = {}
    for workers in WORKERS:
        seconds[workers] = counted(cases, workers)
        speed_up = f"{seconds[WORKERS[0]] / seconds[workers]:.2f} times as fast as one worker"
        report(f"{workers} workers", seconds[workers], speed_up)
    half_way = seconds[2] / 2
    killed = counted(cases, 2, kill_after=half_way)
    lost = f"{killed - seconds[2]:.2f} s lost"
    report(f"2 workers, one killed after {half_way:.1f} s", killed, lost)


def report(what: str, seconds: float, more: str = "") -> None:
    """A line of the table."""
    print(f"  {what:40} {seconds:8.2f} s  {more}", flush=True)


def fresh(cases: CaseBase) -> CaseBase:
    """The same facts, of which nothing is counted."""
    other = CaseBase(cases.settings)
    other._start_with(cases.state.answering_by(cases.settings))
    return other


def print_bytes(cases: CaseBase) -> None:
    """How much a worker reads, and how much comes back from it."""
    with TemporaryDirectory() as folder:
        snapshot = Path(folder, "snapshot.case")
        save(cases.state, snapshot)
        part = Path(folder, "part.npz")
        write_part(count_hits(cases.state, Shard(1, 16)), part)
        sizes = f"snapshot {snapshot.stat().st_size:,} bytes"
        print(f"  {sizes}, a sixteenth of the hits {part.stat().st_size:,} bytes")


def counted(cases: CaseBase, workers: int, kill_after: float | None = None) -> float:
    """The seconds that counting takes, without those of starting the workers."""
    with cluster(workers) as address, DaskExecutor(address) as executor:
        executor._client.wait_for_workers(workers)
        state = fresh(cases).state
        pids: list[int] = list(executor._client.run(os.getpid).values())
        timer = Timer(kill_after or 0, os.kill, (pids[0], signal.SIGKILL))
        started = time.perf_counter()
        if kill_after is not None:
            timer.start()
        executor.count(state, list(range(state.graph.directions)))
        timer.cancel()
        return time.perf_counter() - started


@contextmanager
def cluster(workers: int) -> Iterator[str]:
    """The address of a scheduler with so many workers, each a process of one thread."""
    from distributed import LocalCluster

    options: dict[str, Any] = {"threads_per_worker": 1, "memory_limit": 0}
    options["dashboard_address"] = "127.0.0.1:0"
    with LocalCluster(n_workers=workers, env={"CASEGRAPH_THREADS": "1"}, **options) as running:
        yield running.scheduler_address


if __name__ == "__main__":
    main()
