"""The service: under load, beside bad clients, killed, over a long time; and its page.

Run: scripts/bench service [--graph WN18RR] [--seconds 60] [--clients 8] [--long 600] [--no-page]
Prints tables in Markdown. The server and the clients are processes of this machine, over loopback.

One request in ten adds a fact of the test split, which is on disk when it is answered; the others
ask for a fact of it. Then the same again beside 200 clients that begin requests and do not go on,
and another that sends bodies which are too large. Then the server is killed amid the load, and the
store is looked at. With --long, a longer run in which every fact that is added is retracted by the
next update of its client: the graph stays as large as it is, and so must the memory of the server.
Last, the page, as `benchmarks.bench_page` measures it.
"""

import argparse
import multiprocessing
import os
import random
import selectors
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import cycle
from json import dumps
from multiprocessing.synchronize import Event
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, TypeAlias
from urllib.parse import urlencode

import numpy as np

from benchmarks import bench_page
from benchmarks.serving import built, serving, status_of
from casegraph import CaseStore
from casegraph.client import Client as HttpClient
from casegraph.evaluation.catalogue import located
from casegraph.evaluation.datasets import Benchmark
from casegraph.graph.facts import Fact

ADDS = 10  # one request in so many adds a fact
SLOW_CLIENTS = 200
TOO_LARGE = 3 << 20  # bytes
BLOCKS = 10  # of the long run
WARMING_UP = 5.0  # seconds
BEFORE_KILL = 5.0  # seconds
FORK = multiprocessing.get_context("fork")
# Port, facts, number.
Requests: TypeAlias = "Callable[[int, list[Fact], int], Iterator[Request]]"


@dataclass
class Load:
    """What clients saw.

    asks, adds    how long each request took, in seconds
    errors        responses that were not 200
    sent          facts that were sent to be added
    acknowledged  those of them whose response came
    """

    seconds: float
    asks: list[float] = field(default_factory=list)
    adds: list[float] = field(default_factory=list)
    errors: int = 0
    sent: set[Fact] = field(default_factory=set)
    acknowledged: set[Fact] = field(default_factory=set)

    @property
    def rate(self) -> float:
        """Requests in a second."""
        return (len(self.asks) + len(self.adds)) / self.seconds

    def row(self, name: str) -> str:
        """A row of the table."""
        times = [*_milliseconds(self.asks), *_milliseconds(self.adds)]
        cells = [name, f"{self.rate:,.0f}", *times, str(self.errors)]
        return f"| {' | '.join(cells)} |"


def _milliseconds(times: list[float]) -> list[str]:
    if not times:
        return ["", ""]
    return [f"{1000 * value:.1f}" for value in np.percentile(times, [50, 99])]


class Request(NamedTuple):
    """A request as bytes, and the fact that it adds, if it adds one."""

    content: bytes
    added: Fact | None


class Client:
    """One of the clients: a connection, and the request that is under way on it.

    It does as little as it can, since it shares the processors with the server that is measured.
    """

    def __init__(self, port: int, requests: Iterator[Request]) -> None:
        self.connection = socket.create_connection(("localhost", port), timeout=30)
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._requests = requests
        self._received = b""
        self._missing = 0
        self.request = Request(b"", None)
        self.started = 0.0

    def send(self) -> None:
        """Send the next request."""
        self.request = next(self._requests)
        self._received = b""
        self._missing = 0
        self.started = time.perf_counter()
        self.connection.sendall(self.request.content)

    def receive(self) -> int | None:
        """Take what has come: the status if the response is complete; 0 if the server has left."""
        part = self.connection.recv(1 << 16)
        if not part:
            return 0
        if self._missing:
            self._missing -= len(part)
        else:
            self._received += part
            head, end, body = self._received.partition(b"\r\n\r\n")
            if not end:
                return None
            length = (
                head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
            )
            self._missing = int(length) - len(body)
        return None if self._missing else int(self._received[9:12])


def growing(port: int, facts: list[Fact], number: int) -> Iterator[Request]:
    """What a client sends: questions, and now and then a fact that nobody has sent before."""
    choose = random.Random(number)
    for turn, fact in enumerate(cycle(facts)):
        if choose.randrange(ADDS) == 0:
            new = newcomer(fact, turn)
            yield Request(post(port, {"add": [new]}), new)
        else:
            yield Request(question(port, fact), None)


def steady(port: int, facts: list[Fact], number: int) -> Iterator[Request]:
    """The same, but every other update retracts what the one before it has added."""
    choose = random.Random(number)
    added = None
    for turn, fact in enumerate(cycle(facts)):
        if choose.randrange(ADDS):
            yield Request(question(port, fact), None)
        elif added is None:
            added = newcomer(fact, turn)
            yield Request(post(port, {"add": [added]}), added)
        else:
            yield Request(post(port, {"retract": [added]}), None)
            added = None


def newcomer(fact: Fact, turn: int) -> Fact:
    """A fact of an entity that nobody has heard of."""
    return Fact(
        f"{fact.head} {os.getpid()} {time.monotonic_ns()} {turn}",
        fact.relation,
        fact.tail,
    )


def question(port: int, fact: Fact) -> bytes:
    """A request that asks for the tail of a fact."""
    asked = urlencode({"entity": fact.head, "relation": fact.relation})
    return f"GET /v1/ask?{asked} HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n".encode()


def post(port: int, update: dict[str, list[Fact]]) -> bytes:
    """A request that makes an update."""
    body = dumps(update).encode()
    lines = [
        "POST /v1/update HTTP/1.1",
        f"Host: localhost:{port}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


def load(
    port: int,
    facts: list[Fact],
    clients: int,
    seconds: float,
    requests: Requests = growing,
) -> Load:
    """What so many clients see in so many seconds, each asking anew when it is answered.

    It ends early if the server does.
    """
    seen = Load(seconds)
    end = time.perf_counter() + seconds
    with selectors.DefaultSelector() as selector, ExitStack() as stack:
        for number in range(clients):
            client = Client(port, requests(port, facts[number::clients], number))
            stack.enter_context(client.connection)
            selector.register(client.connection, selectors.EVENT_READ, client)
            start(client, seen)
        under_way = clients
        while under_way:
            for ready, _ in selector.select(timeout=30):
                client = ready.data
                status = receive(client, seen)
                if status is None:
                    continue
                if status and time.perf_counter() < end:
                    start(client, seen)
                else:
                    selector.unregister(client.connection)
                    under_way -= 1
    return seen


def start(client: Client, seen: Load) -> None:
    """Send the next request of a client."""
    with suppress(OSError):  # if the server has left, there will be no response
        client.send()
    if client.request.added is not None:
        seen.sent.add(client.request.added)


def receive(client: Client, seen: Load) -> int | None:
    """Take what has come for a client, and note it if it is complete; 0 if nothing more comes."""
    try:
        status = client.receive()
    except OSError:
        return 0
    if not status:
        return status
    took = time.perf_counter() - client.started
    added = client.request.added
    if added is None:
        seen.asks.append(took)
    else:
        seen.adds.append(took)
        if status == 200:
            seen.acknowledged.add(added)
    seen.errors += status != 200
    return status


def main() -> None:
    """Serve, load, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graph", default="WN18RR")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--long", type=float, default=0, help="seconds of the long run")
    parser.add_argument("--no-page", action="store_true", help="leave out the page")
    arguments = parser.parse_args()
    benchmark = Benchmark.open(located(arguments.graph))
    test = list(benchmark.facts("test"))
    with TemporaryDirectory() as folder:
        store = built(arguments.graph, Path(folder))
        with serving(store) as (port, process):
            under_load(port, test, arguments)
            if arguments.long:
                long_run(port, process.pid, test, arguments)
        killed(store, test, arguments)
    if not arguments.no_page:
        print(flush=True)
        bench_page.main([])


def under_load(port: int, test: list[Fact], arguments: argparse.Namespace) -> None:
    """The load alone, and beside clients that mean no good."""
    clients = arguments.clients
    seconds = arguments.seconds
    print("| load | requests/s | ask p50, ms | p99 | add p50, ms | p99 | errors |")
    print("|---|---|---|---|---|---|---|", flush=True)
    load(port, test, clients, min(WARMING_UP, seconds))
    alone = load(port, test, clients, seconds)
    print(alone.row(f"{clients} clients"), flush=True)
    with bad_clients(port):
        beside = load(port, test, clients, seconds)
    print(
        beside.row(f"beside {SLOW_CLIENTS} slow clients, and large bodies"), flush=True
    )


@contextmanager
def bad_clients(port: int) -> Iterator[None]:
    """Meanwhile many begin requests and do not go on, and one sends bodies that are too large."""
    is_over = FORK.Event()
    works = (keep_beginning, send_too_much)
    processes = [FORK.Process(target=work, args=(port, is_over)) for work in works]
    for process in processes:
        process.start()
    try:
        yield
    finally:
        is_over.set()
        for process in processes:
            process.join()


def keep_beginning(port: int, is_over: Event) -> None:
    """Begin many requests, wait, and begin again."""
    head = f"POST /v1/update HTTP/1.1\r\nHost: localhost:{port}\r\nX-Slow: ".encode()
    while not is_over.is_set():
        with ExitStack() as stack:
            for _ in range(SLOW_CLIENTS):
                connection = socket.create_connection(("localhost", port))
                stack.enter_context(connection)
                connection.sendall(head)
            is_over.wait(5)


def send_too_much(port: int, is_over: Event) -> None:
    """Send bodies that are too large, five a second."""
    body = b"x" * TOO_LARGE
    while not is_over.wait(0.2):
        with suppress(OSError):  # the server need not read it to its end
            status_of(port, "POST", "/v1/update", body)


def killed(store: Path, test: list[Fact], arguments: argparse.Namespace) -> None:
    """Kill the server amid the load, and see what its store holds."""
    with CaseStore.open(store, read_only=True) as found:
        before = set(found.graph.facts())
    with serving(store) as (port, process):
        killer = threading.Timer(BEFORE_KILL, process.send_signal, [signal.SIGKILL])
        killer.start()
        seen = load(port, test, arguments.clients, 10 * BEFORE_KILL)
        process.wait()
    with CaseStore.open(store) as found:
        after = set(found.graph.facts())
    lost = (before | seen.acknowledged) - after
    invented = after - before - seen.sent
    print(
        "\n| killed after, s | adds acknowledged | lost | invented |\n|---|---|---|---|"
    )
    acknowledged = f"{len(seen.acknowledged):,}"
    print(
        f"| {BEFORE_KILL:.0f} | {acknowledged} | {len(lost)} | {len(invented)} |",
        flush=True,
    )


def long_run(
    port: int, process: int, facts: list[Fact], arguments: argparse.Namespace
) -> None:
    """A longer run in blocks, with the facts and the memory of the server after each."""
    print(
        "\n| after, s | facts | memory, MB | requests/s | errors |\n|---|---|---|---|---|"
    )
    seconds = arguments.long / BLOCKS
    client = HttpClient(f"http://localhost:{port}")
    for block in range(BLOCKS + 1):
        seen = load(
            port, facts, arguments.clients, seconds if block else WARMING_UP, steady
        )
        held = client.info().facts
        cells = [f"{block * seconds:.0f}", f"{held:,}", f"{memory(process):,.0f}"]
        print(f"| {' | '.join(cells)} | {seen.rate:,.0f} | {seen.errors} |", flush=True)


def memory(process: int) -> float:
    """The megabytes that a process holds now."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


if __name__ == "__main__":
    main()
