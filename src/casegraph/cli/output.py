"""
What the commands print: results on standard output in one of five formats, notes on standard error.

A result is columns and rows of plain values, and the document that JSON has instead where there is
more to say. Names are opaque: what would break a line or steer a terminal is written as an escape,
except in JSON, which has its own.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import click
from click.core import ParameterSource

from casegraph.errors import InvalidSettings

if TYPE_CHECKING:
    from collections.abc import Callable

Format = Literal["table", "json", "jsonl", "tsv", "csv"]
OUT = "Write the table to a file: .csv, .tsv, .jsonl, .json, .parquet."
ALL = "(all)"  # the name of a row of sums
CONTROL_CHARACTERS = (*range(32), *range(127, 160))
ESCAPES = {code: repr(chr(code))[1:-1] for code in CONTROL_CHARACTERS}


@dataclass(frozen=True, slots=True)
class Result:
    """What a command found.

    document  what JSON has instead of the rows
    text      makes what is printed instead of a table, where text reads better
    failed    whether the exit code says that something is wrong
    """

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    document: Any = None
    text: Callable[[], str] | None = None
    failed: bool = False

    @property
    def records(self) -> list[dict[str, Any]]:
        """The rows with the names of their columns."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


def choice(
    name: str, choices: tuple[str, ...], text: str
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """An option whose default is the first choice."""
    return click.option(
        name, type=click.Choice(choices), default=choices[0], show_default=True, help=text
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
    """Give a command `--format`, and print what it returns: one that has an `--out` of its own."""

    @wraps(command)
    def printing(form: Format, **options: object) -> Result:
        result = command(**options)
        print_result(result, form)
        return result

    return _ending(printing)


def _ending(command: Callable[..., Result]) -> Callable[..., None]:
    """Give a command the option `--format`, and the exit code that its result says."""

    @choice("--format", get_args(Format), "How to print.")
    @wraps(command)
    def ending(format: Format, **options: object) -> None:  # noqa: A002
        result = command(form=format, **options)
        if result.failed:
            sys.exit(1)

    return ending


def _format_of_file(file: Path, form: Format) -> str:
    """How to write a file: by its ending; an error if `--format` says something else."""
    from casegraph.formats.tables import table_format

    context = click.get_current_context()
    is_default = context.get_parameter_source("format") is ParameterSource.DEFAULT
    given = None if is_default else form
    if file.suffix.lower() != ".json":
        return table_format(file, given)
    if given in (None, "json"):
        return "json"
    raise InvalidSettings("format", given, f"'json', since the file is called {file.name}")


def write_result(result: Result, file: Path, form: str) -> None:
    """Write a result to a file, which is there as a whole or not at all."""
    from casegraph.formats.tables import write_table
    from casegraph.storage.disk import atomic_write

    if form == "json":
        with atomic_write(file) as stream:
            stream.write("\n".join([*_json(result), ""]).encode(errors="replace"))
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
    """Say something that is no result."""
    click.echo(f"casegraph: {escaped(message)}", err=True)


def escaped(text: str, *, kept: str = "") -> str:
    """The text with control characters, other than those kept, written as escapes."""
    escapes = {code: escape for code, escape in ESCAPES.items() if chr(code) not in kept}
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
    """Columns as wide as their widest cell.

    Numbers, by the value in the first row, to the right.
    """
    if result.text is not None:
        return [result.text()]

    cells = [result.columns]
    cells += [tuple(map(_rounded, row)) for row in result.rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    if result.rows:
        is_number = [_is_number(value) for value in result.rows[0]]
    else:
        is_number = [False for _ in result.columns]

    header, *rows = [_aligned(row, widths, is_number) for row in cells]
    return [click.style(header, bold=True), *rows]


def _aligned(row: tuple[str, ...], widths: list[int], is_number: list[bool]) -> str:
    cells = []
    for cell, width, is_right in zip(row, widths, is_number, strict=True):
        cells.append(cell.rjust(width) if is_right else cell.ljust(width))
    return "  ".join(cells).rstrip()


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
    """A value that is no number: a name, or several with commas between them, or nothing."""
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
