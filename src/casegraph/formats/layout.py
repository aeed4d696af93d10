"""
The layout of a table: which fields of a record are head, relation and tail, or describe an entity.

It is known after the first record that is not empty, which may be a header.
"""

import re
from collections.abc import Iterator, Sequence
from functools import partial

from casegraph.errors import quoted
from casegraph.formats.columns import (
    FactColumns,
    Table,
    chosen_edges,
    fact_or_description,
    in_words,
    looks_like_header,
    table_of,
)
from casegraph.formats.opening import ROWS_AHEAD, Header, Opening
from casegraph.formats.reading import Options, Reading
from casegraph.formats.sources import MAX_RECORD_BYTES, lines_of
from casegraph.formats.table_rows import SEPARATORS, TAB, TableRow, records_of
from casegraph.graph.batches import Block, LineSource, Shape
from casegraph.graph.descriptions import Description
from casegraph.graph.facts import Fact

HEADLESS = Table(3, FactColumns(0, 1, 2))
ROWS_SHOWN = 2  # in a message, after the first row
CHOOSE = (
    "say which to read with --columns (columns= in Python), by name or number, such as "
    "--columns 1,2,3, or --columns 1,=treats,2 if all rows are of one relation"
)
PAIRS = (
    "pairs are read with --columns 1,=treats,2, which gives all of them that relation"
)
EMPTY_CELL = " (fill in merged cells; 'casegraph build' can leave such rows out, --on-error skip)"
_NO_NAME_BYTES = b"\t\n\r\0"  # never in a name, with any separator
_NAME_BYTES = {
    separator: bytes(set(range(256)) - {*_NO_NAME_BYTES, *separator.encode()})
    for separator in SEPARATORS
}
_EMPTY_LINES = re.compile(rb"\n{2,}")


class NotAFact(Exception):
    """Why a record is not a fact."""


class Layout(LineSource):
    """Which fields of a record are head, relation and tail, or describe an entity."""

    def __init__(
        self, options: Options, reading: Reading, opening: Opening, separator: str
    ) -> None:
        self.separator = separator
        self._header = options.header
        self._columns = options.columns
        self._reading = reading
        self._opening = opening
        self._is_known = options.header is False and options.columns is None
        self._first_line: int | None = None
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
        assert edges is not None  # every table of plain facts has them
        places = (edges.head, edges.relation, edges.tail)
        return Shape(self.separator.encode(), self._table.width, places)

    def names(self, texts: list[str], *, are_relations: bool) -> list[str]:  # noqa: ARG002
        """A text is a name unless it is blank."""
        if all(map(str.strip, texts)):
            return texts
        return [text if text.strip() else "" for text in texts]

    def facts_of_block(self, block: Block) -> Iterator[list[Fact]]:
        """The facts of a block that looks plain: at once if it is, else record by record."""
        facts = plain_facts(block.content, self._table, self.separator)
        if facts is None:
            lines = lines_of(block.content)
            yield from self.facts_of_records(lines, block.first_line)
        else:
            yield facts

    def facts_of_records(
        self, lines: Iterator[bytes], first_line: int
    ) -> Iterator[list[Fact]]:
        """The facts of lines, record by record; everything else is refused."""
        for record in records_of(lines, first_line, self.separator):
            try:
                fact = self.fact(record)
            except NotAFact as error:
                self._reading.refuse(record.line, str(error), record.raw)
                continue
            if fact is not None:
                yield [fact]

    def use(self, header: Header) -> None:
        """Read all records by a header that is in another file."""
        self._is_known = True
        self._take(header.table, header.names)

    def fact(self, record: TableRow) -> Fact | None:
        """The fact of a record; None for an empty record, a header and a description.

        Raises `NotAFact` for every other record.
        """
        if record.is_empty:
            return None
        fields = record.fields
        if not self._is_known:
            self._is_known = True
            self._first_line = record.line
            is_header = self._read_header(record)
            self._opening.forget()
            if is_header and not record.problem:
                return None
        if record.problem:
            raise NotAFact(record.problem)
        if len(fields) != self._table.width:
            is_first = record.line == self._first_line
            raise NotAFact(self._width_problem(fields, is_first=is_first))
        try:
            found = fact_or_description(self._table, fields)
        except ValueError as error:
            advice = (
                EMPTY_CELL if self.separator != TAB and "is empty" in str(error) else ""
            )
            raise NotAFact(f"{error}{advice}") from None
        if isinstance(found, Description):
            self._reading.described.append(found)
            return None
        return found

    def _read_header(self, record: TableRow) -> bool:
        """Learn the layout from the first record; returns whether that is a header."""
        fields = record.fields
        if self._columns is not None:
            return self._read_columns(record, self._columns)
        table = table_of(fields) if self._header is not False else None
        if table is not None:
            self._take(table, fields)
            return True
        if self._header is not None or record.problem:
            return bool(self._header)
        if looks_like_header(fields, lambda: self._rows_after_first(range(3))):
            self._reading.stop(record.line, self._unknown_header())
        if len(fields) > 3 and self._have_all_rows_width(len(fields)):
            problem = (
                f"there are {len(fields)} columns and no header that is understood"
            )
            self._reading.stop(
                record.line, f"{problem}: {self._shown_rows()}; {CHOOSE}"
            )
        return False

    def _read_columns(self, record: TableRow, columns: Sequence[str]) -> bool:
        """Learn the layout from given names or numbers of columns; returns whether it is a header.

        record  the first record
        columns  the columns of head, relation and tail
        """
        fields = record.fields
        try:
            edges, by_number = chosen_edges(columns, fields)
        except ValueError as error:
            return self._reading.stop(record.line, str(error))
        self._take(Table(len(fields), edges), fields)
        if not by_number:
            return True
        if self._header is not None:
            return self._header
        if table_of(fields) is not None:
            return True
        places = [edges.head, edges.relation, edges.tail]
        chosen = [fields[place] for place in places]
        if looks_like_header(chosen, lambda: self._rows_after_first(places)):
            problem = f"the first line looks like a header: {self._shown_rows()}"
            advice = (
                "say --header (header=True) if it is one, --no-header if it is a fact"
            )
            self._reading.stop(record.line, f"{problem}; {advice}")
        names = [f"column {number}" for number in range(1, len(fields) + 1)]
        self._reading.columns = in_words(self._table, names)
        return False

    def _take(self, table: Table, names: list[str]) -> None:
        self._reading.columns = in_words(table, names)
        is_headless = table == HEADLESS
        self._table = HEADLESS if is_headless else table
        if not is_headless:
            self._expected = f"{table.width} fields, as in the header"

    def _rows_after_first(self, places: Sequence[int]) -> list[list[str]]:
        """These fields of the rows that follow the first."""
        records = self._opening.first_records(ROWS_AHEAD + 1, self.separator)
        rows = [record.fields for record in records[1:]]
        return [
            [row[place] for place in places] for row in rows if len(row) > max(places)
        ]

    def _have_all_rows_width(self, width: int) -> bool:
        """Whether there are several rows, and all of the first ones have this many fields."""
        records = self._opening.first_records(ROWS_AHEAD, self.separator)
        rows = [record.fields for record in records if record.fields]
        return len(rows) > 1 and all(len(row) == width for row in rows)

    def _unknown_header(self) -> str:
        return (
            f"the first line looks like a header that is not understood: {self._shown_rows()}; "
            f"{CHOOSE}; --no-header (header=False) if it is a fact"
        )

    def _shown_rows(self) -> str:
        """The first rows, for a message."""
        records = self._opening.first_records(ROWS_AHEAD, self.separator)
        rows = [
            self.separator.join(record.fields) for record in records if record.fields
        ]
        first, *following = map(quoted, rows[: 1 + ROWS_SHOWN])
        return f"{first}, followed by {' and '.join(following)}" if following else first

    def _width_problem(self, fields: list[str], *, is_first: bool) -> str:
        width = len(fields)
        found = "1 field" if width == 1 else f"{width} fields"
        problem = f"expected {self._expected}, found {found}"
        if self._table is not HEADLESS:
            return problem
        if width == 1 and self.separator == TAB and fields[0].count(",") > 1:
            return f"{problem} (if commas are between them, say --from csv or format='csv')"
        if width == 4 and fields[0] in ("+", "-"):
            return f"{problem} (changes with + and - are read by 'casegraph add' with --every)"
        if width == 2 and is_first:
            return f"{problem} ({PAIRS})"
        if width > 3:
            return f"{problem} (say which three to read with --columns or columns=)"
        return problem


def plain_facts(
    block: bytes, table: Table = HEADLESS, separator: str = TAB
) -> list[Fact] | None:
    """The facts of a block; None if a line is neither empty nor a plain fact.

    The whole block is checked and split with a few calls on bytes, without a loop over lines.
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

    # After removing the bytes that names may have, each line must be separators and a line end.
    sign = separator.encode()
    remaining = lines.translate(None, _NAME_BYTES[separator])
    expected_line = sign * (table.width - 1) + b"\n"
    number_of_lines = lines.count(b"\n") or 1
    if remaining != expected_line * number_of_lines:
        return None

    try:
        text = lines[:-1].replace(b"\n", sign).decode()
    except UnicodeDecodeError:
        return None
    fields = text.split(separator)
    places = (edges.head, edges.relation, edges.tail)
    columns = [fields[place :: table.width] for place in places]
    has_blank_name = any(not all(map(str.strip, column)) for column in columns)
    if has_blank_name:
        return None
    # Unlike `Fact(...)`, runs no Python code.
    fact_of_triple = partial(tuple.__new__, Fact)
    return list(map(fact_of_triple, zip(*columns, strict=True)))
