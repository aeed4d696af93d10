"""
An executor for Dask: shards and questions become tasks of a cluster.

The results are those of a single process. Every worker process loads the state once and keeps it:
from a file if all workers see the same disk, else from bytes that are sent to each of them once.
Tasks are pure functions, so if a worker dies, Dask gives its tasks to another.
"""

import os
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory, mkdtemp
from threading import Lock
from typing import Any, Self
from weakref import finalize

from casegraph.answering.state import State
from casegraph.errors import CasegraphError
from casegraph.execution.executor import Result, Task, Work
from casegraph.execution.shards import (
    Part,
    Shard,
    count_hits,
    count_reach,
    keep,
    merged,
    with_hits,
)
from casegraph.running import Show, quiet, threads
from casegraph.storage.case_files import load, save

PATIENCE = 30  # seconds to wait for a scheduler, and for its first worker
# Some, so that no thread waits long for the last one. Not many, as entities of one shard share
# steps of paths: on FB122, 16 shards take 1.6 times the processor time of 4.
SHARDS_PER_THREAD = 4
TASKS_PER_THREAD = 2  # submitted ahead


class DaskExecutor:
    """Work on a Dask cluster.

    scheduler  the address of its scheduler; without one, worker processes are started on this
               machine, one for each thread
    """

    def __init__(self, scheduler: str | None = None) -> None:
        try:
            from distributed import Client, LocalCluster
        except ImportError as error:
            problem = "the Dask executor needs distributed; install casegraph[dask]"
            raise CasegraphError(problem) from error

        self._snapshot: _Snapshot | None = None
        self._cluster = None
        if not scheduler:
            self._cluster = LocalCluster(
                n_workers=threads(),
                threads_per_worker=1,
                memory_limit=0,
                dashboard_address="127.0.0.1:0",
                env={"CASEGRAPH_THREADS": "1"},
            )
        try:
            self._client = Client(scheduler or self._cluster, timeout=PATIENCE)
            self._client.wait_for_workers(1, timeout=PATIENCE)
        except (OSError, ValueError) as error:
            problem = f"no Dask scheduler with workers answers at {scheduler}; start them first"
            raise CasegraphError(problem) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._snapshot = None
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()

    def count(self, state: State, relations: list[int], show: Show = quiet) -> None:
        """Count what is not counted yet, shard by shard in two passes (see `execution.shards`)."""
        counted = state.statistics.counted
        missing = [relation for relation in relations if relation not in counted]
        if missing:
            shards = Shard.all(SHARDS_PER_THREAD * self._threads())

            parts = self.each(state, count_hits, shards)
            shown = _with_progress(
                parts, "counting paths to answers", len(shards), show
            )
            hits = merged(shown)

            tasks = [(shard, missing) for shard in shards]
            parts = self.each(with_hits(state, hits), count_reach, tasks)
            shown = _with_progress(
                parts, "counting what paths reach", len(shards), show
            )
            keep(state, merged(shown))
        state.statistics.prepare(relations, show)

    def each(
        self, state: State, work: Work[Task, Result], tasks: Iterable[Task]
    ) -> Iterator[Result]:
        """The result of each task, in the order of the tasks.

        Only a few tasks are submitted ahead, so that results do not pile up.
        """
        snapshot = self._snapshot_of(state)
        handed_out = deque[tuple[Task, Any]]()
        most_handed_out = TASKS_PER_THREAD * self._threads()
        for task in tasks:
            handed_out.append((task, snapshot.submit(work, task)))
            if len(handed_out) == most_handed_out:
                yield snapshot.result(work, *handed_out.popleft())
        while handed_out:
            yield snapshot.result(work, *handed_out.popleft())

    def _threads(self) -> int:
        """The number of threads of the cluster; workers may come and go."""
        threads_of_worker: dict[str, int] = self._client.nthreads()
        return max(1, sum(threads_of_worker.values()))

    def _snapshot_of(self, state: State) -> "_Snapshot":
        """A snapshot that workers can load; the one of the call before, if it is the same."""
        if self._snapshot is None or not self._snapshot.is_of(state):
            self._snapshot = _Snapshot(self._client, state)
        return self._snapshot


class _Snapshot:
    """A state in a case file, which the workers of a client can load.

    Its bytes are sent to the workers unless all of them see the file. The file is removed when
    nobody holds the snapshot any more.
    """

    def __init__(self, client: Any, state: State) -> None:  # noqa: ANN401  (imported late)
        self._client = client
        self._state = state
        self._counted = len(state.statistics.counted)

        folder = mkdtemp(prefix="casegraph-")
        finalize(self, rmtree, folder, ignore_errors=True)
        self._path = Path(folder, "snapshot.case")
        save(state, self._path)

        sees_the_file = client.run(os.path.exists, str(self._path))
        self._is_seen_by_all = all(sees_the_file.values())
        self._send()

    def is_of(self, state: State) -> bool:
        """Whether this is a snapshot of a state, and nothing more of it has been counted since."""
        return self._state is state and self._counted == len(state.statistics.counted)

    def submit(self, work: Work[Task, Result], task: Task) -> Any:  # noqa: ANN401
        """Submit a task; returns the future of its result."""
        arguments = (str(self._path), self._content, work, task)
        return self._client.submit(_work_on_shared, *arguments, pure=False)

    def result(
        self,
        work: Work[Task, Result],
        task: Task,
        future: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        """The result of a submitted task.

        Dask cancels a task if the bytes it needs are lost, because all workers that had them died.
        Then the bytes are sent again, and so is the task.
        """
        from distributed import KilledWorker

        while True:
            try:
                return future.result()
            except CancelledError:
                self._send()
                future = self.submit(work, task)
            except KilledWorker as error:
                problem = (
                    f"workers died again and again ({error}); give them more memory"
                )
                raise CasegraphError(problem) from error

    def _send(self) -> None:
        self._content = None
        if not self._is_seen_by_all:
            content = self._path.read_bytes()
            self._content = self._client.scatter(content, broadcast=True)


_loaded: dict[str, State] = {}  # at most one: the state that this worker process keeps
_loading = Lock()


def _work_on_shared(
    path: str, content: bytes | None, work: Work[Task, Result], task: Task
) -> Result:
    """Runs on a worker: load the state unless it is loaded already, and process the task.

    content  the bytes of the case file; None if the file can be read at `path`
    """
    with _loading:
        if path not in _loaded:
            _loaded.clear()
            _loaded[path] = (
                load(Path(path)) if content is None else _load_bytes(content)
            )
        state = _loaded[path]
    return work(state, task)


def _load_bytes(content: bytes) -> State:
    with TemporaryDirectory(prefix="casegraph-") as folder:
        path = Path(folder, "snapshot.case")
        path.write_bytes(content)
        return load(path)


def _with_progress(
    parts: Iterable[Part], doing: str, total: int, show: Show
) -> Iterator[Part]:
    for done, part in enumerate(parts):
        show(doing, done, total)
        yield part
