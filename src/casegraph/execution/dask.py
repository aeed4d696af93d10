"""
An executor for Dask: shards and questions become tasks of a cluster, results are those of one process.

Every worker process loads the snapshot once and keeps it: from the file, where all workers see it, else from bytes
that are sent to each of them once. Tasks are pure, so Dask gives those of a worker that died to another.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from types import TracebackType
from typing import Any, Self

from casegraph.answering.state import State
from casegraph.errors import CasegraphError
from casegraph.execution.executor import Result, Task
from casegraph.execution.shards import Part, Shard, count_hits, count_reach, keep, merged, with_hits
from casegraph.running import Show, quiet, threads
from casegraph.storage.case_files import load, save

PATIENCE = 30  # seconds to wait for a scheduler, and for its first worker
SHARDS = 8  # for each thread of the cluster: so that none waits long for the last
AHEAD = 2  # tasks for each thread that are handed out before the first of them is done


class DaskExecutor:
    """Work on the cluster of a scheduler; without one, on worker processes of this machine, one for each thread."""

    def __init__(self, scheduler: str | None = None) -> None:
        try:
            from distributed import Client, LocalCluster
        except ImportError as error:
            raise CasegraphError("the Dask executor needs distributed; install casegraph[dask]") from error
        self._cluster = None if scheduler else LocalCluster(
            n_workers=threads(), threads_per_worker=1, memory_limit=0, dashboard_address="127.0.0.1:0",
            env={"CASEGRAPH_THREADS": "1"},
        )  # fmt: skip
        try:
            self._client = Client(scheduler or self._cluster, timeout=PATIENCE)
            self._client.wait_for_workers(1, timeout=PATIENCE)
        except (OSError, ValueError) as error:
            raise CasegraphError(f"no Dask scheduler with workers answers at {scheduler}; start them first") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()

    def count(self, state: State, relations: list[int], show: Show = quiet) -> None:
        """Count what is not counted yet, shard by shard in two passes."""
        missing = [relation for relation in relations if relation not in state.statistics.counted]
        if missing:
            shards = Shard.all(SHARDS * self._threads())
            first = self.each(state, count_hits, shards)
            hits = merged(_watched(first, "counting paths to answers", len(shards), show))
            second = self.each(with_hits(state, hits), count_reach, [(shard, missing) for shard in shards])
            keep(state, merged(_watched(second, "counting what paths reach", len(shards), show)))
        state.statistics.prepare(relations, show)

    def each(self, state: State, work: Callable[[State, Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """The result of each task, in their order; only so many are handed out that results do not pile up."""
        with self._snapshot(state) as snapshot:
            handed_out, room = deque[tuple[Task, Any]](), AHEAD * self._threads()
            for task in tasks:
                handed_out.append((task, snapshot.submit(work, task)))
                if len(handed_out) == room:
                    yield snapshot.result(work, *handed_out.popleft())
            while handed_out:
                yield snapshot.result(work, *handed_out.popleft())

    def _threads(self) -> int:
        of_worker: dict[str, int] = self._client.nthreads()
        return max(1, sum(of_worker.values()))

    @contextmanager
    def _snapshot(self, state: State) -> "Iterator[_Snapshot]":
        with TemporaryDirectory(prefix="casegraph-") as folder:
            path = Path(folder, "snapshot.case")
            save(state, path)
            yield _Snapshot(self._client, path)


class _Snapshot:
    """A case base that the workers of a client can load."""

    def __init__(self, client: Any, path: Path) -> None:  # noqa: ANN401  (distributed is imported late)
        self._client, self._path = client, path
        self._is_seen = all(client.run(os.path.exists, str(path)).values())
        self._send()

    def submit(self, work: Callable[[State, Task], Result], task: Task) -> Any:  # noqa: ANN401
        return self._client.submit(_worked, str(self._path), self._content, work, task, pure=False)

    def result(self, work: Callable[[State, Task], Result], task: Task, future: Any) -> Any:  # noqa: ANN401
        """The result of a task; if the snapshot was lost with all workers that held it, it is sent again."""
        from distributed import KilledWorker

        while True:
            try:
                return future.result()
            except CancelledError:
                self._send()
                future = self.submit(work, task)
            except KilledWorker as error:
                raise CasegraphError(f"workers died again and again ({error}); give them more memory") from error

    def _send(self) -> None:
        self._content = None if self._is_seen else self._client.scatter(self._path.read_bytes(), broadcast=True)


_loaded: dict[str, State] = {}  # the snapshot that this worker process holds
_loading = Lock()


def _worked(key: str, content: bytes | None, work: Callable[[State, Task], Result], task: Task) -> Result:
    """What a worker does."""
    with _loading:
        if key not in _loaded:
            _loaded.clear()
            _loaded[key] = load(Path(key)) if content is None else _from_bytes(content)
        state = _loaded[key]
    return work(state, task)


def _from_bytes(content: bytes) -> State:
    with TemporaryDirectory(prefix="casegraph-") as folder:
        path = Path(folder, "snapshot.case")
        path.write_bytes(content)
        return load(path)


def _watched(parts: Iterable[Part], doing: str, total: int, show: Show) -> Iterator[Part]:
    for done, part in enumerate(parts):
        show(doing, done, total)
        yield part
