"""
Records: the lines of tab-separated values, and the records of comma-separated values.

A record of CSV may span several lines, because a field in quotes may contain line ends. Each record
keeps its bytes, for messages and for the file of refused lines.
"""

import csv
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from casegraph.formats.sources import MAX_RECORD_BYTES, lines_of

TAB = "\t"
MAX_FIELDS = 10_000  # of a line of TSV, or of a record of CSV
SEPARATORS = ",;\t|"  # those that CSV may have between its fields


class TableRow(NamedTuple):
    """A line of TSV, or a record of CSV.

    line     the number of its (first) line
    raw      its bytes
    fields   its fields; none if it is empty or has a problem
    problem  why it cannot be read, or the empty string
    """

    line: int
    raw: bytes
    fields: list[str]
    problem: str

    @property
    def is_empty(self) -> bool:
        """Whether it has no text: an empty line, or an empty row of a spreadsheet."""
        return not self.problem and not any(self.fields)


def records_of(
    lines: Iterator[bytes], first_line: int, separator: str
) -> Iterator[TableRow]:
    """The records of lines, as the `csv` module of the standard library reads them."""
    limit = max(csv.field_size_limit(), MAX_RECORD_BYTES)
    csv.field_size_limit(limit)  # for the whole process

    taken = _TakenLines(lines)
    if separator != TAB:
        reader = csv.reader(taken, delimiter=separator, strict=True)
        csv_problem = "found a carriage return or a quote out of place"
    else:
        reader = csv.reader(taken, delimiter=TAB, quoting=csv.QUOTE_NONE)
        csv_problem = "found a carriage return out of place"

    line = first_line
    while not (isinstance(lines, LinesOfCsv) and lines.is_taken):
        problem = ""
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error:
            fields = []
            problem = csv_problem
        if len(fields) > MAX_FIELDS:
            problem = f"found {len(fields):,} fields, and up to {MAX_FIELDS:,} are read"
            fields = []
        raw = taken.since_last_call()
        yield TableRow(line, raw, fields, _text_problem(raw) or problem)

        line += raw.count(b"\n")
        if not raw.endswith(b"\n"):
            line += 1


def first_record(line: bytes, separator: str) -> list[str]:
    """The fields of a line on its own."""
    record = next(records_of(iter([line]), 1, separator), None)
    return record.fields if record else []


class LinesOfCsv(Iterator[bytes]):
    """The lines of a block, and of the following blocks while a record is not complete.

    line_ends  the number of line ends in these blocks
    """

    def __init__(self, block: bytes, blocks: Iterator[bytes]) -> None:
        self._lines = deque(lines_of(block))
        self._blocks = blocks
        self.line_ends = block.count(b"\n")

    def __next__(self) -> bytes:
        while not self._lines:
            block = next(self._blocks)
            self._lines.extend(lines_of(block))
            self.line_ends += block.count(b"\n")
        return self._lines.popleft()

    @property
    def is_taken(self) -> bool:
        """Whether all lines of the blocks so far were taken."""
        return not self._lines


class _TakenLines(Iterator[str]):
    """Lines as text for `csv.reader`; keeps the bytes that the reader has taken.

    Bytes that are not UTF-8 become surrogates; `_text_problem` refuses them later.
    """

    def __init__(self, lines: Iterator[bytes]) -> None:
        self._lines = lines
        self._taken: list[bytes] = []
        self._size = 0

    def __next__(self) -> str:
        line = next(self._lines)
        self._taken.append(line)
        self._size += len(line)
        if self._size > MAX_RECORD_BYTES:
            raise csv.Error
        return line.decode(errors="surrogateescape")

    def since_last_call(self) -> bytes:
        """The bytes that were taken since this was last called: those of one record."""
        raw = b"".join(self._taken)
        self._taken = []
        self._size = 0
        return raw


def _text_problem(raw: bytes) -> str:
    """Why these bytes are not the text of a record, or the empty string."""
    if len(raw) > MAX_RECORD_BYTES:
        return "expected one fact a line, found more than 16 MiB"
    if b"\0" in raw:
        return f"found a NUL byte at offset {raw.index(0)} of the line"
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        byte = f"0x{raw[error.start]:02x}"
        found = f"expected UTF-8, found byte {byte} at offset {error.start} of the line"
        return f"{found} (if a spreadsheet wrote the file, try --encoding cp1252)"
    return ""
