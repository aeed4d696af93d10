"""
Tables as text: tab-separated and comma-separated values, with or without a header.

A line of TSV, or a record of CSV, goes through two stages after those of `formats.sources`:

    records  the fields of a line of TSV, or of a record of CSV     `_records`
    facts    three names, chosen by the header if there is one      `_Layout.fact`

Most blocks contain only well-formed lines. They are passed on unchanged (`graph.batches`): a graph
can add their facts without creating a string for every name, and callers that want the facts get
them without the first stage (`_plain_facts`), which is many times faster.

Names are opaque: nothing is stripped or normalised. `docs/reading-facts.md` specifies how unusual
lines and files are handled.
"""

import csv
import re
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import closing
from functools import partial
from itertools import chain
from os import PathLike, fspath
from pathlib import Path
from typing import NamedTuple

from casegraph.errors import MalformedFact, quoted
from casegraph.formats.columns import (
    Edges,
    Table,
    fact_or_description,
    in_words,
    looks_like_header,
    table_of,
)
from casegraph.formats.reading import Batches, Options, Reading
from casegraph.formats.sources import (
    BYTE_ORDER_MARK,
    MAX_RECORD_BYTES,
    Place,
    blocks_of,
    lines_of,
    pieces_of,
)
from casegraph.graph.batches import Block, LineSource, Shape
from casegraph.graph.descriptions import Description
from casegraph.graph.facts import Fact

TAB = "\t"
SEPARATORS = (
    ",;\t|"  # of CSV; another one than the comma is known by a header that it makes readable
)
HEADLESS = Table(3, Edges(0, 1, 2))
ROWS_AHEAD = 20  # that are looked at when the first row might be a header
ROWS_SHOWN = 2  # of them, in the message

_NO_NAME_BYTES = b"\t\n\r\0"  # in no name, whatever is between the fields
_NAME_BYTES = {
    separator: bytes(set(range(256)) - {*_NO_NAME_BYTES, *separator.encode()})
    for separator in SEPARATORS
}
_EMPTY_LINES = re.compile(rb"\n{2,}")
_PART_OF_A_FILE = re.compile(r"[-_]?(part[-_]?)?\d*$")  # of the name, as in gene-part000.csv


def read_tsv(source: Place, reading: Reading, options: Options) -> Batches:
    """The facts of tab-separated lines."""
    header = _separate_header(source, options, TAB)
    pieces = pieces_of(source)
    with closing(pieces):
        blocks = _Opening(blocks_of(pieces, reading.write_refused))
        layout = _Layout(options, reading, blocks, TAB)
        if header is not None:
            layout.use(header)
        yield from _facts_of_tsv(blocks, layout, reading)


def read_csv(source: Place, reading: Reading, options: Options) -> Batches:
    """The facts of comma-separated values."""
    header = _separate_header(source, options, ",")
    pieces = pieces_of(source)
    with closing(pieces):
        blocks = _Opening(blocks_of(pieces, reading.write_refused))
        first_block, first_line, empty = _first_line(blocks)
        separator = header.separator if header else _separator(first_line, options, blocks)
        layout = _Layout(options, reading, blocks, separator)
        if header is not None:
            layout.use(header)
        yield from _facts_of_csv(chain([first_block], blocks), 1 + empty, layout, reading)


def tsv_lines(facts: Iterable[tuple[str, str, str]], name: str) -> Iterator[bytes]:
    """Facts as tab-separated lines; `MalformedFact` at one that would not read back as it is."""
    for number, fact in enumerate(facts, start=1):
        line = _encoded(fact, name, number)
        if number == 1 and line.startswith(BYTE_ORDER_MARK):
            # The reader drops a mark at the very beginning, and keeps the next.
            yield BYTE_ORDER_MARK
        yield line


def rows_of(
    source: Place, reading: Reading, *, is_csv: bool
) -> Iterator[tuple[int, list[str], bytes]]:
    """The rows of a table, whatever they hold: the number of the line, the fields, the bytes."""
    pieces = pieces_of(source)
    with closing(pieces):
        lines = chain.from_iterable(map(lines_of, blocks_of(pieces, reading.write_refused)))
        for record in _records(lines, 1, "," if is_csv else TAB):
            if record.problem:
                reading.refuse(record.line, record.problem, record.raw)
            elif record.fields:
                yield record.line, record.fields, record.raw


def _facts_of_tsv(blocks: Iterator[bytes], layout: "_Layout", reading: Reading) -> Batches:
    """The facts of each block: the block itself if it looks plain, else record by record."""
    line_number = 1
    for block in blocks:
        if layout.looks_plain(block):
            yield Block(block, layout, line_number)
        else:
            yield from _facts_of_records(lines_of(block), line_number, layout, reading)
        line_number += block.count(b"\n") or 1


def _facts_of_csv(
    blocks: Iterator[bytes], first_line: int, layout: "_Layout", reading: Reading
) -> Batches:
    """The facts of each block: the block itself if it looks plain, else record by record.

    A record in quotes may go on in the next block, which is then taken together with this one.
    """
    line_number = first_line
    for block in blocks:
        if layout.looks_plain(block):
            yield Block(block, layout, line_number)
            line_number += block.count(b"\n") or 1
        else:
            lines = _LinesOfCsv(block, blocks)
            yield from _facts_of_records(lines, line_number, layout, reading)
            line_number += lines.line_ends or 1


class _LinesOfCsv(Iterator[bytes]):
    """The lines of a block, and of the next ones as long as a record is not complete.

    line_ends  how many lines have ended so far
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
        """Whether all lines are taken that were held."""
        return not self._lines


def _facts_of_records(
    lines: Iterator[bytes], first_line: int, layout: "_Layout", reading: Reading
) -> Iterator[list[Fact]]:
    for record in _records(lines, first_line, layout.separator):
        try:
            fact = layout.fact(record)
        except _NotAFact as error:
            reading.refuse(record.line, str(error), record.raw)
            continue
        if fact is not None:
            yield [fact]


class _NotAFact(Exception):
    """Why a record is not a fact; never leaves this module."""


class _Record(NamedTuple):
    """A line of TSV, or a record of CSV, which may have several lines.

    line     the number of its (first) line
    raw      its bytes
    fields   its fields; none if it is empty or has a problem
    problem  why it cannot be read, or the empty string
    """

    line: int
    raw: bytes
    fields: list[str]
    problem: str


class _Header(NamedTuple):
    """A header in a file of its own, and the separator that makes it readable."""

    table: Table
    names: list[str]
    separator: str


class _Opening(Iterator[bytes]):
    """Blocks, of which the first can be looked at again, or before they are taken."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._taken: list[bytes] | None = []
        self._ahead: deque[bytes] = deque()

    def __next__(self) -> bytes:
        block = self._ahead.popleft() if self._ahead else next(self._blocks)
        if self._taken is not None and not _is_empty(block):
            self._taken.append(block)
        return block

    def first_lines(self, most: int) -> list[bytes]:
        """The first non-empty lines of the source, up to a number."""
        blocks = [*(self._taken or []), *self._ahead]
        lines = [line for block in blocks for line in lines_of(block) if not _is_empty(line)]
        held = sum(map(len, blocks))
        while len(lines) < most and held < MAX_RECORD_BYTES:
            block = next(self._blocks, None)
            if block is None:
                break
            self._ahead.append(block)
            held += len(block)
            lines += [line for line in lines_of(block) if not _is_empty(line)]
        return lines[:most]

    def forget(self) -> None:
        """Hold the first blocks no longer."""
        self._taken = None


class _Layout(LineSource):
    """Which fields of a record are head, relation and tail, or describe an entity.

    It is known when the first record that is not empty has been seen, which may be a header.
    """

    def __init__(
        self, options: Options, reading: Reading, opening: _Opening, separator: str
    ) -> None:
        self.separator = separator
        self._header = options.header
        self._columns = options.columns
        self._reading = reading
        self._opening = opening
        self._is_known = options.header is False and options.columns is None
        self._table = HEADLESS
        sign = "<TAB>" if separator == TAB else separator
        self._expected = f"'head{sign}relation{sign}tail'"

    def looks_plain(self, block: bytes) -> bool:
        """Whether every line of a block may be a plain fact."""
        is_quoted = self.separator != TAB and b'"' in block
        is_readable = self._is_known and self._table.has_plain_facts and not is_quoted
        return is_readable and len(block) <= MAX_RECORD_BYTES

    @property
    def shape(self) -> Shape:
        """The layout of a line that is a plain fact."""
        edges = self._table.edges
        assert edges is not None  # as it is in every table of plain facts
        places = edges.head, edges.relation, edges.tail
        return Shape(self.separator.encode(), self._table.width, places)

    def names(self, texts: list[str], *, are_relations: bool) -> list[str]:  # noqa: ARG002
        """A text is a name unless it is blank."""
        if all(map(str.strip, texts)):
            return texts
        return [text if text.strip() else "" for text in texts]

    def facts_of_block(self, block: Block) -> Iterator[list[Fact]]:
        """The facts of a block that looks plain: at once if it is, else record by record."""
        facts = _plain_facts(block.content, self._table, self.separator)
        if facts is None:
            lines = lines_of(block.content)
            yield from _facts_of_records(lines, block.first_line, self, self._reading)
        else:
            yield facts

    def use(self, header: _Header) -> None:
        """Read all records as a header in another file says."""
        self._is_known = True
        self._take(header.table, header.names)

    def fact(self, record: _Record) -> Fact | None:
        """The fact of a record; None for an empty record, a header and a description.

        Raises `_NotAFact` for every other record.
        """
        fields = record.fields
        if not fields and not record.problem:
            return None
        if not self._is_known:
            self._is_known = True
            is_header = self._read_header(record)
            self._opening.forget()
            if is_header and not record.problem:
                return None
        if record.problem:
            raise _NotAFact(record.problem)
        if len(fields) != self._table.width:
            raise _NotAFact(self._width_problem(fields))
        try:
            found = fact_or_description(self._table, fields)
        except ValueError as error:
            raise _NotAFact(str(error)) from None
        if isinstance(found, Description):
            self._reading.described.append(found)
            return None
        return found

    def _read_header(self, record: _Record) -> bool:
        """Learn the layout from the first record; whether that is a header."""
        fields = record.fields
        if self._columns is not None:
            return self._read_columns(record, self._columns)
        table = table_of(fields) if self._header is not False else None
        if table is not None:
            self._take(table, fields)
            return True
        if self._header is not None or record.problem:
            return bool(self._header)
        if looks_like_header(fields, lambda: self._first_rows(ROWS_AHEAD + 1)[1:]):
            self._reading.stop(record.line, self._unknown_header())
        if len(fields) > 3 and self._have_all_rows_width(len(fields)):
            self._reading.stop(record.line, self._too_many_columns())
        return False

    def _read_columns(self, record: _Record, columns: Iterable[str]) -> bool:
        """Learn the layout from the names of columns that were given, or from their numbers."""
        fields = record.fields
        places = [fields.index(name) for name in columns if fields.count(name) == 1]
        if len(places) == 3:
            self._take(Table.of_places(len(fields), *places), fields)
            return True
        numbers = [int(name) for name in columns if name.isdecimal()]
        if len(numbers) == 3 and min(numbers) > 0 and max(numbers) <= len(fields):
            places = [number - 1 for number in numbers]
            names = [f"column {number}" for number in range(1, len(fields) + 1)]
            self._take(Table.of_places(len(fields), *places), names)
            return bool(self._header)
        wanted = ", ".join(columns)
        found = quoted(self.separator.join(fields))
        problem = f"expected the columns {wanted} once each, found {found}"
        return self._reading.stop(record.line, problem)

    def _take(self, table: Table, names: list[str]) -> None:
        self._reading.columns = in_words(table, names)
        has_plain_edges = table.edges == HEADLESS.edges and table.nodes is None
        is_headless = has_plain_edges and table.width == 3
        self._table = HEADLESS if is_headless else table
        if not is_headless:
            self._expected = f"{table.width} fields, as in the header"

    def _first_rows(self, most: int) -> list[list[str]]:
        """The fields of the first rows of the source, without those that cannot be read."""
        records = _records(iter(self._opening.first_lines(most)), 1, self.separator)
        return [record.fields for record in records if record.fields]

    def _have_all_rows_width(self, width: int) -> bool:
        """Whether all of the first rows have this number of fields."""
        rows = self._first_rows(ROWS_AHEAD)
        return len(rows) > 1 and all(len(row) == width for row in rows)

    def _unknown_header(self) -> str:
        return (
            f"the first line looks like a header that is not understood: {self._shown_rows()}; "
            f"name its three columns with columns= or --columns, or say header=False or "
            f"--no-header if it is a fact"
        )

    def _too_many_columns(self) -> str:
        return (
            f"the header is not understood, if it is one: {self._shown_rows()}; name the three "
            f"columns to read, or give their numbers, with columns= or --columns"
        )

    def _shown_rows(self) -> str:
        """The first row, and those that follow it."""
        first, *rows = [
            quoted(self.separator.join(row)) for row in self._first_rows(1 + ROWS_SHOWN)
        ]
        return f"{first}, followed by {' and '.join(rows)}" if rows else first

    def _width_problem(self, fields: list[str]) -> str:
        width = len(fields)
        found = "1 field" if width == 1 else f"{width} fields"
        problem = f"expected {self._expected}, found {found}"
        if width == 1 and self.separator == TAB and fields[0].count(",") > 1:
            problem += " (if commas are between them, say format='csv' or --from csv)"
        if width > 3 and self._table is HEADLESS:
            problem += (
                " (name the three to read, or give their numbers, with columns= or --columns)"
            )
        return problem


def _plain_facts(block: bytes, table: Table = HEADLESS, separator: str = TAB) -> list[Fact] | None:
    """The facts of a block; None if a line is neither empty nor as the table says, or is quoted.

    The whole block is checked and cut with a few calls on bytes, without a loop over lines.
    """
    edges = table.edges
    is_quoted = separator != TAB and b'"' in block
    if edges is None or not table.has_plain_facts or is_quoted:
        return None
    lines = block.replace(b"\r\n", b"\n") if b"\r" in block else block
    if b"\n\n" in lines or lines.startswith(b"\n"):
        lines = _EMPTY_LINES.sub(b"\n", lines).removeprefix(b"\n")
    if not lines or len(lines) > MAX_RECORD_BYTES:
        return None if lines else []

    # Without the bytes that names may have, every line must be separators and a line end.
    sign = separator.encode()
    separators = lines.translate(None, _NAME_BYTES[separator])
    number_of_lines = lines.count(b"\n") or 1
    if separators != (sign * (table.width - 1) + b"\n") * number_of_lines:
        return None

    try:
        fields = lines[:-1].replace(b"\n", sign).decode().split(separator)
    except UnicodeDecodeError:
        return None
    columns = [fields[place :: table.width] for place in (edges.head, edges.relation, edges.tail)]
    if not all(all(map(str.strip, column)) for column in columns):
        return None
    fact_of_triple = partial(tuple.__new__, Fact)  # unlike `Fact(...)`, runs no Python code
    return list(map(fact_of_triple, zip(*columns, strict=True)))


def _records(lines: Iterator[bytes], first_line: int, separator: str) -> Iterator[_Record]:
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
    while not (isinstance(lines, _LinesOfCsv) and lines.is_taken):
        problem = ""
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error:
            fields = []
            problem = csv_problem
        raw = taken.since_last_call()
        yield _Record(line, raw, fields, _text_problem(raw) or problem)

        line += raw.count(b"\n")
        if not raw.endswith(b"\n"):
            line += 1


class _TakenLines(Iterator[str]):
    """Lines for `csv.reader` as text, which remembers the bytes that the reader has taken.

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
        return f"{found} (perhaps 'iconv -f WINDOWS-1252 -t UTF-8' converts the file)"
    return ""


def _first_line(blocks: Iterator[bytes]) -> tuple[bytes, bytes, int]:
    """The first block that is not empty, its first line that is not, and the lines before both."""
    empty = 0
    for block in blocks:
        for line in lines_of(block):
            if not _is_empty(line):
                return block, line, empty
        empty += block.count(b"\n")
    return b"", b"", empty


def _is_empty(line: bytes) -> bool:
    return not line.strip(b"\r\n")


def _separator(first_line: bytes, options: Options, opening: _Opening) -> str:
    """What is between the fields of CSV: a comma, unless a header reads better with another.

    If it does not, another one that every line has as often, where the first has no comma.
    """
    if len(first_line) > MAX_RECORD_BYTES or options.header is False:
        return ","
    wanted = set(options.columns or ())
    for separator in SEPARATORS:
        record = next(_records(iter([first_line]), 1, separator), None)
        fields = record.fields if record else []
        if table_of(fields) is not None or (wanted and wanted <= set(fields)):
            return separator
    return _regular_separator(opening.first_lines(ROWS_AHEAD)) or ","


def _regular_separator(lines: list[bytes]) -> str | None:
    """What all lines have as often, twice or more, if the first has no comma; None if nothing."""
    if len(lines) < 2 or b"," in lines[0]:
        return None
    for separator in SEPARATORS:
        times = {line.count(separator.encode()) for line in lines}
        if len(times) == 1 and min(times) >= 2:
            return separator
    return None


def _separate_header(source: Place, options: Options, separator: str) -> _Header | None:
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
            separators = TAB if separator == TAB else SEPARATORS
            for candidate in separators:
                record = next(_records(iter([line]), 1, candidate), None)
                fields = record.fields if record else []
                table = table_of(fields)
                if table is not None:
                    return _Header(table, fields, candidate)
    return None


def _encoded(fact: tuple[str, str, str], name: str, number: int) -> bytes:
    """A fact as a line, if it reads back as the same fact."""
    text = "\t".join(fact)
    line = text.encode(errors="replace") + b"\n"
    if _plain_facts(line) != [tuple(fact)]:
        problem = (
            "a name that is blank, or has a tab, line end, NUL or lone surrogate, cannot be written"
        )
        raise MalformedFact(name, number, f"{problem}: {quoted(text)}")
    return line
