"""
Facts, as names: lines in, lines out.

A source passes through generators, none of which holds more than a part of it: pieces (bytes as the source
gives them, unpacked), blocks (whole lines), records (the fields of a line of TSV or a record of CSV), facts.
A block of TSV in which nothing is unusual becomes facts at once; any other is read record by record.
Names are opaque: nothing is stripped or normalised. `docs/reading-facts.md` has the outcome of every oddity.
"""

import csv
import gzip
import re
import sys
import zlib
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from functools import partial
from io import BytesIO, TextIOBase
from itertools import chain, islice
from operator import length_hint
from os import PathLike, fspath
from pathlib import Path
from typing import IO, Any, BinaryIO, Literal, NamedTuple, TextIO, TypeAlias

from casegraph.errors import InvalidSettings, MalformedFact, UnreadableFile, quoted

PIECE = 1 << 17  # bytes read at once; larger pieces outgrow the processor's cache and are slower
LONGEST = 16 << 20  # bytes of a line, or of a record of CSV, its end included
HEADERS = ["head relation tail", "subject predicate object", "source relation target", "from rel to", "h r t"]
_MARK = b"\xef\xbb\xbf"  # the byte order mark of UTF-8
_NAME_BYTES = bytes(set(range(256)) - set(b"\t\n\r\0"))
_EMPTY_LINES = re.compile(rb"\n{2,}")
_LINES = re.compile(rb"\n+|(?:\r?\n)+|[^\n]*\n|[^\n]+")  # empty lines, as many as follow each other; or one line
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
    """The facts of a file, of standard input (`"-"`) or of a binary stream, packed by gzip or not, in their order.

    format    by default "csv" for names in .csv and .csv.gz, else "tsv"
    header    whether the first line names the columns; by default, whether it is one of `HEADERS`
    columns   the names in the header of the three columns to read, where there are more or in another order
    on_error  "stop" raises `MalformedFact` at the first line that is no fact, "skip" counts it as skipped
    refused   where "skip" writes such lines, byte for byte

    The source is opened when the first fact is asked for. If it cannot be read to its end: `UnreadableFile`.
    """
    if format not in (None, "tsv", "csv"):
        raise InvalidSettings("format", format, "'tsv' or 'csv'")
    if on_error not in ("stop", "skip"):
        raise InvalidSettings("on_error", on_error, "'stop' or 'skip'")
    is_csv = format == "csv" or (format is None and _name(source).lower().endswith((".csv", ".csv.gz")))
    return Facts(source, _Layout(header, columns, is_csv=is_csv), is_strict=on_error == "stop", refused=refused)


def write_facts(facts: Iterable[tuple[str, str, str]], destination: _Place) -> int:
    """Write facts as tab-separated lines, packed if named .gz; return their number, refuse what would not read back."""
    name, number = _name(destination), 0
    try:
        with _opened(destination, "wb") as stream:
            for number, fact in enumerate(facts, start=1):
                line = "\t".join(fact)
                raw = line.encode(errors="replace") + b"\n"
                if _plain_facts(raw) != [tuple(fact)]:
                    problem = "a name that is blank, or has a tab, line end, NUL or lone surrogate, cannot be written"
                    raise MalformedFact(name, number, f"{problem}: {quoted(line)}")
                stream.write(_MARK + raw if number == 1 and raw.startswith(_MARK) else raw)
    except OSError as error:
        raise UnreadableFile(name, f"cannot be written: {error.strerror or error}".lower()) from error
    return number


def columns_of(facts: Sequence[tuple[str, str, str]], first: int = 1) -> list[tuple[str, ...]]:
    """The heads, the relations and the tails of facts; `MalformedFact` at one that is not three names.

    first  the number of the first of these facts, for the message
    """
    try:
        columns = list(zip(*facts, strict=True))
        types = {kind for column in columns for kind in set(map(type, column))}
    except (TypeError, ValueError):
        columns, types = [], set[type]()
    if len(columns) != 3 or types != {str} or str in set(map(type, facts)):
        for number, fact in enumerate(facts, start=first):
            _check_fact(fact, number)
    return columns or [(), (), ()]


def _check_fact(fact: object, number: int) -> None:
    is_text = isinstance(fact, str | bytes)
    names = list(fact) if isinstance(fact, Iterable) and not is_text else []
    wrong = [name for name in names if not isinstance(name, str)]
    if len(names) == 3 and not wrong:
        return
    problem = f"expected a name, found {quoted(repr(wrong[0]))}" if wrong else "expected head, relation and tail"
    raise MalformedFact("facts", number, f"{problem}: {quoted(repr(fact))}")


class Facts(Iterator[Fact]):
    """Facts on their way in: `read` were taken from `source` so far, and `skipped` lines refused."""

    def __init__(self, source: _Place, layout: "_Layout", *, is_strict: bool, refused: IO[Any] | None) -> None:
        self.source, self.skipped = _name(source), 0
        self._layout, self._is_strict, self._refused = layout, is_strict, getattr(refused, "buffer", refused)
        self._handed, self._batch = 0, iter(list[Fact]())
        self._facts = self._all(_pieces(source, self.source))

    def __iter__(self) -> Iterator[Fact]:
        return self._facts

    def __next__(self) -> Fact:
        return next(self._facts)

    @property
    def read(self) -> int:
        """The number of facts taken so far."""
        return self._handed - length_hint(self._batch)

    def _all(self, pieces: Generator[bytes, None, None], line: int = 1) -> Iterator[Fact]:
        with closing(pieces):
            if self._layout.is_csv:
                yield from self._careful(chain.from_iterable(map(_lines, self._blocks(pieces))), line)
            for block in self._blocks(pieces):
                facts = _plain_facts(block) if self._layout.is_settled and not self._layout.columns else None
                if facts is None:
                    yield from self._careful(_lines(block), line)
                else:
                    self._handed, self._batch = self._handed + len(facts), iter(facts)
                    yield from self._batch
                line += block.count(b"\n") or 1

    def _careful(self, lines: Iterator[bytes], first: int) -> Iterator[Fact]:
        for line, raw, fields, problem in _records(lines, first, is_csv=self._layout.is_csv):
            fact = self._layout.fact(fields, problem)
            if isinstance(fact, Fact):
                self._handed += 1
                yield fact
            elif fact and self._is_strict:
                shown = raw[:1000].decode(errors="replace").removesuffix("\n").removesuffix("\r")
                raise MalformedFact(self.source, line, f"{fact}: {quoted(shown)}")
            elif fact:
                self.skipped += 1
                self._keep(raw)

    def _keep(self, raw: bytes) -> None:
        if self._refused is not None:
            self._refused.write(raw.decode(errors="surrogateescape") if isinstance(self._refused, TextIOBase) else raw)

    def _blocks(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """Whole lines; of one that is too long only the beginning, which is refused by whoever reads it."""
        held, size, is_endless = list[bytes](), 0, False
        for piece in pieces:
            rest = piece
            if is_endless:
                line, newline, rest = piece.partition(b"\n")
                is_endless = not newline
                self._keep(line + newline)
            end = rest.rfind(b"\n") + 1
            if end:
                yield b"".join([*held, rest[:end]])
                held, size = [], 0
            held.append(rest[end:])
            size += len(rest) - end
            if size > LONGEST:
                yield b"".join(held)
                held, size, is_endless = [], 0, True
        yield b"".join(held)


class _Layout:
    """Where a record has the names of a fact; settled by the first record that is not empty."""

    def __init__(self, header: bool | None, columns: Sequence[str] | None, *, is_csv: bool) -> None:
        if columns is not None and (header is False or len(columns) != 3 or len(set(columns)) != 3):
            raise InvalidSettings("columns", columns, "three different names that are in the header")
        self.is_csv, self._header, self.columns, self.is_settled = is_csv, header, columns, header is False
        self._places, self._width = [0, 1, 2], 3
        self._expected = "'head,relation,tail'" if is_csv else "'head<TAB>relation<TAB>tail'"

    def fact(self, fields: list[str], problem: str) -> Fact | str:
        """The fact of a record, or why there is none: the empty string for a header or an empty line."""
        is_empty = not fields and not problem
        if is_empty or (not self.is_settled and self._is_header(fields)) or problem:
            return problem
        if len(fields) != self._width:
            is_wide = len(fields) > 3 and not self.columns
            hint = " (name the three to read with columns= or --columns)" * is_wide
            return f"expected {self._expected}, found {len(fields)} field{'s' * (len(fields) != 1)}{hint}"
        fact = Fact(*[fields[place] for place in self._places])
        blank = [part for part, name in zip(Fact._fields, fact, strict=True) if not name.strip()]
        return f"the {blank[0]} is empty or only white space" if blank else fact

    def _is_header(self, fields: list[str]) -> bool:
        self.is_settled = True
        if self.columns is None:
            return self._header or [name.lower() for name in fields] in map(str.split, HEADERS)
        if any(fields.count(column) != 1 for column in self.columns):
            raise InvalidSettings("columns", self.columns, f"three names of the header, {quoted(', '.join(fields))}")
        self._places, self._width = [fields.index(column) for column in self.columns], len(fields)
        self._expected = f"{self._width} fields, as in the header"
        return True


def _plain_facts(block: bytes) -> list[Fact] | None:
    """The facts of a block of TSV, or None if it has anything but lines of three names and empty lines."""
    lines = block.replace(b"\r\n", b"\n") if b"\r" in block else block
    if b"\n\n" in lines or lines.startswith(b"\n"):
        lines = _EMPTY_LINES.sub(b"\n", lines).removeprefix(b"\n")
    if not lines:
        return []
    if len(lines) > LONGEST or lines.translate(None, _NAME_BYTES) != b"\t\t\n" * (lines.count(b"\n") or 1):
        return None
    try:
        names = lines[:-1].replace(b"\n", b"\t").decode().split("\t")
    except UnicodeDecodeError:
        return None
    facts = map(partial(tuple.__new__, Fact), zip(*[iter(names)] * 3, strict=True))
    return list(facts) if all(map(str.strip, names)) else None


def _lines(block: bytes) -> Iterator[bytes]:
    """The lines of a block; empty ones that follow each other come as one, which is one empty record to `csv`."""
    return (found[0] for found in _LINES.finditer(block))


def _records(lines: Iterator[bytes], line: int, *, is_csv: bool) -> Iterator[tuple[int, bytes, list[str], str]]:
    """The line number, the bytes and the fields of each record, or why it has no fields."""
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST))  # it holds for the whole process
    taken = BytesIO()
    texts = map(partial(_taken, taken), lines)
    records = csv.reader(texts, strict=True) if is_csv else csv.reader(texts, delimiter="\t", quoting=csv.QUOTE_NONE)
    while True:
        try:
            fields, problem = next(records), ""
        except StopIteration:
            return
        except csv.Error:
            fields, problem = [], "found a carriage return" + " or a quote" * is_csv + " out of place"
        raw = taken.getvalue()
        yield line, raw, fields, _problem(raw) or problem
        line += raw.count(b"\n") + (raw[-1:] != b"\n")
        taken.truncate(taken.seek(0))


def _taken(taken: BytesIO, raw: bytes) -> str:
    taken.write(raw)
    if taken.tell() > LONGEST:
        raise csv.Error
    return raw.decode(errors="surrogateescape")


def _problem(raw: bytes) -> str:
    """Why these bytes are no text, if they are none."""
    if len(raw) > LONGEST:
        return "expected one fact a line, found more than 16 MiB"
    if b"\0" in raw:
        return f"found a NUL byte at offset {raw.index(0)} of the line"
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        return f"expected UTF-8, found byte 0x{raw[error.start]:02x} at offset {error.start} of the line"
    return ""


def _pieces(source: _Place, name: str) -> Generator[bytes, None, None]:
    """The bytes of a source as it gives them, unpacked and without a byte order mark."""
    pieces = _read(source, name)
    start = _start(pieces)
    if start.startswith(b"\x1f\x8b"):
        pieces = filter(None, _unpacked(chain([start], pieces), name))
        start = _start(pieces)
    elif isinstance(source, str | PathLike) and name.lower().endswith(".gz"):
        raise UnreadableFile(name, "is named .gz but is not gzip; rename it, or fetch it again")
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UnreadableFile(name, "is UTF-16; convert it with 'iconv -f UTF-16 -t UTF-8'")
    yield start.removeprefix(_MARK)
    yield from pieces


def _start(pieces: Iterator[bytes]) -> bytes:
    """Bytes enough to tell gzip and byte order marks: the first piece, and two more if it is tiny."""
    first = next(pieces, b"")
    return first if len(first) > 2 else first + b"".join(islice(pieces, 2))


def _unpacked(pieces: Iterator[bytes], name: str) -> Iterator[bytes]:
    """The bytes inside gzip, a bounded number at a time however much they grow."""
    member, packed = zlib.decompressobj(31), b""  # 31: with the header and the checksum of gzip
    while packed := packed or next(pieces, b""):
        member = zlib.decompressobj(31) if member.eof else member
        try:
            yield member.decompress(packed, PIECE)
        except zlib.error as error:
            raise UnreadableFile(name, "is damaged gzip, or has other bytes after it; fetch it again") from error
        packed = member.unconsumed_tail or member.unused_data
    if not member.eof:
        raise UnreadableFile(name, "is gzip cut short; fetch it again")


def _read(source: _Place, name: str) -> Iterator[bytes]:
    try:
        with _opened(source, "rb") as stream:
            for piece in iter(partial(getattr(stream, "read1", stream.read), PIECE), b""):
                if not isinstance(piece, bytes):
                    raise UnreadableFile(name, f"gives {type(piece).__name__}, not bytes; open it in mode 'rb'")
                yield piece
    except (OSError, ValueError) as error:
        raise UnreadableFile(name, str(getattr(error, "strerror", None) or error).lower()) from error


def _opened(place: _Place, mode: Literal["rb", "wb"]) -> AbstractContextManager[Any]:
    if place == "-":
        return nullcontext((sys.stdin if mode == "rb" else sys.stdout).buffer)
    if not isinstance(place, str | PathLike):
        return nullcontext(place)
    is_packed = mode == "wb" and _name(place).lower().endswith(".gz")
    return gzip.GzipFile(place, mode, mtime=0) if is_packed else Path(place).open(mode)


def _name(place: _Place) -> str:
    return fspath(place) if isinstance(place, str | PathLike) else str(getattr(place, "name", "<stream>"))
