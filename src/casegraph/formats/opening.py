"""
The opening of a table: its first lines, which say what is between the fields and what they hold.

CSV is a family. The separator is the one that makes the header readable, or that divides the first
rows into equally many fields; Excel may say it in a line of its own, `sep=;`. Neo4j's import allows
the header to be in a file of its own beside the rows.
"""

import re
from collections import deque
from collections.abc import Iterator
from os import PathLike, fspath
from pathlib import Path
from typing import NamedTuple

from casegraph.formats.columns import Table, chosen_edges, table_of
from casegraph.formats.reading import Options
from casegraph.formats.records import SEPARATORS, Record, first_record, records_of
from casegraph.formats.sources import MAX_RECORD_BYTES, Place, lines_of

ROWS_AHEAD = 20  # that are looked at when the first row might be a header
_EXCEL_SEPARATOR = re.compile(rb'"?sep=([,;\t|])"?\r?\n?')
_PART_OF_A_FILE = re.compile(r"[-_]?(part[-_]?)?\d*$")  # of the name, as in gene-part000.csv


class Header(NamedTuple):
    """A header in a file of its own, and the separator that makes it readable."""

    table: Table
    names: list[str]
    separator: str


class Opening(Iterator[bytes]):
    """Blocks, of which the first can be looked at again, or before they are taken."""

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
        """The first lines that are not empty, up to so many, as far as the source has them."""
        blocks = [*(self._taken or []), *self._ahead]
        lines = [line for block in blocks for line in lines_of(block) if not is_empty(line)]
        held = sum(map(len, blocks))
        while len(lines) < most and held < MAX_RECORD_BYTES:
            block = next(self._blocks, None)
            if block is None:
                break
            self._ahead.append(block)
            held += len(block)
            lines += [line for line in lines_of(block) if not is_empty(line)]
        return lines[:most]

    def first_records(self, most: int, separator: str) -> list[Record]:
        """The records of the first lines, without those that are empty."""
        records = records_of(iter(self.first_lines(most)), 1, separator)
        return [record for record in records if not record.is_empty]

    def without_excel_separator(self) -> str | None:
        """What Excel's line `sep=;` says, which is then taken out; None if there is none."""
        for line in self.first_lines(1):
            found = _EXCEL_SEPARATOR.fullmatch(line)
            if found is not None:
                block = self._ahead.pop()  # the last one that was looked at has the line
                before, _, after = block.partition(line)
                self._ahead.append(before + b"\n" + after)  # which keeps the numbers of lines
                return found[1].decode()
        return None

    def forget(self) -> None:
        """Hold the first blocks no longer."""
        self._taken = None


def is_empty(line: bytes) -> bool:
    """Whether a line has nothing but its end."""
    return not line.strip(b"\r\n")


def separator_of(opening: Opening, options: Options) -> str:
    """What is between the fields of CSV.

    That which makes the header readable. If none does, that which divides most of the first rows
    into as many fields as the first, three or more; a comma if several do, or none.
    """
    said = opening.without_excel_separator()
    if said is not None:
        return said
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
    """How many of the first rows have as many fields as the first, if these are three or more."""
    widths = [len(record.fields) for record in opening.first_records(ROWS_AHEAD, separator)]
    return widths.count(widths[0]) if widths and widths[0] >= 3 else 0


def header_beside(source: Place, options: Options, separators: str) -> Header | None:
    """The header of a file that has it in another one beside it, as neo4j-admin allows."""
    if not isinstance(source, str | PathLike) or source == "-":
        return None
    path = Path(fspath(source))
    stem, *endings = path.name.split(".")
    stem = _PART_OF_A_FILE.sub("", stem)
    if options != Options() or not stem or stem.endswith(("header", "Header")):
        return None
    for sign in "-_":
        beside = path.with_name(".".join([f"{stem}{sign}header", *endings]))
        if beside.is_file():
            with beside.open("rb") as file:
                line = file.readline(MAX_RECORD_BYTES)
            for separator in separators:
                fields = first_record(line, separator)
                table = table_of(fields)
                if table is not None:
                    return Header(table, fields, separator)
    return None
