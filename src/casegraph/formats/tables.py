"""
Results as tables: rows with named columns, as files for a spreadsheet or a program.

CSV files are meant for spreadsheets: they begin with a byte order mark, so that UTF-8 is
recognised, and text that a spreadsheet would interpret as a formula is prefixed with an apostrophe.
"""

from __future__ import annotations

import csv
import json
from io import StringIO
from typing import TYPE_CHECKING, Any

from casegraph.disk import atomic_write
from casegraph.errors import InvalidArgument, UnreadableFile
from casegraph.formats.arrow import pyarrow
from casegraph.formats.registry import format_by_ending
from casegraph.formats.sources import BYTE_ORDER_MARK

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

ENDINGS = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".parquet": "parquet"}
_FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")


def table_format(path: Path, given: str | None = None) -> str:
    """The format of a table by the ending of its file; an error if another one was given."""
    format_by_ending(path.name)  # an error if the ending is that of a spreadsheet
    by_name = ENDINGS.get(path.suffix.lower())
    if by_name is None and given is None and path.suffix:
        problem = f"a table cannot be written as {path.suffix}"
        raise UnreadableFile(
            str(path), f"{problem}; use .csv, .tsv, .jsonl or .parquet"
        )
    if given is not None and by_name is not None and given != by_name:
        raise InvalidArgument(
            "format", given, f"{by_name!r}, since the file is called {path.name}"
        )
    chosen = given or by_name or "jsonl"
    if chosen not in ENDINGS.values():
        raise InvalidArgument("format", chosen, "csv, tsv, jsonl or parquet")
    return chosen


def write_table(
    path: Path, form: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]
) -> int:
    """Write rows to a file, all or none; returns their number."""
    if form == "parquet":
        return _write_parquet(path, columns, list(rows))
    number = 0
    with atomic_write(path) as file:
        if form == "csv":
            file.write(BYTE_ORDER_MARK)
        if form != "jsonl":
            file.write(_line(form, columns, columns))
        for row in rows:
            file.write(_line(form, columns, row))
            number += 1
    return number


def csv_lines(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Rows as lines of CSV without their ends, safe to open in a spreadsheet."""
    for row in (columns, *rows):
        yield _csv_line(row)


def _line(form: str, columns: Sequence[str], row: Sequence[Any]) -> bytes:
    if form == "csv":
        text = _csv_line(row)
    elif form == "tsv":
        cells = [_cell(value) for value in row]
        text = "\t".join(" ".join(cell.split()) for cell in cells)
    else:
        record = dict(zip(columns, row, strict=True))
        text = json.dumps(record, ensure_ascii=False)
    return text.encode(errors="replace") + b"\n"


def _csv_line(row: Sequence[Any]) -> str:
    text = StringIO(newline="")
    csv.writer(text, lineterminator="").writerow([_safe(value) for value in row])
    return text.getvalue()


def _safe(value: object) -> str:
    """A value as text that no spreadsheet interprets as a formula."""
    text = _cell(value)
    is_text = not isinstance(value, int | float)
    return f"'{text}" if is_text and text.startswith(_FORMULA_SIGNS) else text


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool | float):
        return json.dumps(value)
    if isinstance(value, tuple | list):
        return "; ".join(map(str, value))
    return str(value)


def _write_parquet(
    path: Path, columns: Sequence[str], rows: list[Sequence[Any]]
) -> int:
    arrow = pyarrow(str(path))
    from pyarrow import parquet

    values: dict[str, list[Any]] = {}
    for place, column in enumerate(columns):
        values[column] = [row[place] for row in rows]
    with atomic_write(path) as file:
        parquet.write_table(arrow.table(values), file, compression="zstd")
    return len(rows)
