"""
Output of the commands: results on standard output in one of five formats, notes on standard error.

A result is columns and rows of plain values, and a document for JSON if that has more to show.
Names are opaque: control characters in them are written as escapes, except in JSON, which has its
own.

Output for people fits the terminal: text is wrapped, and in a table that is too wide the longest
cells are shortened. Output to a file or a pipe is not, since nothing may be lost there.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from shutil import get_terminal_size
from textwrap import TextWrapper
from typing import TYPE_CHECKING, Any, Literal, get_args

import click
from click.core import ParameterSource

from casegraph.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

logger = logging.getLogger(__name__)
Format = Literal["table", "json", "jsonl", "tsv", "csv"]
OUT = "Write the table to a file: .csv, .tsv, .jsonl, .json, .parquet."
ALL = "(all)"  # the name of a row of sums
CONTROL_CHARACTERS = (*range(32), *range(127, 160))
ESCAPES = {code: repr(chr(code))[1:-1] for code in CONTROL_CHARACTERS}
GAP = 2  # characters between two columns of a table
NARROWEST = 8  # characters of a column that is shortened
WIDEST_TEXT = 100  # characters of a line: longer lines are hard to read on any terminal
# What prints notes instead; the last one does.
_speakers: list[Callable[[str], None]] = []
# The beginning of a line: its style, white space, and perhaps a share of a score.
_BEGINNING = re.compile(
    r"(?P<style>(\x1b\[[0-9;]*m)*)(?P<indent>\s*)(?P<share>\d+%  )?"
)


@dataclass(frozen=True, slots=True)
class Result:
    """What a command found.

    document  for JSON, instead of the rows
    text      makes a text to print instead of a table, where text reads better
    failed    whether the exit code is 1
    shown     the columns of a table for people, if all of them are too many
    """

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    document: Any = None
    text: Callable[[], str] | None = None
    failed: bool = False
    shown: tuple[str, ...] = ()

    @property
    def records(self) -> list[dict[str, Any]]:
        """The rows with the names of their columns."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


def choice(
    name: str, choices: tuple[str, ...], text: str
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """An option whose default is the first choice."""
    return click.option(
        name,
        type=click.Choice(choices),
        default=choices[0],
        show_default=True,
        help=text,
    )


def with_format(command: Callable[..., Result]) -> Callable[..., None]:
    """Give a command `--format` and `--out`, and print or write what it returns."""

    @click.option("--out", "table_file", type=Path, metavar="FILE", help=OUT)
    @wraps(command)
    def writing(table_file: Path | None, form: Format, **options: object) -> Result:
        chosen = None if table_file is None else _format_of_file(table_file, form)
        result = command(**options)
        if table_file is None or chosen is None:
            print_result(result, form)
        else:
            write_result(result, table_file, chosen)
        return result

    return _ending(writing)


def with_format_only(command: Callable[..., Result]) -> Callable[..., None]:
    """Give a command `--format`, and print what it returns; for commands with their own `--out`."""

    @wraps(command)
    def printing(form: Format, **options: object) -> Result:
        result = command(**options)
        print_result(result, form)
        return result

    return _ending(printing)


def _ending(command: Callable[..., Result]) -> Callable[..., None]:
    """Give a command the option `--format`, and the exit code of its result."""

    @choice("--format", get_args(Format), "How to print.")
    @wraps(command)
    def ending(format: Format, **options: object) -> None:  # noqa: A002
        result = command(form=format, **options)
        if result.failed:
            sys.exit(1)

    return ending


def _format_of_file(file: Path, form: Format) -> str:
    """The format of a file by its ending; an error if `--format` is another one."""
    from casegraph.formats.tables import table_format

    context = click.get_current_context()
    is_default = context.get_parameter_source("format") is ParameterSource.DEFAULT
    given = None if is_default else form
    if file.suffix.lower() != ".json":
        return table_format(file, given)
    if given in (None, "json"):
        return "json"
    raise InvalidArgument(
        "format", given, f"'json', since the file is called {file.name}"
    )


def write_result(result: Result, file: Path, form: str) -> None:
    """Write a result to a file, completely or not at all."""
    from casegraph.disk import atomic_write
    from casegraph.formats.tables import write_table

    if form == "json":
        text = "\n".join(_json(result)) + "\n"
        with atomic_write(file) as stream:
            stream.write(text.encode(errors="replace"))
    else:
        write_table(file, form, result.columns, result.rows)
    note(f"{file}: {len(result.rows):,} rows written")


def print_result(result: Result, form: Format) -> None:
    """Write a result to standard output; if it has no lines, not even an empty line."""
    lines = _LINES[form](result)
    text = "\n".join(lines)
    if text:
        click.echo(text)


def note(message: str) -> None:
    """Print a message that is not part of the result, to standard error."""
    text = f"casegraph: {escaped(message)}"
    if _log_is_json():
        logger.info("%s", message)
    elif _speakers:
        _speakers[-1](text)
    else:
        click.echo(text, err=True)


def _log_is_json() -> bool:
    """Whether standard error is for programs: then it has nothing but objects of JSON."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.find_root().params.get("log_json"))


@contextmanager
def notes_said_by(speaker: Callable[[str], None]) -> Iterator[None]:
    """Let something else print notes meanwhile: a progress bar, which they would disrupt."""
    _speakers.append(speaker)
    try:
        yield
    finally:
        _speakers.remove(speaker)


def escaped(text: str, *, kept: str = "") -> str:
    """The text with control characters, other than those kept, written as escapes."""
    escapes = {
        code: escape for code, escape in ESCAPES.items() if chr(code) not in kept
    }
    return text.translate(escapes)


def _json(result: Result) -> list[str]:
    document = result.records if result.document is None else result.document
    return [json.dumps(document, indent=2, ensure_ascii=False)]


def _json_lines(result: Result) -> list[str]:
    return [json.dumps(record, ensure_ascii=False) for record in result.records]


def _tsv(result: Result) -> list[str]:
    return ["\t".join(map(_exact, row)) for row in (result.columns, *result.rows)]


def _csv(result: Result) -> list[str]:
    from casegraph.formats.tables import csv_lines

    return list(csv_lines(result.columns, result.rows))


def _table(result: Result) -> list[str]:
    """Columns as wide as their widest cell, or as the terminal allows.

    A column of numbers, by the value in the first row, is aligned to the right.
    """
    if result.text is not None:
        return wrapped(result.text())

    shown = result.shown or result.columns
    places = [result.columns.index(column) for column in shown]
    rows = [tuple(row[place] for place in places) for row in result.rows]
    first_row = rows[0] if rows else shown
    is_number = [_is_number(value) for value in first_row]
    cells = [shown]
    for row in rows:
        cells.append(tuple(map(_rounded, row)))
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    if sys.stdout.isatty():
        widths = _narrowed(widths, is_number, get_terminal_size().columns)

    header, *lines = [_aligned(row, widths, is_number) for row in cells]
    return [click.style(header, bold=True), *lines]


def _narrowed(widths: list[int], is_number: list[bool], terminal: int) -> list[int]:
    """Widths of columns that fit a terminal: the widest texts are shortened, numbers never are."""
    narrowed = list(widths)
    texts = [place for place, is_right in enumerate(is_number) if not is_right]
    gaps = GAP * (len(widths) - 1)
    too_much = sum(widths) + gaps - terminal
    while too_much > 0 and texts:
        widest = max(texts, key=narrowed.__getitem__)
        if narrowed[widest] <= NARROWEST:
            break
        narrowed[widest] -= 1
        too_much -= 1
    return narrowed


def wrapped(text: str) -> list[str]:
    """The lines of a text; those that are too long are wrapped with a hanging indent."""
    width = min(get_terminal_size().columns, WIDEST_TEXT)
    lines: list[str] = []
    for line in text.split("\n"):
        if len(click.unstyle(line)) <= width:
            lines.append(line)
        else:
            lines += _wrapped_line(line, width)
    return lines


def _wrapped_line(line: str, width: int) -> list[str]:
    beginning = _BEGINNING.match(line)
    assert beginning is not None  # even an empty beginning matches
    style = beginning["style"]
    indent = len(beginning["indent"])
    hanging = indent + len(beginning["share"] or "  ") if indent else 0
    wrapper = TextWrapper(
        width,
        initial_indent=" " * indent,
        subsequent_indent=" " * hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )
    first, *rest = wrapper.wrap(line[len(style) :].strip())
    return [style + first, *rest]


def _aligned(row: tuple[str, ...], widths: list[int], is_number: list[bool]) -> str:
    cells = []
    for cell, width, is_right in zip(row, widths, is_number, strict=True):
        fitting = cell if len(cell) <= width else cell[: width - 1] + "…"
        cells.append(fitting.rjust(width) if is_right else fitting.ljust(width))
    return (" " * GAP).join(cells).rstrip()


def _exact(value: object) -> str:
    if isinstance(value, bool | float):
        return json.dumps(value)
    return _listed(value)


def _rounded(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, float):
        return f"{value:.4f}"
    if isinstance(value, int):
        return f"{value:,}"
    return _listed(value)


def _listed(value: object) -> str:
    """A value that is not a number: a name, several names with commas, or nothing."""
    if value is None:
        return ""
    if isinstance(value, tuple | list):
        return escaped(", ".join(map(str, value)))
    return escaped(str(value))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_LINES: dict[Format, Callable[[Result], list[str]]] = {
    "table": _table,
    "json": _json,
    "jsonl": _json_lines,
    "tsv": _tsv,
    "csv": _csv,
}
