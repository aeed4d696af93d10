"""
Sources as bytes: files, standard input and streams, decompressed and split at line ends.

A source is read in two stages. Each is a generator that holds only a small part of the source:

    pieces   bytes as the source gives them, decompressed   `pieces_of`
    blocks   bytes that end where a line ends               `blocks_of`
"""

import gzip
import re
import sys
import zlib
from codecs import getincrementaldecoder
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from io import RawIOBase
from itertools import chain, islice
from os import PathLike, fspath
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias

from casegraph.errors import UnreadableFile

# Read at once; larger pieces do not fit the processor's cache and are slower.
PIECE_BYTES = 1 << 17
MAX_RECORD_BYTES = 16 << 20  # of a line, or of a record of CSV, including the line end
BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # of UTF-8

_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_GZIP_MAGIC = b"\x1f\x8b"
_LINES = re.compile(
    rb"\n+"  # empty lines, as many as follow each other
    rb"|(?:\r?\n)+"  # the same, where some end in CRLF
    rb"|[^\n]*\n"  # a line
    rb"|[^\n]+"  # the last line, without an end
)
Place: TypeAlias = str | PathLike[str] | BinaryIO


def name_of(place: Place) -> str:
    """The name of a source in messages."""
    if isinstance(place, str | PathLike):
        return fspath(place)
    return str(getattr(place, "name", "<stream>"))


def opened(place: Place, mode: Literal["rb", "wb"]) -> AbstractContextManager[Any]:
    """A place as a stream of bytes, which is closed afterwards only if it was opened here."""
    if place == "-":
        standard = sys.stdin if mode == "rb" else sys.stdout
        return nullcontext(standard.buffer)
    if not isinstance(place, str | PathLike):
        return nullcontext(place)
    if mode == "wb" and name_of(place).lower().endswith(".gz"):
        # No time: the same facts give the same file.
        return gzip.GzipFile(place, mode, mtime=0)
    return Path(place).open(mode)


def lines_of(block: bytes) -> Iterator[bytes]:
    """The lines of a block; consecutive empty lines are one item, as one empty record."""
    return (found[0] for found in _LINES.finditer(block))


def blocks_of(
    pieces: Iterator[bytes], write_refused: Callable[[bytes], None]
) -> Iterator[bytes]:
    """Pieces joined and cut so that each block ends where a line ends.

    A line of more than `MAX_RECORD_BYTES` is cut: its beginning is a block, which is too long to be
    read as a record, and the rest goes to `write_refused`.
    """
    held: list[bytes] = []  # the beginning of a line whose end is not read yet
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


def pieces_of(
    source: Place, encoding: str | None = None
) -> Generator[bytes, None, None]:
    """The bytes of a source, decompressed, as UTF-8 without a byte order mark.

    encoding  of the text; None for UTF-8, or for UTF-16 if it begins with its byte order mark
    """
    name = name_of(source)
    pieces = _read_pieces(source, name)
    start = _start_of(pieces)
    is_file = isinstance(source, str | PathLike)
    if start.startswith(_GZIP_MAGIC):
        pieces = filter(None, _decompressed(chain([start], pieces), name))
        start = _start_of(pieces)
    elif is_file and name.lower().endswith(".gz"):
        raise UnreadableFile(
            name, "is named .gz but is not gzip; rename it, or fetch it again"
        )

    if encoding is None and start.startswith(_UTF_16_MARKS):
        encoding = "utf-16"
    if encoding is not None:
        pieces = filter(None, _as_utf8(chain([start], pieces), encoding, name))
        start = _start_of(pieces)
    yield start.removeprefix(BYTE_ORDER_MARK)
    yield from pieces


def _as_utf8(pieces: Iterator[bytes], encoding: str, name: str) -> Iterator[bytes]:
    """Text in another encoding as UTF-8."""
    decoder = getincrementaldecoder(encoding)()
    try:
        for piece in pieces:
            yield decoder.decode(piece).encode()
        yield decoder.decode(b"", final=True).encode()
    except UnicodeError as error:
        problem = f"is not {encoding} throughout; give its encoding with --encoding or encoding="
        raise UnreadableFile(name, problem) from error


class PieceReader(RawIOBase):
    """Pieces as a stream, for libraries that need one."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = b""

    def readable(self) -> bool:
        """Always: this is a stream to read."""
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401  (any writable buffer)
        """Fill a buffer as far as the next piece goes."""
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._rest = piece
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


def _start_of(pieces: Iterator[bytes]) -> bytes:
    """Enough bytes to recognise gzip and byte order marks: the first three, if there are three."""
    first = next(pieces, b"")
    if len(first) > 2:
        return first
    return first + b"".join(islice(pieces, 2))


def _decompressed(pieces: Iterator[bytes], name: str) -> Iterator[bytes]:
    """The decompressed bytes of gzip, which may have several members one after the other.

    At most `PIECE_BYTES` are yielded at a time, however well they were compressed.
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
    return zlib.decompressobj(wbits=31)  # expects the header and the checksum of gzip


def _read_pieces(source: Place, name: str) -> Iterator[bytes]:
    try:
        with opened(source, "rb") as stream:
            # `read1` returns what is available, without waiting for a slow pipe to fill a piece.
            read = getattr(stream, "read1", stream.read)
            for piece in iter(partial(read, PIECE_BYTES), b""):
                if not isinstance(piece, bytes):
                    kind = type(piece).__name__
                    raise UnreadableFile(
                        name, f"gives {kind}, not bytes; open it in mode 'rb'"
                    )
                yield piece
    except IsADirectoryError as error:
        advice = (
            "is a folder, but neither a store nor a benchmark; name the files in it"
        )
        raise UnreadableFile(name, advice) from error
    except (OSError, ValueError) as error:
        problem = getattr(error, "strerror", None) or error
        raise UnreadableFile(name, str(problem).lower()) from error
