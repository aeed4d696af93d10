"""
What the commands print: results on standard output in one of four formats, progress and notes on standard error.

A result is columns and rows of plain values, and the document that JSON has instead where there is more to say. Names are
opaque, so what would break a line or steer a terminal is written as an escape; JSON and lines of JSON have names exactly.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

import click

if TYPE_CHECKING:
    from casegraph.work import Show

Format = Literal["table", "json", "jsonl", "tsv"]
PATIENCE = 0.5  # seconds before a progress bar appears
EVERY = 10_000  # facts between two looks at the progress bar


@dataclass(frozen=True, slots=True)
class Result:
    """What a command found.

    document  what JSON has instead of the rows
    text      what a table is replaced by, where text reads better
    """

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    document: Any = None
    text: str = ""

    @property
    def records(self) -> list[dict[str, Any]]:
        """The rows with the names of their columns."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


def print_result(result: Result, form: Format) -> None:
    """Write a result to standard output."""
    if lines := "\n".join(_LINES[form](result)):
        click.echo(lines)


def note(message: str) -> None:
    """Tell the user something that is no result."""
    click.echo(f"casegraph: {one_line(message)}", err=True)


def one_line(text: str) -> str:
    """The text with everything that is not printable escaped."""
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)


@contextmanager
def progress() -> Iterator[Show]:
    """A function that shows how far the work is, as a bar on standard error if that is a terminal."""
    from casegraph.work import quiet

    if not sys.stderr.isatty():
        yield quiet
        return
    from rich.console import Console
    from rich.progress import Progress

    begun, bars, tasks = monotonic(), Progress(console=Console(stderr=True), transient=True), dict[str, Any]()

    def show(doing: str, done: int, total: int) -> None:
        if monotonic() - begun < PATIENCE:
            return
        bars.start()
        if doing not in tasks:
            tasks[doing] = bars.add_task(doing)
        bars.update(tasks[doing], completed=done, total=total or None)

    try:
        yield show
    finally:
        bars.stop()


def counted(facts: Iterable[tuple[str, str, str]], show: Show) -> Iterator[tuple[str, str, str]]:
    """The same facts; how many there were is shown on the way."""
    for done, fact in enumerate(facts):
        if done % EVERY == 0:
            show("reading facts", done, 0)
        yield fact


def _json(result: Result) -> list[str]:
    document = result.records if result.document is None else result.document
    return [json.dumps(document, indent=2, ensure_ascii=False)]


def _json_lines(result: Result) -> list[str]:
    return [json.dumps(record, ensure_ascii=False) for record in result.records]


def _tsv(result: Result) -> list[str]:
    return ["\t".join(map(_exact, row)) for row in (result.columns, *result.rows)]


def _table(result: Result) -> list[str]:
    if result.text:
        return [one_line(line) for line in result.text.split("\n")]
    cells = [result.columns, *(tuple(map(_rounded, row)) for row in result.rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    is_number = [bool(result.rows) and _is_number(value) for value in (result.rows or [result.columns])[0]]
    lines = [
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, is_number, strict=True)
        ).rstrip()
        for row in cells
    ]
    return [click.style(lines[0], bold=True), *lines[1:]]


def _exact(value: object) -> str:
    return json.dumps(value) if isinstance(value, bool | float) else _listed(value)


def _rounded(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, float):
        return f"{value:.4f}"
    return f"{value:,}" if isinstance(value, int) else _listed(value)


def _listed(value: object) -> str:
    return one_line(", ".join(map(str, value)) if isinstance(value, tuple | list) else str(value))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_LINES: dict[Format, Callable[[Result], list[str]]] = {
    "table": _table,
    "json": _json,
    "jsonl": _json_lines,
    "tsv": _tsv,
}
