"""The service under load: asks and durable adds from several clients, slow clients, and a long run.

Run: scripts/bench service [--graph WN18RR] [--seconds 60] [--clients 8] [--long 600]
Prints tables in Markdown. The server and the clients are processes of this machine, over loopback.

One request in ten adds a fact of the test split, which is on disk when it is answered; the others
ask for a fact of it. Then the same again beside 200 clients that begin requests and do not go on,
and others that send bodies which are too large. Last, a longer run; its memory must stay as it is.
"""

import argparse
import multiprocessing
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from itertools import cycle
from json import dumps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from urllib.parse import urlencode

import numpy as np

from casegraph import CaseStore
from casegraph.evaluation.catalogue import located
from casegraph.evaluation.datasets import Benchmark

ADDS = 10  # one request in so many adds a fact
SLOW_CLIENTS = 200
BLOCKS = 10  # of the long run


class Load(NamedTuple):
    """What clients saw."""

    asks: list[float]
    adds: list[float]
    errors: int
    seconds: float

    def row(self, name: str) -> str:
        requests = len(self.asks) + len(self.adds)
        cells = [
            name,
            f"{requests / self.seconds:,.0f}",
            *_milliseconds(self.asks),
            *_milliseconds(self.adds),
            str(self.errors),
        ]
        return f"| {' | '.join(cells)} |"


def _milliseconds(times: list[float]) -> list[str]:
    if not times:
        return ["", ""]
    return [f"{1000 * value:.1f}" for value in np.percentile(times, [50, 99])]


def main() -> None:
    """Serve, load, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graph", default="WN18RR")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--long", type=float, default=0, help="seconds of the long run")
    arguments = parser.parse_args()
    benchmark = Benchmark.open(located(arguments.graph))
    test = list(benchmark.facts("test"))
    with TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        with CaseStore.open(store) as made:
            made.update(add=benchmark.facts("train"))
            made.compact()
        with serving(store) as (port, process):
            print("| load | requests/s | ask p50, ms | p99 | add p50, ms | p99 | errors |")
            print("|---|---|---|---|---|---|---|", flush=True)
            load(
                port, test, arguments.clients, min(5, arguments.seconds)
            )  # a first run, to warm up
            alone = load(port, test, arguments.clients, arguments.seconds)
            print(alone.row(f"{arguments.clients} clients"), flush=True)
            with slow_clients(port):
                beside = load(port, test, arguments.clients, arguments.seconds)
            print(beside.row(f"beside {SLOW_CLIENTS} slow clients, and large bodies"), flush=True)
            if arguments.long:
                long_run(port, process.pid, test, arguments)


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
            while request(HTTPConnection("localhost", port), "GET", "/readyz") != 200:
                time.sleep(0.2)
            yield port, process
        finally:
            process.terminate()


def request(connection: HTTPConnection, method: str, path: str, body: str | None = None) -> int:
    """The status of a response, which is read to its end."""
    headers = {"Content-Type": "application/json"} if body else {}
    connection.request(method, path, body, headers)
    response = connection.getresponse()
    response.read()
    return response.status


def load(port: int, facts: list[Any], clients: int, seconds: float) -> Load:
    """What so many clients see in so many seconds; each is a process."""
    with multiprocessing.get_context("fork").Pool(clients) as pool:
        work = [(port, facts[place::clients], place, seconds) for place in range(clients)]
        seen = pool.starmap(client, work)
    asks = [one for load in seen for one in load.asks]
    adds = [one for load in seen for one in load.adds]
    return Load(asks, adds, sum(load.errors for load in seen), seconds)


def client(port: int, facts: list[Any], number: int, seconds: float) -> Load:
    """One client: it asks, and now and then it adds."""
    choose = random.Random(number)
    connection = HTTPConnection("localhost", port, timeout=30)
    asks: list[float] = []
    adds: list[float] = []
    errors = 0
    end = time.perf_counter() + seconds
    for turn, (head, relation, tail) in enumerate(cycle(facts)):
        started = time.perf_counter()
        if started >= end:
            break
        if choose.randrange(ADDS) == 0:
            body = dumps({"add": [[f"{head} {number} {turn}", relation, tail]]})
            status = request(connection, "POST", "/v1/update", body)
            adds.append(time.perf_counter() - started)
        else:
            asked = urlencode({"entity": head, "relation": relation})
            status = request(connection, "GET", f"/v1/ask?{asked}")
            asks.append(time.perf_counter() - started)
        errors += status != 200
    return Load(asks, adds, errors, seconds)


@contextmanager
def slow_clients(port: int) -> Iterator[None]:
    """Meanwhile many begin requests and do not go on, and one sends bodies that are too large."""
    is_over = threading.Event()

    def keep_beginning() -> None:
        head = f"POST /v1/update HTTP/1.1\r\nHost: localhost:{port}\r\nX-Slow: ".encode()
        while not is_over.is_set():
            with ExitStack() as stack:
                for _ in range(SLOW_CLIENTS):
                    connection = socket.create_connection(("localhost", port))
                    stack.enter_context(connection)
                    connection.sendall(head)
                is_over.wait(5)

    def send_too_much() -> None:
        while not is_over.wait(0.2):
            try:
                connection = HTTPConnection("localhost", port, timeout=5)
                request(connection, "POST", "/v1/update", "x" * (3 << 20))
            except OSError:
                continue

    threads = [threading.Thread(target=work) for work in (keep_beginning, send_too_much)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


def long_run(port: int, process: int, facts: list[Any], arguments: argparse.Namespace) -> None:
    """A longer run in blocks, with the memory of the server after each."""
    print("\n| after, s | memory, MB | requests/s |\n|---|---|---|", flush=True)
    seconds = arguments.long / BLOCKS
    for block in range(1, BLOCKS + 1):
        seen = load(port, facts, arguments.clients, seconds)
        requests = (len(seen.asks) + len(seen.adds)) / seconds
        print(f"| {block * seconds:.0f} | {memory(process):,.0f} | {requests:,.0f} |", flush=True)


def memory(process: int) -> float:
    """The megabytes that a process holds now."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


if __name__ == "__main__":
    main()
