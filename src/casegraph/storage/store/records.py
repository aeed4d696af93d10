"""
The log as bytes: a beginning, then one record for each update.

A record holds the names that were new, and the facts that went and came as rows of ids. It begins with the id of the
store, a number, and the digest of the record before it, and ends with a digest of all that: so each can be checked by
itself, none can be missing, and none can be another's. Numbers are little-endian.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from struct import Struct
from typing import NamedTuple

import numpy as np

from casegraph.graph.arrays import Ids
from casegraph.graph.graph import Graph

MAGIC, FORMAT = b"casegraph log\n", 1
DIGEST = 32  # bytes
TIMES = range(-62_135_596_800_000_000, 253_402_300_800_000_000)  # microseconds from year 1 to 9999
_BEGINNING = Struct("<14sH16sQI")  # magic, format, store, start, bytes of settings
_HEADER = Struct("<16s32sQqIIIIQQQ")  # the fields of _Header


class Beginning(NamedTuple):
    """What a log begins with: whose it is, after which update it starts, and the settings of the store, as JSON."""

    store: bytes
    start: int
    settings: bytes
    end: int
    digest: bytes


class Position(NamedTuple):
    """A place in a log: of which store and log, after which update, at which byte, and the digest of that update."""

    store: bytes
    start: int
    sequence: int
    size: int
    digest: bytes


class NewNames(NamedTuple):
    """Names that an update brought, and the serial number of the first of them."""

    first: int
    names: list[str]


@dataclass(frozen=True, slots=True)
class Record:
    """An update: what went and came, as rows (head, relation, tail); `time` is in microseconds since 1970.

    Names are called by their serial numbers, which a name keeps: relation number k is 2k, as in a graph.
    """

    sequence: int
    time: int
    entities: NewNames
    relations: NewNames
    retracted: Ids
    added: Ids


def rows_by_serials(graph: Graph, rows: Ids) -> Ids:
    """Rows of ids as rows of serial numbers."""
    heads, relations, tails = rows.T
    labels = 2 * graph.relations.serials(relations >> 1)
    return np.stack([graph.entities.serials(heads), labels, graph.entities.serials(tails)], axis=1)


class Written(NamedTuple):
    """A record that was read, where it ends in the log, its digest, and the digest of the one before it."""

    record: Record
    end: int
    digest: bytes
    previous: bytes

    def position(self, log: Position) -> Position:
        """Where it ends, in a log that some position is of."""
        return log._replace(sequence=self.record.sequence, size=self.end, digest=self.digest)


class _Header(NamedTuple):
    store: bytes
    previous: bytes
    sequence: int
    time: int
    first_entity: int
    entities: int
    first_relation: int
    relations: int
    name_bytes: int
    retracted: int
    added: int

    @property
    def size(self) -> int:
        """The bytes of the whole record."""
        names = 4 * (self.entities + self.relations) + self.name_bytes
        return _HEADER.size + names + 12 * (self.retracted + self.added) + DIGEST


def digest(content: bytes | memoryview) -> bytes:
    """What a change to the content would change too."""
    return blake2b(content, digest_size=DIGEST).digest()


def beginning(store: bytes, start: int, settings: bytes) -> bytes:
    """The bytes that a log begins with."""
    content = _BEGINNING.pack(MAGIC, FORMAT, store, start, len(settings)) + settings
    return content + digest(content)


def beginning_of(content: bytes) -> Beginning | int:
    """What a log begins with, or the format that it has instead; 0 if it is damaged."""
    if len(content) < _BEGINNING.size:
        return 0
    magic, version, store, start, size = _BEGINNING.unpack_from(content)
    end = _BEGINNING.size + size
    if digest(content[:end]) == content[end : end + DIGEST]:
        return Beginning(store, start, content[_BEGINNING.size : end], end + DIGEST, content[end : end + DIGEST])
    return int(version) if magic == MAGIC and version != FORMAT else 0


def encoded(record: Record, store: bytes, previous: bytes) -> bytes:
    """The bytes of a record."""
    names = [name.encode(errors="surrogatepass") for name in record.entities.names + record.relations.names]
    header = _Header(
        store, previous, record.sequence, record.time,
        record.entities.first, len(record.entities.names), record.relations.first, len(record.relations.names),
        sum(map(len, names)), len(record.retracted), len(record.added),
    )  # fmt: skip
    lengths = np.fromiter(map(len, names), dtype="<u4", count=len(names))
    rows = [part.astype("<i4", copy=False).tobytes() for part in (record.retracted, record.added)]
    content = b"".join([_HEADER.pack(*header), lengths.tobytes(), *names, *rows])
    return content + digest(content)


def records(content: bytes, after: Position) -> Iterator[Written]:
    """The records after a position, as far as each is whole and follows the one before it."""
    sequence, offset, previous = after.sequence + 1, after.size, after.digest
    while (written := record_at(content, offset, after.store)) is not None:
        if (written.record.sequence, written.previous) != (sequence, previous):
            return
        yield written
        sequence, offset, previous = sequence + 1, written.end, written.digest


def record_at(content: bytes, offset: int, store: bytes) -> Written | None:
    """The record that begins at an offset, if a whole one does."""
    if offset + _HEADER.size > len(content):
        return None
    header = _Header(*_HEADER.unpack_from(content, offset))
    end = offset + header.size
    if header.store != store or end > len(content):
        return None
    found = content[end - DIGEST : end]
    if digest(memoryview(content)[offset : end - DIGEST]) != found:
        return None
    try:
        record = _decoded(content, offset + _HEADER.size, header)
    except ValueError:  # whole, but nothing that we wrote
        return None
    return Written(record, end, found, header.previous)


def _decoded(content: bytes, offset: int, header: _Header) -> Record:
    count = header.entities + header.relations
    lengths = np.frombuffer(content, "<u4", count, offset)
    if int(lengths.sum(dtype=np.uint64)) != header.name_bytes or header.time not in TIMES:
        raise ValueError("the lengths of its names do not add up, or it has a time that no clock shows")
    offset += 4 * count
    places = (offset + np.cumsum([0, *lengths.tolist()], dtype=np.int64)).tolist()
    names = [content[start:end].decode(errors="surrogatepass") for start, end in pairwise(places)]
    offset += header.name_bytes
    rows = np.frombuffer(content, "<i4", 3 * (header.retracted + header.added), offset).reshape(-1, 3)
    return Record(
        header.sequence, header.time,
        NewNames(header.first_entity, names[: header.entities]),
        NewNames(header.first_relation, names[header.entities :]),
        rows[: header.retracted].astype(np.int32), rows[header.retracted :].astype(np.int32),
    )  # fmt: skip
