"""
The opening of a table: its first lines, from which separator and columns are detected.

CSV has many variants. The separator is the one with which the header is understood, or that splits
the first rows into the same number of fields; Excel may write it in a separate line, `sep=;`.
Neo4j's import allows the header to be in a separate file beside the rows.
"""

import re
from collections import deque
from collections.abc import Iterator
from os import PathLike, fspath
from pathlib import Path
from typing import NamedTuple

from casegraph.formats.columns import Table, chosen_edges, table_of
from casegraph.formats.reading import Options
from casegraph.formats.sources import MAX_RECORD_BYTES, Place, lines_of
from casegraph.formats.table_rows import SEPARATORS, TableRow, first_record, records_of

ROWS_AHEAD = 20  # this many rows are looked at if the first might be a header
_EXCEL_SEPARATOR = re.compile(rb'"?sep=([,;\t|])"?\r?\n?')
# The end of a name like gene-part000.csv.
_PART_OF_A_FILE = re.compile(r"[-_]?(part[-_]?)?\d*$")


class Header(NamedTuple):
    """A header in a separate file, and the separator with which it is understood."""

    table: Table
    names: list[str]
    separator: str


class Opening(Iterator[bytes]):
    """Blocks, the first of which can be looked at again, or in advance."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._taken: list[bytes] | None = []
        self._ahead: deque[bytes] = deque()

    def __next__(self) -> bytes:
        block = self._ahead.popleft() if self._ahead else next(self._blocks)
        if self._taken is not None and not is_empty(block):
            self._taken.append(block)
        return block

    def first_lines(self, most: int) -> list[bytes]:
        """Up to `most` of the first lines that are not empty."""
        lines: list[bytes] = []
        held_bytes = 0
        for block in self._first_blocks():
            held_bytes += len(block)
            lines += [line for line in lines_of(block) if not is_empty(line)]
            if len(lines) >= most or held_bytes >= MAX_RECORD_BYTES:
                break
        return lines[:most]

    def _first_blocks(self) -> Iterator[bytes]:
        """All blocks from the first on; those that are new are kept to be taken later."""
        yield from [*(self._taken or []), *self._ahead]
        for block in self._blocks:
            self._ahead.append(block)
            yield block

    def first_records(self, most: int, separator: str) -> list[TableRow]:
        """The records of the first lines, without those that are empty."""
        records = records_of(iter(self.first_lines(most)), 1, separator)
        return [record for record in records if not record.is_empty]

    def without_excel_separator(self) -> str | None:
        """The separator in Excel's line `sep=;`, which is removed; None without such a line."""
        for line in self.first_lines(1):
            found = _EXCEL_SEPARATOR.fullmatch(line)
            if found is not None:
                # The last one that was looked at has the line.
                block = self._ahead.pop()
                before, _, after = block.partition(line)
                self._ahead.append(before + b"\n" + after)  # keeps the numbers of lines
                return found[1].decode()
        return None

    def forget(self) -> None:
        """Release the blocks that were taken: they are not looked at again."""
        self._taken = None


def is_empty(line: bytes) -> bool:
    """Whether a line has nothing but its end."""
    return not line.strip(b"\r\n")


def separator_of(opening: Opening, options: Options) -> str:
    """The separator between the fields of CSV.

    The one with which the header is understood. If there is none, the one that splits most of the
    first rows into as many fields as the first row, three or more; a comma if several do, or none.
    """
    by_excel = opening.without_excel_separator()
    if by_excel is not None:
        return by_excel
    lines = opening.first_lines(1)
    if not lines or len(lines[0]) > MAX_RECORD_BYTES:
        return ","
    for separator in SEPARATORS:
        fields = first_record(lines[0], separator)
        if options.header is not False and _is_header(fields, options):
            return separator
    return max(SEPARATORS, key=lambda separator: _regularity(opening, separator))


def _is_header(fields: list[str], options: Options) -> bool:
    if options.columns is None:
        return table_of(fields) is not None
    try:
        _, by_number = chosen_edges(options.columns, fields)
    except ValueError:
        return False
    return not by_number


def _regularity(opening: Opening, separator: str) -> int:
    """How many of the first rows have as many fields as the first row; 0 if it has less than 3."""
    records = opening.first_records(ROWS_AHEAD, separator)
    widths = [len(record.fields) for record in records]
    return widths.count(widths[0]) if widths and widths[0] >= 3 else 0


def header_beside(source: Place, options: Options, separators: str) -> Header | None:
    """The header of a file that is in another file beside it, as neo4j-admin allows.

    The header of `gene-part000.csv` is in `gene-header.csv` or `gene_header.csv`.
    """
    if not isinstance(source, str | PathLike) or source == "-":
        return None
    path = Path(fspath(source))
    stem, *endings = path.name.split(".")
    stem = _PART_OF_A_FILE.sub("", stem)
    if options != Options() or not stem or stem.endswith(("header", "Header")):
        return None
    for sign in "-_":
        name = ".".join([f"{stem}{sign}header", *endings])
        header = _header_in(path.with_name(name), separators)
        if header is not None:
            return header
    return None


def _header_in(path: Path, separators: str) -> Header | None:
    if not path.is_file():
        return None
    with path.open("rb") as file:
        line = file.readline(MAX_RECORD_BYTES)
    for separator in separators:
        fields = first_record(line, separator)
        table = table_of(fields)
        if table is not None:
            return Header(table, fields, separator)
    return None
