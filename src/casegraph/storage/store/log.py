"""
The log of a store, and how far it was acknowledged.

`log-N` has every update after number N. An update is appended to it and flushed, then noted in `acknowledged` and
flushed, then acknowledged. So a log that ends before what was acknowledged is damaged, and unreadable bytes after that
are an update that a crash cut short: nobody was told that it is kept. `acknowledged` has two places that are written in
turn, each with a digest, so that one of them is always whole.

A store is made under other names: `log.new` and `acknowledged.new` are renamed, `acknowledged` first, when both are on
disk. So a log without `acknowledged` beside it has lost it, and was never left so by making the store.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from struct import Struct

from casegraph.errors import DamagedStore, IncompatibleFile, ReadOnlyStore, UnreadableFile
from casegraph.storage.disk import (
    CHANGE,
    Held,
    flush,
    flush_folder,
    open_file,
    read_file,
    write_at,
    write_file,
    writing,
)
from casegraph.storage.store.records import (
    DIGEST,
    FORMAT,
    Beginning,
    Position,
    Record,
    Written,
    beginning,
    beginning_of,
    digest,
    encoded,
    records,
)

ACKNOWLEDGED = "acknowledged"
NEW_ACKNOWLEDGED, NEW_LOG = "acknowledged.new", "log.new"  # while a store is made
APART = 4096  # bytes between the two places: no sector of a disk holds parts of both
FAILED = "is read-only since it could not be written; open it again"
INTERRUPTED = "was interrupted while it was being written; open it again"
_PLACE = Struct("<16sQQQ32s")  # the fields of Position


def log_path(folder: Path, start: int) -> Path:
    """The log that starts after an update."""
    return folder / f"log-{start:06}"


def logs(folder: Path) -> list[Path]:
    """All logs in a folder, the one that starts last first."""
    found = [path for path in folder.glob("log-*") if path.name.removeprefix("log-").isdecimal()]
    return sorted(found, key=lambda path: int(path.name.removeprefix("log-")), reverse=True)


def acknowledged_places(folder: Path) -> list[Position | None]:
    """What each place of `acknowledged` says, if it is whole."""
    content = read_file(folder / ACKNOWLEDGED, most=2 * APART)
    found = [content[offset : offset + _PLACE.size + DIGEST] for offset in (0, APART)]
    return [
        Position(*_PLACE.unpack(part[:-DIGEST]))
        if len(part) > DIGEST and digest(part[:-DIGEST]) == part[-DIGEST:]
        else None
        for part in found
    ]


def start_store(folder: Path, store: bytes, settings: bytes) -> None:
    """Make the log of a new store, and `acknowledged`."""
    content = beginning(store, 0, settings)
    place = _place(Position(store, 0, 0, len(content), content[-DIGEST:]))
    with writing(folder):
        write_file(folder / NEW_LOG, content)
        write_file(folder / NEW_ACKNOWLEDGED, place.ljust(APART, b"\0") + place)
        flush_folder(folder)
        (folder / NEW_ACKNOWLEDGED).replace(folder / ACKNOWLEDGED)
        flush_folder(folder)
        (folder / NEW_LOG).replace(log_path(folder, 0))
        flush_folder(folder)
        flush_folder(folder.parent)


def start_log(folder: Path, start: Position, settings: bytes, first: Record) -> Position:
    """Write a log that starts after a position, with a first record in it; returns where it ends."""
    begins = beginning(start.store, start.sequence, settings)
    content = begins + encoded(first, start.store, begins[-DIGEST:])
    path = log_path(folder, start.sequence)
    with writing(path):
        write_file(path, content)
        flush_folder(folder)
    return Position(start.store, start.sequence, first.sequence, len(content), content[-DIGEST:])


@dataclass(frozen=True, slots=True)
class Log:
    """A log as it was found: all its bytes, how it begins, and how far it was acknowledged."""

    path: Path
    content: bytes
    beginning: Beginning
    acknowledged: Position

    @classmethod
    def read(cls, folder: Path) -> "Log":
        """The log that was acknowledged last; `FileNotFoundError` if there is none."""
        places = [place for place in acknowledged_places(folder) if place is not None]  # first, as the log grows
        if not places:
            raise DamagedStore(str(folder / ACKNOWLEDGED), 0, "it does not say how far the log was acknowledged")
        acknowledged = max(places, key=lambda place: place.sequence)
        path = log_path(folder, acknowledged.start)
        content = read_file(path)
        found = beginning_of(content)
        if isinstance(found, int):
            raise _not_a_log(path, found)
        if (found.store, found.start) != (acknowledged.store, acknowledged.start):
            raise DamagedStore(str(path), 0, f"it is of another store than {ACKNOWLEDGED!r} beside it")
        return cls(path, content, found, acknowledged)

    @property
    def first(self) -> Position:
        """Where the records begin."""
        store, start, _, end, its_digest = self.beginning
        return Position(store, start, start, end, its_digest)

    def after(self, position: Position) -> list[Written]:
        """The records after a position; `DamagedStore` if one that was acknowledged cannot be read."""
        found, promised = list(records(self.content, position)), self.acknowledged
        digests = [position.digest, *(written.digest for written in found)]
        place = promised.sequence - position.sequence
        if place >= len(digests) or (place >= 0 and digests[place] != promised.digest):
            number, end = position.sequence + len(digests), found[-1].end if found else position.size
            problem = f"update {number:,} cannot be read, and {promised.sequence:,} were acknowledged"
            raise DamagedStore(str(self.path), end, problem)
        return found


class LogWriter:
    """Appends to a log; only one at a time may do so (`WriterLock`)."""

    def __init__(self, folder: Path, position: Position) -> None:
        self.position, self._folder, self._process = position, folder, os.getpid()
        self._problem = ""  # why nothing may be written any more
        places = [place.sequence if place else -1 for place in acknowledged_places(folder)]
        self._turn = places.index(min(places))
        with self.watched():
            self._log = Held(open_file(log_path(folder, position.start), CHANGE))
            self._places = Held(open_file(folder / ACKNOWLEDGED, CHANGE))

    def recover(self, found: int) -> None:
        """Cut off what was found in the log after the position, and acknowledge all before it."""
        with self.watched():
            if found > self.position.size:
                os.ftruncate(self._log.file, self.position.size)
            flush(self._log.file)
            for _ in range(2):
                self._acknowledge(self.position)

    @property
    def was_interrupted(self) -> bool:
        """Whether an exception came while something was being written."""
        return self._problem == INTERRUPTED

    def check(self) -> None:
        """`ReadOnlyStore` unless this can write."""
        if self._problem or self._process != os.getpid():
            problem = self._problem or "was opened for writing by another process; open it again in this one"
            raise ReadOnlyStore(str(self._folder), problem)

    def append(self, record: Record) -> None:
        """Return when the record lasts. If that fails, nothing more is written until the store is opened again."""
        self.check()
        content = encoded(record, self.position.store, self.position.digest)
        with self.watched():
            write_at(self._log.file, self.position.size, content)
            flush(self._log.file)
            size = self.position.size + len(content)
            self._acknowledge(self.position._replace(sequence=record.sequence, size=size, digest=content[-DIGEST:]))

    def close(self) -> None:
        """Write no more; may be called again."""
        self._problem = self._problem or "is closed; open it again"
        self._log.close()
        self._places.close()

    def _acknowledge(self, position: Position) -> None:
        write_at(self._places.file, self._turn * APART, _place(position))
        flush(self._places.file)
        self.position = position
        self._turn = 1 - self._turn

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Refuse all further writing unless what is done within comes to its end.

        After a failure nobody knows what is on disk, and trying again would hide it. So the refusal is there before the
        first byte is written, and is taken back as the very last step: wherever an exception comes, even one that a
        signal raises between two steps of Python, nothing can be written over what may be on disk.
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


def _place(position: Position) -> bytes:
    content = _PLACE.pack(*position)
    return content + digest(content)


def _not_a_log(path: Path, version: int) -> DamagedStore | IncompatibleFile:
    if version:
        problem = f"has format {version}, this casegraph reads format {FORMAT}; update casegraph"
        return IncompatibleFile(str(path), problem)
    return DamagedStore(str(path), 0, "it does not begin as a log does")
