"""A service as a process of its own, for benchmarks that are its clients."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

from casegraph import CaseStore
from casegraph.evaluation.catalogue import located
from casegraph.evaluation.datasets import Benchmark


def built(graph: str, folder: Path) -> Path:
    """A store of the train split of a benchmark, with everything counted."""
    store = folder / graph.replace("/", "-")
    with CaseStore.open(store) as made:
        made.update(add=Benchmark.open(located(graph)).facts("train"))
        made.compact()
    return store


@contextmanager
def serving(store: Path) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """A server of the store, as a process."""
    program = "from casegraph.cli import main; main()"
    command = [sys.executable, "-c", program, "serve", str(store), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        port = int(line.split("http://localhost:")[1].split("/")[0])
        threading.Thread(target=process.stderr.read, daemon=True).start()
        try:
            while status_of(port, "GET", "/readyz") != 200:
                time.sleep(0.2)
            yield port, process
        finally:
            process.terminate()


def status_of(port: int, method: str, path: str, body: bytes | None = None) -> int:
    """The status of a response."""
    connection = HTTPConnection("localhost", port, timeout=30)
    headers = {"Content-Type": "application/json"} if body else {}
    connection.request(method, path, body, headers)
    status = connection.getresponse().status
    connection.close()
    return status
