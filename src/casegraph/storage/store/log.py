"""
The log of a store, and how far it is acknowledged.

`log-N` has every update after number N. The file `acknowledged` says up to which byte the log is
promised to be complete. An update is appended to the log and flushed; then its end is written to
`acknowledged` and flushed; then the caller is told that the update is kept. It follows:

- A log that ends before its acknowledged end is damaged.
- Unreadable bytes after the acknowledged end are an update that a crash cut short. Nobody was told
  that it is kept, so they are cut off.

`acknowledged` has two slots, each with a digest, that are written in turn. While one is being
written the other is intact, so a crash never leaves a store without a valid slot.

A new store is first written under the names `log.new` and `acknowledged.new`. When both are on disk
they are renamed, `acknowledged` first. So a log without `acknowledged` beside it never comes from
an interrupted creation: it has lost the file.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from struct import Struct

from casegraph.disk import (
    READ_WRITE,
    OpenFile,
    flush,
    flush_folder,
    open_file,
    read_file,
    write_at,
    write_file,
    writing,
)
from casegraph.errors import (
    DamagedStore,
    IncompatibleFile,
    ReadOnlyStore,
    UnreadableFile,
)
from casegraph.storage.store.records import (
    DIGEST,
    FORMAT,
    Beginning,
    LoggedRecord,
    Position,
    Record,
    beginning_of,
    digest,
    encoded_beginning,
    encoded_record,
    other_format_of,
    records_after,
)

ACKNOWLEDGED = "acknowledged"
NEW_ACKNOWLEDGED = "acknowledged.new"  # while a store is being created
NEW_LOG = "log.new"
# Bytes between the two slots, so that no sector of a disk has parts of both.
SLOT_DISTANCE = 4096
FAILED = "is read-only since it could not be written; open it again"
INTERRUPTED = "was interrupted while it was being written; open it again"
OUTDATED = "has had an update that this object does not know; open it again"
MOVED = "has lost its log, which was moved or removed; open it again where it is"
OTHER_PROCESS = "was opened for writing by another process; open it again in this one"
_LOG_PREFIX = "log-"
_SLOT = Struct("<16sQQQ32s")  # the fields of Position


def log_path(folder: Path, start: int) -> Path:
    """The log that starts after an update."""
    return folder / f"{_LOG_PREFIX}{start:06}"


def log_paths(folder: Path) -> list[Path]:
    """All logs in a folder, the last to start first."""
    return numbered_paths(folder, _LOG_PREFIX)


def numbered_paths(folder: Path, prefix: str) -> list[Path]:
    """What has a name of this prefix and a number in a folder, the largest number first."""
    by_number = []
    for path in folder.glob(f"{prefix}*"):
        number = path.name.removeprefix(prefix)
        if number.isdecimal():
            by_number.append((int(number), path))
    return [path for _, path in sorted(by_number, reverse=True)]


def acknowledged_slots(folder: Path) -> list[Position | None]:
    """What the two slots of `acknowledged` say; None for a slot that is damaged."""
    content = read_file(folder / ACKNOWLEDGED, most=2 * SLOT_DISTANCE)
    slot_size = _SLOT.size + DIGEST
    first = content[:slot_size]
    second = content[SLOT_DISTANCE : SLOT_DISTANCE + slot_size]
    return [_decoded_slot(first), _decoded_slot(second)]


def start_store(folder: Path, store: bytes, settings: bytes) -> None:
    """Create the log of a new store, without any update, and `acknowledged`."""
    content = encoded_beginning(store, start=0, settings=settings)
    position = Position(
        store=store,
        start=0,
        sequence=0,
        size=len(content),
        digest=content[-DIGEST:],
    )
    slot = _encoded_slot(position)
    slots = slot.ljust(SLOT_DISTANCE, b"\0") + slot
    with writing(folder):
        write_file(folder / NEW_LOG, content)
        write_file(folder / NEW_ACKNOWLEDGED, slots)
        flush_folder(folder)
        (folder / NEW_ACKNOWLEDGED).replace(folder / ACKNOWLEDGED)
        flush_folder(folder)
        (folder / NEW_LOG).replace(log_path(folder, 0))
        flush_folder(folder)
        flush_folder(folder.parent)


def start_log(
    folder: Path, start: Position, settings: bytes, first: Record
) -> Position:
    """Write a new log that starts after a position of the current one; returns where it ends.

    first  the only record of the new log
    """
    beginning = encoded_beginning(start.store, start.sequence, settings)
    pieces = encoded_record(first, start.store, previous=beginning[-DIGEST:])
    path = log_path(folder, start.sequence)
    with writing(path):
        write_file(path, beginning, *pieces)
        flush_folder(folder)
    return Position(
        store=start.store,
        start=start.sequence,
        sequence=first.sequence,
        size=len(beginning) + sum(map(len, pieces)),
        digest=bytes(pieces[-1][-DIGEST:]),
    )


@dataclass(frozen=True, slots=True)
class Log:
    """A log as it was read: its content, what it begins with, and how far it is acknowledged."""

    path: Path
    content: bytes
    beginning: Beginning
    acknowledged: Position

    @classmethod
    def read(cls, folder: Path) -> "Log":
        """The log that was acknowledged last; `FileNotFoundError` if there is none."""
        # Read before the log, which another process may be writing: the log then has at least this.
        intact = [slot for slot in acknowledged_slots(folder) if slot is not None]
        if not intact:
            problem = "it does not say how far the log was acknowledged"
            raise DamagedStore(str(folder / ACKNOWLEDGED), 0, problem)
        acknowledged = max(intact, key=lambda position: position.sequence)

        path = log_path(folder, acknowledged.start)
        content = read_file(path)
        beginning = beginning_of(content)
        if beginning is None:
            raise _not_a_log(path, content)
        if (beginning.store, beginning.start) != (
            acknowledged.store,
            acknowledged.start,
        ):
            problem = f"it is of another store than {ACKNOWLEDGED!r} beside it"
            raise DamagedStore(str(path), 0, problem)
        return cls(path, content, beginning, acknowledged)

    @property
    def first(self) -> Position:
        """Where the records begin."""
        return Position(
            store=self.beginning.store,
            start=self.beginning.start,
            sequence=self.beginning.start,
            size=self.beginning.end,
            digest=self.beginning.digest,
        )

    def after(self, position: Position) -> list[LoggedRecord]:
        """The records after a position; `DamagedStore` if an acknowledged one cannot be read."""
        found = list(records_after(self.content, position))
        self._check_acknowledged(position, found)
        return found

    def _check_acknowledged(
        self, position: Position, found: list[LoggedRecord]
    ) -> None:
        """`DamagedStore` unless position and records contain the acknowledged update, unchanged."""
        digests = [position.digest, *(logged.digest for logged in found)]
        # Of the acknowledged update.
        place = self.acknowledged.sequence - position.sequence
        if place < 0:  # it is before this position
            return
        if place < len(digests) and digests[place] == self.acknowledged.digest:
            return
        first_unreadable = position.sequence + len(digests)
        end = found[-1].end if found else position.size
        promised = self.acknowledged.sequence
        problem = f"update {first_unreadable:,} cannot be read, and {promised:,} were acknowledged"
        raise DamagedStore(str(self.path), end, problem)


class LogWriter:
    """Appends records to a log. The holder of the `WriterLock` has the only one.

    position  where the log ends: everything before is on disk and acknowledged
    """

    def __init__(self, folder: Path, position: Position) -> None:
        self.position = position
        self._folder = folder
        self._process = os.getpid()
        self._problem = ""  # why nothing may be written any more
        self._next_slot = _older_slot(acknowledged_slots(folder))
        with self.guarded():
            self._log = OpenFile(
                open_file(log_path(folder, position.start), READ_WRITE)
            )
            self._slots = OpenFile(open_file(folder / ACKNOWLEDGED, READ_WRITE))

    def recover(self, log_size: int) -> None:
        """Cut off what the log has after the position, and acknowledge the position in both slots.

        log_size  the bytes that were found in the log
        """
        with self.guarded():
            if log_size > self.position.size:
                os.ftruncate(self._log.file, self.position.size)
            flush(self._log.file)
            self._acknowledge(self.position)
            self._acknowledge(self.position)

    def append(self, records: Sequence[Record]) -> None:
        """Write records; when this returns, all are on disk and acknowledged.

        If it fails, nothing more can be written until the store is opened again.
        """
        self.check()
        end = self.position
        all_pieces: list[bytes | memoryview] = []
        for record in records:
            pieces = encoded_record(record, end.store, end.digest)
            end = end._replace(
                sequence=record.sequence,
                size=end.size + sum(map(len, pieces)),
                digest=bytes(pieces[-1][-DIGEST:]),
            )
            all_pieces += pieces
        with self.guarded():
            write_at(self._log.file, self.position.size, *all_pieces)
            flush(self._log.file)
            self._acknowledge(end)

    @property
    def was_interrupted(self) -> bool:
        """Whether an exception such as Ctrl-C, and no failure of the disk, came amid a write."""
        return self._problem == INTERRUPTED

    def check(self) -> None:
        """`ReadOnlyStore` unless this can write."""
        if self._problem:
            raise ReadOnlyStore(str(self._folder), self._problem)
        if self._process != os.getpid():
            raise ReadOnlyStore(str(self._folder), OTHER_PROCESS)

    def check_comes_next_after(self, sequence: int) -> None:
        """`ReadOnlyStore` unless this can write what comes after an update.

        A copy of a store that was made before the last update does not know this one. And somebody
        may have moved or removed the folder: what is written would be where nobody looks for it.
        """
        self.check()
        if sequence != self.position.sequence:
            raise ReadOnlyStore(str(self._folder), OUTDATED)
        path = log_path(self._folder, self.position.start)
        try:
            is_in_place = os.path.samestat(path.lstat(), os.fstat(self._log.file))
        except OSError:
            is_in_place = False
        if not is_in_place:
            raise ReadOnlyStore(str(self._folder), MOVED)

    def close(self) -> None:
        """Write no more; may be called again."""
        self._problem = self._problem or "is closed; open it again"
        self._log.close()
        self._slots.close()

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Refuse all further writing unless the `with` block completes.

        After a failure nobody knows what is on disk, and another attempt could write over it. So
        the refusal is set before the first byte is written and taken back as the very last step.
        Wherever an exception comes, even from a signal between two Python instructions, nothing can
        be written over what may be on disk.
        """
        self.check()
        self._problem = INTERRUPTED
        try:
            with writing(log_path(self._folder, self.position.start)):
                yield
        except UnreadableFile:
            self._problem = FAILED
            raise
        self._problem = ""

    def _acknowledge(self, position: Position) -> None:
        write_at(
            self._slots.file, self._next_slot * SLOT_DISTANCE, _encoded_slot(position)
        )
        flush(self._slots.file)
        self.position = position
        self._next_slot = 1 - self._next_slot


def _encoded_slot(position: Position) -> bytes:
    content = _SLOT.pack(*position)
    return content + digest(content)


def _decoded_slot(content: bytes) -> Position | None:
    fields = content[:-DIGEST]
    its_digest = content[-DIGEST:]
    if not fields or digest(fields) != its_digest:
        return None
    return Position(*_SLOT.unpack(fields))


def _older_slot(slots: list[Position | None]) -> int:
    """The slot to write next: a damaged one, else the one with the earlier update."""
    sequences = [-1 if slot is None else slot.sequence for slot in slots]
    return sequences.index(min(sequences))


def _not_a_log(path: Path, content: bytes) -> DamagedStore | IncompatibleFile:
    version = other_format_of(content)
    if version:
        advice = "update casegraph"
        if version < FORMAT:
            advice = (
                "'casegraph export' with the version that wrote it, then 'casegraph build' "
                "with this one"
            )
        problem = (
            f"has format {version}, this casegraph reads format {FORMAT}; {advice}"
        )
        return IncompatibleFile(str(path), problem)
    return DamagedStore(str(path), 0, "it does not begin as a log does")
