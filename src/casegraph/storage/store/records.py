"""
The log as bytes: a beginning, then a record for each update.

A record holds the facts that went and came as rows of numbers, and the names that these numbers
stand for, so it can be read by itself. It starts with the id of the store, the number of the update
and the digest of the record before it, and ends with a digest of all of that. So the records form a
hash chain: each can be checked by itself, none can be missing between two others, and none can come
from another store.

    beginning  magic, format, store, start, size of settings | settings | digest
    record     header (see `_Header`) | length of each name | names
               | rows of facts that went | rows of facts that came | descriptions | note | digest

All numbers are little-endian.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from mmap import mmap
from struct import Struct
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from casegraph.graph.arrays import Counts, Ids
from casegraph.graph.descriptions import Description
from casegraph.graph.facts import Fact
from casegraph.graph.names import check_encoded
from casegraph.storage.case_files import descriptions_from, encoded_descriptions

MAGIC = b"casegraph log\n"
FORMAT = 2
DIGEST = 32  # bytes of a digest
# Microseconds, years 1 to 9999.
TIMES = range(-62_135_596_800_000_000, 253_402_300_800_000_000)
_BEGINNING = Struct("<14sH16sQI")  # magic, format, store, start, bytes of settings
_HEADER = Struct("<16s32sQqIIQIIII")  # the fields of _Header
SMALL_RECORD = 1 << 20  # bytes; a larger one is written in pieces
_LENGTH_BYTES = 4  # of the length of a name
_ROW_BYTES = 12  # of a fact: three numbers of four bytes


Piece = bytes | memoryview  # of a record


class Beginning(NamedTuple):
    """What a log begins with.

    store     the id of the store, 16 random bytes
    start     the number of the update after which this log starts
    settings  the settings of the store, as JSON
    end       the byte at which the records begin
    digest    of the bytes before; the first record repeats it
    """

    store: bytes
    start: int
    settings: bytes
    end: int
    digest: bytes


class Position(NamedTuple):
    """A place in a log between two records: everything up to there has been written.

    store     the id of the store
    start     the number of the update after which the log starts; it names the log
    sequence  the number of the last update before this place
    size      how many bytes of the log come before this place
    digest    of the record that ends here
    """

    store: bytes
    start: int
    sequence: int
    size: int
    digest: bytes


class EncodedNames(NamedTuple):
    """The names that the rows of a record refer to by their places here.

    content  the names one after the other in UTF-8
    offsets  (names + 1,)  where each begins, and where the last ends

    There may be millions, so they are strings only where `names` is asked for.
    """

    content: npt.NDArray[np.uint8]
    offsets: Counts

    @classmethod
    def of(cls, names: Iterable[str] = ()) -> "EncodedNames":
        """Names that are given as strings."""
        encoded = [name.encode(errors="surrogatepass") for name in names]
        content = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        lengths = [len(name) for name in encoded]
        return cls(content, np.cumsum([0, *lengths], dtype=np.int64))

    @property
    def size(self) -> int:
        """How many names there are."""
        return len(self.offsets) - 1

    @property
    def names(self) -> list[str]:
        """The names as strings."""
        content = self.content.tobytes()
        ends = pairwise(self.offsets.tolist())
        return [
            content[start:end].decode(errors="surrogatepass") for start, end in ends
        ]

    def then(self, more: "EncodedNames") -> "EncodedNames":
        """These names followed by others."""
        content = np.concatenate([self.content, more.content])
        offsets = np.append(self.offsets, self.offsets[-1] + more.offsets[1:])
        return EncodedNames(content, offsets)


@dataclass(frozen=True, slots=True)
class Record:
    """An update: the facts that were retracted and added, as rows (head, relation, tail).

    A row has the places of its names in `entities` and `relations`.

    sequence   the number of the update
    time       microseconds since 1970
    described  the new descriptions of entities whose description changed
    note       bytes that the writer keeps with the update; the store does not interpret them
    """

    sequence: int
    time: int
    entities: EncodedNames
    relations: EncodedNames
    retracted: Ids
    added: Ids
    described: tuple[Description, ...] = ()
    note: bytes = b""

    def facts(self, rows: Ids) -> Iterator[Fact]:
        """Some of its rows as facts."""
        entities = self.entities.names
        relations = self.relations.names
        for head, relation, tail in rows.tolist():
            yield Fact(entities[head], relations[relation], entities[tail])


class LoggedRecord(NamedTuple):
    """A record that was read from a log.

    end       the byte at which it ends
    digest    its own digest
    previous  the digest of the record before it, as this one states it
    """

    record: Record
    end: int
    digest: bytes
    previous: bytes

    def position_after(self, position: Position) -> Position:
        """Where it ends, in the log that some position belongs to."""
        return position._replace(
            sequence=self.record.sequence, size=self.end, digest=self.digest
        )


def digest(*content: bytes | memoryview | mmap) -> bytes:
    """The BLAKE2b digest of some bytes, in one or more pieces."""
    hashed = blake2b(digest_size=DIGEST)
    for piece in content:
        hashed.update(piece)
    return hashed.digest()


def encoded_beginning(store: bytes, start: int, settings: bytes) -> bytes:
    """The bytes that a log begins with."""
    content = _BEGINNING.pack(MAGIC, FORMAT, store, start, len(settings)) + settings
    return content + digest(content)


def beginning_of(content: bytes) -> Beginning | None:
    """What a log begins with; None if it is damaged, or has a format that we do not know."""
    if len(content) < _BEGINNING.size:
        return None
    _, _, store, start, settings_size = _BEGINNING.unpack_from(content)
    settings_end = _BEGINNING.size + settings_size
    end = settings_end + DIGEST
    its_digest = content[settings_end:end]
    if digest(content[:settings_end]) != its_digest:
        return None
    settings = content[_BEGINNING.size : settings_end]
    return Beginning(store, start, settings, end, its_digest)


def other_format_of(content: bytes) -> int:
    """The format that a log states if it is not ours; 0 if it is ours, or this is not a log."""
    if len(content) < _BEGINNING.size:
        return 0
    magic, version, *_ = _BEGINNING.unpack_from(content)
    if magic != MAGIC or version == FORMAT:
        return 0
    return int(version)


def encoded_record(record: Record, store: bytes, previous: bytes) -> list[Piece]:
    """The bytes of a record, which follows the record with the digest `previous`.

    They come in pieces, the last of which is the digest. A record of fifty million facts has more
    than half a gigabyte of rows, which are not copied to be written; a small one is one piece.
    """
    both = (record.entities, record.relations)
    lengths = np.concatenate([np.diff(names.offsets) for names in both]).astype("<u4")
    name_content = np.concatenate([names.content for names in both])
    descriptions = encoded_descriptions(record.described) if record.described else b""
    header = _Header(
        store=store,
        previous=previous,
        sequence=record.sequence,
        time=record.time,
        entities=record.entities.size,
        relations=record.relations.size,
        name_bytes=len(name_content),
        retracted=len(record.retracted),
        description_bytes=len(descriptions),
        added=len(record.added),
        note_bytes=len(record.note),
    )
    pieces: list[Piece] = [
        _HEADER.pack(*header),
        _bytes_of(lengths),
        _bytes_of(name_content),
        _bytes_of(record.retracted.astype("<i4", copy=False)),
        _bytes_of(record.added.astype("<i4", copy=False)),
        descriptions,
        record.note,
    ]
    if sum(map(len, pieces)) < SMALL_RECORD:
        content = b"".join(pieces)
        return [content + digest(content)]
    return [*pieces, digest(*pieces)]


def _bytes_of(array: npt.NDArray[Any]) -> Piece:
    """The bytes of an array, without a copy."""
    return np.ascontiguousarray(array).data.cast("B") if array.size else b""


def records_after(content: bytes, position: Position) -> Iterator[LoggedRecord]:
    """The records of a log after a position, as long as each is complete and follows the last."""
    sequence = position.sequence
    offset = position.size
    previous = position.digest
    while True:
        logged = record_at(content, offset, position.store)
        if logged is None:
            return
        follows = logged.record.sequence == sequence + 1 and logged.previous == previous
        if not follows:
            return
        yield logged
        sequence = logged.record.sequence
        offset = logged.end
        previous = logged.digest


def record_at(content: bytes, offset: int, store: bytes) -> LoggedRecord | None:
    """The record of a store that begins at an offset; None unless a complete one does."""
    if offset + _HEADER.size > len(content):
        return None
    header = _Header(*_HEADER.unpack_from(content, offset))
    end = offset + header.record_bytes
    if header.store != store or end > len(content):
        return None
    its_digest = content[end - DIGEST : end]
    if digest(memoryview(content)[offset : end - DIGEST]) != its_digest:
        return None
    try:
        record = _decoded(content, offset + _HEADER.size, header)
    except ValueError:  # its digest is right, but we never write such a record
        return None
    return LoggedRecord(record, end, its_digest, header.previous)


class _Header(NamedTuple):
    """The first bytes of a record: what it follows, and the sizes of its parts."""

    store: bytes
    previous: bytes
    sequence: int
    time: int
    entities: int
    relations: int
    name_bytes: int
    retracted: int
    description_bytes: int
    added: int
    note_bytes: int

    @property
    def record_bytes(self) -> int:
        """The size of the record, from its header to its digest."""
        lengths = _LENGTH_BYTES * (self.entities + self.relations)
        rows = _ROW_BYTES * (self.retracted + self.added)
        content = (
            lengths + self.name_bytes + rows + self.description_bytes + self.note_bytes
        )
        return _HEADER.size + content + DIGEST


def _decoded(content: bytes, offset: int, header: _Header) -> Record:
    """The record with this header; `offset` is where the header ends."""
    name_count = header.entities + header.relations
    lengths = np.frombuffer(content, "<u4", count=name_count, offset=offset)
    if (
        int(lengths.sum(dtype=np.uint64)) != header.name_bytes
        or header.time not in TIMES
    ):
        problem = "the lengths of its names do not add up, or it has a time that no clock shows"
        raise ValueError(problem)

    names_start = offset + _LENGTH_BYTES * name_count
    name_content = np.frombuffer(
        content, np.uint8, count=header.name_bytes, offset=names_start
    )
    offsets = np.zeros(name_count + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    entities = _names_between(name_content, offsets[: header.entities + 1])
    relations = _names_between(name_content, offsets[header.entities :])

    rows_start = names_start + header.name_bytes
    row_count = header.retracted + header.added
    numbers = np.frombuffer(content, "<i4", count=3 * row_count, offset=rows_start)
    rows = numbers.reshape(-1, 3).astype(np.int32, copy=False)
    if (rows < 0).any() or (
        rows >= [header.entities, header.relations, header.entities]
    ).any():
        raise ValueError("its facts have names that it lacks")
    descriptions_start = rows_start + _ROW_BYTES * row_count
    descriptions_end = descriptions_start + header.description_bytes
    return Record(
        sequence=header.sequence,
        time=header.time,
        entities=EncodedNames(*entities),
        relations=EncodedNames(*relations),
        retracted=rows[: header.retracted],
        added=rows[header.retracted :],
        described=descriptions_from(content[descriptions_start:descriptions_end]),
        note=bytes(content[descriptions_end : descriptions_end + header.note_bytes]),
    )


def _names_between(
    content: npt.NDArray[np.uint8], offsets: Counts
) -> tuple[npt.NDArray[np.uint8], Counts]:
    """The names that offsets cut out of all names; `ValueError` if they are not UTF-8."""
    # To keep no more than that in memory.
    own = content[offsets[0] : offsets[-1]].copy()
    check_encoded(own, offsets - offsets[0])
    return own, offsets - offsets[0]
