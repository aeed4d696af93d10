"""
Streams of changes: lines become updates, after a number of lines or a number of seconds.

A line is a fact, to be added, or a sign and a fact: `+` adds it, `-` retracts it. Of several lines
about one fact in a batch, the last counts, as if each had been an update of its own.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from queue import Empty, Queue
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING

from casegraph.formats.delimited import rows_of
from casegraph.formats.sources import name_of
from casegraph.formats.table_rows import TAB
from casegraph.graph.facts import Fact, problem_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from casegraph.formats.reading import Reading
    from casegraph.formats.sources import Place

SIGNS = ("+", "-")
# At most this many lines wait for the batch before them to be written.
LINES_AHEAD = 10_000


@dataclass
class StreamBatch:
    """Facts to add and to retract; the last change of each fact counts."""

    changes: dict[Fact, str] = field(default_factory=dict)
    lines: int = 0

    @property
    def added(self) -> list[Fact]:
        """The facts to add."""
        return [fact for fact, sign in self.changes.items() if sign == "+"]

    @property
    def retracted(self) -> list[Fact]:
        """The facts to retract."""
        return [fact for fact, sign in self.changes.items() if sign == "-"]


class _End:
    """The last item from the reading thread: the stream ended, perhaps with an error."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


def batches_of(
    source: Place, reading: Reading, every: int | None, seconds: float | None
) -> Iterator[StreamBatch]:
    """The changes of a stream in batches.

    every    the largest number of lines of a batch; None: no limit
    seconds  the longest time that a line waits for others; None: no limit

    A line that is not a change stops the stream, after the changes before it were yielded.
    """
    arrived: Queue[tuple[str, Fact] | _End] = Queue(LINES_AHEAD)
    place = _standard_input() if source == "-" else source
    Thread(target=_read, args=(place, reading, arrived), daemon=True).start()
    batch = StreamBatch()
    until: float | None = None
    while True:
        try:
            waiting = None if until is None else max(0.0, until - monotonic())
            found = arrived.get(timeout=waiting)
        except Empty:
            yield batch
            batch = StreamBatch()
            until = None
            continue
        if isinstance(found, _End):
            if batch.lines:
                yield batch
            if found.error is not None:
                raise found.error
            return
        sign, fact = found
        batch.changes[fact] = sign
        batch.lines += 1
        if until is None and seconds is not None:
            until = monotonic() + seconds
        if every is not None and batch.lines >= every:
            yield batch
            batch = StreamBatch()
            until = None


def _standard_input() -> Place:
    """Standard input without Python's buffer.

    When the program is interrupted, it would have to wait for a thread that reads from the buffer.
    """
    try:
        return open(os.dup(sys.stdin.fileno()), "rb", buffering=0)  # noqa: PTH123
    except (OSError, ValueError):  # standard input is not a file
        return "-"


def _read(
    source: Place, reading: Reading, arrived: Queue[tuple[str, Fact] | _End]
) -> None:
    """Read lines in a separate thread, so that a batch can end while no line arrives."""
    separator = "," if name_of(source).lower().endswith(".csv") else TAB
    try:
        for line, raw, fields, _ in rows_of(source, reading, separator):
            sign, *names = fields if len(fields) == 4 else ["+", *fields]
            problem = _problem(sign, names)
            if problem:
                reading.refuse(line, problem, raw)
            else:
                arrived.put((sign, Fact(*names)))
    except BaseException as error:
        arrived.put(_End(error))
    else:
        arrived.put(_End())


def _problem(sign: str, names: list[str]) -> str:
    if sign not in SIGNS or len(names) != 3:
        return "expected head<TAB>relation<TAB>tail, or these after +<TAB> or -<TAB>"
    for name in names:
        problem = problem_of(name)
        if problem:
            return f"a name {problem}"
    return ""
