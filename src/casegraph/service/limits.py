"""Limits of what clients may ask; a request beyond them is rejected without any effect."""

from dataclasses import dataclass, field

from casegraph.running import threads

MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of the service.

    body             bytes of a request
    file             bytes of a request that is a file of facts
    bodies           bytes of all requests that are being received
    rows             answers, questions, facts or lines in one request or response
    seconds          that a read may take
    slow_seconds     that a read may take which counts or searches much: clusters, counterfactuals
    slow_client      seconds in which a client must send its request, and take a part of a response
    waiting          requests under way at the same time, of all clients
    of_one_client    the same, of one address
    streams          readers of events at the same time
    jobs             jobs that wait or run
    threads          that answer: as many as processors, as with more they only wait for each other
    slow_threads     that do what may take long
    worlds           imagined worlds that are asked to find what changes a mind
    """

    body: int = 2 * MEBIBYTE
    file: int = 16 * MEBIBYTE
    bodies: int = 64 * MEBIBYTE
    rows: int = 1_000
    seconds: float = 1.0
    slow_seconds: float = 20.0
    slow_client: float = 10.0
    waiting: int = 128
    of_one_client: int = 64
    streams: int = 64
    jobs: int = 8
    threads: int = field(default_factory=lambda: max(2, threads()))
    slow_threads: int = 2
    worlds: int = 300
