"""
Facts as names: reading them from files and streams, and writing them.

A source is read in four stages. Each is a generator that holds only a small part of the source:

    pieces   bytes as the source gives them, decompressed          `_pieces`
    blocks   bytes that end where a line ends                      `_blocks`
    records  the fields of a line of TSV, or of a record of CSV    `_records`
    facts    three names                                           `_Layout.fact`

Most blocks of TSV have nothing but well-formed lines. Those become facts at once, without the
third stage (`_plain_facts`), which is many times faster.

Names are opaque: nothing is stripped or normalised. `docs/reading-facts.md` says what becomes of
every odd line and file.
"""

import csv
import gzip
import re
import sys
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from functools import partial
from io import TextIOBase
from itertools import chain, islice
from operator import length_hint
from os import PathLike, fspath
from pathlib import Path
from typing import IO, Any, BinaryIO, Literal, NamedTuple, TextIO, TypeAlias

from casegraph.errors import InvalidSettings, MalformedFact, UnreadableFile, quoted

PIECE_BYTES = 1 << 17  # read at once; larger pieces do not fit the processor's cache and are slower
MAX_RECORD_BYTES = 16 << 20  # of a line, or of a record of CSV, with the end of the line

# The first lines that are taken for a header, in upper or lower case.
HEADERS = [
    "head relation tail",
    "subject predicate object",
    "source relation target",
    "from rel to",
    "h r t",
]

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # of UTF-8
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_GZIP_MAGIC = b"\x1f\x8b"
_NAME_BYTES = bytes(set(range(256)) - set(b"\t\n\r\0"))
_EMPTY_LINES = re.compile(rb"\n{2,}")
_LINES = re.compile(
    rb"\n+"  # empty lines, as many as follow each other
    rb"|(?:\r?\n)+"  # the same, where some end in CRLF
    rb"|[^\n]*\n"  # a line
    rb"|[^\n]+"  # the last line, without an end
)
_Place: TypeAlias = str | PathLike[str] | BinaryIO


class Fact(NamedTuple):
    """One fact, as names."""

    head: str
    relation: str
    tail: str


def read_facts(
    source: _Place,
    *,
    format: Literal["tsv", "csv"] | None = None,  # noqa: A002
    header: bool | None = None,
    columns: Sequence[str] | None = None,
    on_error: Literal["stop", "skip"] = "stop",
    refused: BinaryIO | TextIO | None = None,
) -> "Facts":
    """The facts of a file, of standard input (`"-"`) or of a binary stream, in their order.

    The source may be compressed with gzip. It is opened when the first fact is asked for, and
    `UnreadableFile` is raised if it cannot be read to its end.

    format    "csv" or "tsv"; by default "csv" for names that end in .csv or .csv.gz, else "tsv"
    header    whether the first line names the columns; by default, whether it is one of `HEADERS`
    columns   the names, in the header, of the columns with head, relation and tail; needed if there
              are more columns, or in another order
    on_error  "stop" raises `MalformedFact` at the first line that is no fact, "skip" counts it
    refused   where "skip" writes such lines, byte for byte
    """
    if format not in (None, "tsv", "csv"):
        raise InvalidSettings("format", format, "'tsv' or 'csv'")
    if on_error not in ("stop", "skip"):
        raise InvalidSettings("on_error", on_error, "'stop' or 'skip'")

    has_csv_name = _name_of(source).lower().endswith((".csv", ".csv.gz"))
    is_csv = has_csv_name if format is None else format == "csv"
    layout = _Layout(header, columns, is_csv=is_csv)
    return Facts(source, layout, is_strict=on_error == "stop", refused=refused)


def write_facts(facts: Iterable[tuple[str, str, str]], destination: _Place) -> int:
    """Write facts as tab-separated lines, compressed if named .gz; returns the number of facts.

    Raises `MalformedFact` at a fact that would not read back as it is.
    """
    name = _name_of(destination)
    number = 0
    try:
        with _opened(destination, "wb") as stream:
            for number, fact in enumerate(facts, start=1):
                line = _encoded(fact, name, number)
                if number == 1 and line.startswith(_BYTE_ORDER_MARK):
                    # The reader drops a mark at the very beginning, and keeps the next.
                    stream.write(_BYTE_ORDER_MARK)
                stream.write(line)
    except OSError as error:
        problem = f"cannot be written: {error.strerror or error}".lower()
        raise UnreadableFile(name, problem) from error
    return number


def columns_of(facts: Sequence[tuple[str, str, str]], first: int = 1) -> list[tuple[str, ...]]:
    """The heads, the relations and the tails of facts; `MalformedFact` if one is not three names.

    first  the number of the first of these facts, for the message
    """
    columns: list[tuple[str, ...]]
    types: set[type] = set()
    try:
        columns = list(zip(*facts, strict=True))
        for column in columns:
            types.update(map(type, column))
    except (TypeError, ValueError):  # a fact is not iterable, or they have different lengths
        columns = []

    has_three_names_each = len(columns) == 3 and types == {str}
    has_strings_as_facts = str in set(map(type, facts))  # a string of three characters
    if not has_three_names_each or has_strings_as_facts:
        for number, fact in enumerate(facts, start=first):
            _check_fact(fact, number)
    return columns or [(), (), ()]


def _check_fact(fact: object, number: int) -> None:
    is_text = isinstance(fact, str | bytes)
    names = list(fact) if isinstance(fact, Iterable) and not is_text else []
    not_names = [name for name in names if not isinstance(name, str)]
    if len(names) == 3 and not not_names:
        return

    problem = "expected head, relation and tail"
    if not_names:
        problem = f"expected a name, found {quoted(repr(not_names[0]))}"
    raise MalformedFact("facts", number, f"{problem}: {quoted(repr(fact))}")


class Facts(Iterator[Fact]):
    """The facts of a source, as they are read.

    source   the name of the source
    read     how many facts were taken so far
    skipped  how many lines, or records of CSV, were refused so far
    """

    def __init__(
        self, source: _Place, layout: "_Layout", *, is_strict: bool, refused: IO[Any] | None
    ) -> None:
        self.source = _name_of(source)
        self.skipped = 0
        self._layout = layout
        self._is_strict = is_strict
        self._refused = getattr(refused, "buffer", refused)
        self._parsed = 0  # facts, of which the rest of the batch was not taken yet
        self._batch = iter(list[Fact]())

        pieces = _pieces(source, self.source)
        self._facts = self._facts_of_csv(pieces) if layout.is_csv else self._facts_of_tsv(pieces)

    def __iter__(self) -> Iterator[Fact]:
        return self._facts

    def __next__(self) -> Fact:
        return next(self._facts)

    @property
    def read(self) -> int:
        """The number of facts taken so far."""
        return self._parsed - length_hint(self._batch)

    def _facts_of_csv(self, pieces: Generator[bytes, None, None]) -> Iterator[Fact]:
        with closing(pieces):
            blocks = _blocks(pieces, self._write_refused)
            lines = chain.from_iterable(map(_lines, blocks))
            yield from self._facts_of_records(lines, first_line=1)

    def _facts_of_tsv(self, pieces: Generator[bytes, None, None]) -> Iterator[Fact]:
        """The facts of each block: at once if the block is plain, else record by record."""
        line_number = 1
        with closing(pieces):
            for block in _blocks(pieces, self._write_refused):
                facts = _plain_facts(block) if self._layout.is_plain else None
                if facts is None:
                    yield from self._facts_of_records(_lines(block), line_number)
                else:
                    self._parsed += len(facts)
                    self._batch = iter(facts)
                    yield from self._batch
                line_number += block.count(b"\n") or 1

    def _facts_of_records(self, lines: Iterator[bytes], first_line: int) -> Iterator[Fact]:
        for record in _records(lines, first_line, is_csv=self._layout.is_csv):
            try:
                fact = self._layout.fact(record)
            except _NotAFact as error:
                self._refuse(record, str(error))
                continue
            if fact is not None:
                self._parsed += 1
                yield fact

    def _refuse(self, record: "_Record", problem: str) -> None:
        if self._is_strict:
            shown = record.raw[:1000].decode(errors="replace")
            shown = shown.removesuffix("\n").removesuffix("\r")
            raise MalformedFact(self.source, record.line, f"{problem}: {quoted(shown)}") from None
        self.skipped += 1
        self._write_refused(record.raw)

    def _write_refused(self, raw: bytes) -> None:
        if self._refused is None:
            return
        if isinstance(self._refused, TextIOBase):
            self._refused.write(raw.decode(errors="surrogateescape"))
        else:
            self._refused.write(raw)


class _NotAFact(Exception):
    """Why a record is no fact; never leaves this module."""


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


class _Layout:
    """Which fields of a record are head, relation and tail.

    It is known when the first record that is not empty has been seen, which may be a header.
    """

    def __init__(self, header: bool | None, columns: Sequence[str] | None, *, is_csv: bool) -> None:
        if columns is not None:
            are_three = len(columns) == 3 and len(set(columns)) == 3
            if header is False or not are_three:
                expected = "three different names that are in the header"
                raise InvalidSettings("columns", columns, expected)
        self.is_csv = is_csv
        self._header = header
        self._columns = columns
        self._is_known = header is False
        self._places = [0, 1, 2]
        self._width = 3
        self._expected = "'head,relation,tail'" if is_csv else "'head<TAB>relation<TAB>tail'"

    @property
    def is_plain(self) -> bool:
        """Whether every record from now on must be a head, a relation and a tail."""
        return self._is_known and self._columns is None

    def fact(self, record: _Record) -> Fact | None:
        """The fact of a record; None for an empty record and for the header.

        Raises `_NotAFact` for every other record.
        """
        fields = record.fields
        if not fields and not record.problem:
            return None
        is_header = not self._is_known and self._read_header(fields)
        if record.problem:
            raise _NotAFact(record.problem)
        if is_header:
            return None
        if len(fields) != self._width:
            raise _NotAFact(self._width_problem(len(fields)))

        head, relation, tail = [fields[place] for place in self._places]
        fact = Fact(head, relation, tail)
        for part, name in zip(Fact._fields, fact, strict=True):
            if not name.strip():
                raise _NotAFact(f"the {part} is empty or only white space")
        return fact

    def _read_header(self, fields: list[str]) -> bool:
        """Learn the layout from the first record; whether that is a header."""
        self._is_known = True
        if self._columns is None:
            lower_case = [name.lower() for name in fields]
            return self._header or lower_case in [header.split() for header in HEADERS]

        if any(fields.count(column) != 1 for column in self._columns):
            expected = f"three names of the header, {quoted(', '.join(fields))}"
            raise InvalidSettings("columns", self._columns, expected)
        self._places = [fields.index(column) for column in self._columns]
        self._width = len(fields)
        self._expected = f"{self._width} fields, as in the header"
        return True

    def _width_problem(self, width: int) -> str:
        fields = "1 field" if width == 1 else f"{width} fields"
        problem = f"expected {self._expected}, found {fields}"
        if width > 3 and not self._columns:
            problem += " (name the three to read with columns= or --columns)"
        return problem


def _plain_facts(block: bytes) -> list[Fact] | None:
    """The facts of a block of TSV; None if a line is neither three names nor empty.

    The whole block is checked and cut with a few calls on bytes, without a loop over lines.
    """
    lines = block.replace(b"\r\n", b"\n") if b"\r" in block else block
    if b"\n\n" in lines or lines.startswith(b"\n"):
        lines = _EMPTY_LINES.sub(b"\n", lines).removeprefix(b"\n")
    if not lines:
        return []
    if len(lines) > MAX_RECORD_BYTES:
        return None

    # Without the bytes that names may have, every line must be two tabs and a line end.
    separators = lines.translate(None, _NAME_BYTES)
    number_of_lines = lines.count(b"\n") or 1
    if separators != b"\t\t\n" * number_of_lines:
        return None

    names_with_tabs = lines[:-1].replace(b"\n", b"\t")
    try:
        names = names_with_tabs.decode().split("\t")
    except UnicodeDecodeError:
        return None
    if not all(map(str.strip, names)):
        return None

    next_names = iter(names)
    triples = zip(next_names, next_names, next_names, strict=True)  # three names in turn
    fact_of_triple = partial(tuple.__new__, Fact)  # unlike `Fact(...)`, runs no Python code
    return list(map(fact_of_triple, triples))


def _records(lines: Iterator[bytes], first_line: int, *, is_csv: bool) -> Iterator[_Record]:
    """The records of lines, as the `csv` module of the standard library reads them."""
    limit = max(csv.field_size_limit(), MAX_RECORD_BYTES)
    csv.field_size_limit(limit)  # for the whole process

    taken = _TakenLines(lines)
    if is_csv:
        reader = csv.reader(taken, strict=True)
        csv_problem = "found a carriage return or a quote out of place"
    else:
        reader = csv.reader(taken, delimiter="\t", quoting=csv.QUOTE_NONE)
        csv_problem = "found a carriage return out of place"

    line = first_line
    while True:
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
        return f"expected UTF-8, found byte {byte} at offset {error.start} of the line"
    return ""


def _lines(block: bytes) -> Iterator[bytes]:
    """The lines of a block; consecutive empty lines come together, as one empty record."""
    return (found[0] for found in _LINES.finditer(block))


def _blocks(pieces: Iterator[bytes], write_refused: Callable[[bytes], None]) -> Iterator[bytes]:
    """Pieces joined and cut so that each block ends where a line ends.

    A line that is too long to be held is a block that ends early, and which is too long to be read
    as a record. The rest of that line goes to `write_refused`.
    """
    held: list[bytes] = []  # the beginning of a line whose end did not come yet
    held_bytes = 0
    is_within_long_line = False
    for piece in pieces:
        rest = piece
        if is_within_long_line:
            end_of_line, newline, rest = piece.partition(b"\n")
            is_within_long_line = not newline
            write_refused(end_of_line + newline)

        end = rest.rfind(b"\n") + 1
        if end:
            yield b"".join([*held, rest[:end]])
            held = []
            held_bytes = 0
        held.append(rest[end:])
        held_bytes += len(rest) - end

        if held_bytes > MAX_RECORD_BYTES:
            yield b"".join(held)
            held = []
            held_bytes = 0
            is_within_long_line = True
    yield b"".join(held)


def _pieces(source: _Place, name: str) -> Generator[bytes, None, None]:
    """The bytes of a source as it gives them, decompressed and without a byte order mark."""
    pieces = _read_pieces(source, name)
    start = _start_of(pieces)
    is_file = isinstance(source, str | PathLike)
    if start.startswith(_GZIP_MAGIC):
        pieces = filter(None, _decompressed(chain([start], pieces), name))
        start = _start_of(pieces)
    elif is_file and name.lower().endswith(".gz"):
        raise UnreadableFile(name, "is named .gz but is not gzip; rename it, or fetch it again")

    if start.startswith(_UTF_16_MARKS):
        raise UnreadableFile(name, "is UTF-16; convert it with 'iconv -f UTF-16 -t UTF-8'")
    yield start.removeprefix(_BYTE_ORDER_MARK)
    yield from pieces


def _start_of(pieces: Iterator[bytes]) -> bytes:
    """Enough bytes to recognise gzip and byte order marks: three, if there are so many."""
    first = next(pieces, b"")
    if len(first) > 2:
        return first
    return first + b"".join(islice(pieces, 2))


def _decompressed(pieces: Iterator[bytes], name: str) -> Iterator[bytes]:
    """The bytes inside gzip, which may have several members one after the other.

    However much they grow, at most `PIECE_BYTES` are yielded at a time.
    """
    member = _gzip_decompressor()
    compressed = next(pieces, b"")
    while compressed:
        if member.eof:
            member = _gzip_decompressor()
        try:
            yield member.decompress(compressed, PIECE_BYTES)
        except zlib.error as error:
            problem = "is damaged gzip, or has other bytes after it; fetch it again"
            raise UnreadableFile(name, problem) from error
        compressed = member.unconsumed_tail or member.unused_data or next(pieces, b"")
    if not member.eof:
        raise UnreadableFile(name, "is gzip cut short; fetch it again")


def _gzip_decompressor() -> "zlib._Decompress":
    return zlib.decompressobj(wbits=31)  # 31: with the header and the checksum of gzip


def _read_pieces(source: _Place, name: str) -> Iterator[bytes]:
    try:
        with _opened(source, "rb") as stream:
            # `read1` returns what is there, so that a slow pipe is not waited for.
            read = getattr(stream, "read1", stream.read)
            for piece in iter(partial(read, PIECE_BYTES), b""):
                if not isinstance(piece, bytes):
                    kind = type(piece).__name__
                    raise UnreadableFile(name, f"gives {kind}, not bytes; open it in mode 'rb'")
                yield piece
    except (OSError, ValueError) as error:
        problem = getattr(error, "strerror", None) or error
        raise UnreadableFile(name, str(problem).lower()) from error


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


def _opened(place: _Place, mode: Literal["rb", "wb"]) -> AbstractContextManager[Any]:
    """A place as a stream of bytes, which is closed afterwards only if it was opened here."""
    if place == "-":
        standard = sys.stdin if mode == "rb" else sys.stdout
        return nullcontext(standard.buffer)
    if not isinstance(place, str | PathLike):
        return nullcontext(place)
    if mode == "wb" and _name_of(place).lower().endswith(".gz"):
        return gzip.GzipFile(place, mode, mtime=0)  # without the time, to be the same every time
    return Path(place).open(mode)


def _name_of(place: _Place) -> str:
    if isinstance(place, str | PathLike):
        return fspath(place)
    return str(getattr(place, "name", "<stream>"))
