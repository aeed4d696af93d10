"""
One writer at a time: a lock that the system takes back when its process ends, however it ends.

The file also says whose folder this is: `store` and its id, once the store is made, and then who
writes or was the last to write. So a folder in which nothing but the lock is left is known to have
been a store, and is told from one in which making a store was interrupted.
"""

import os
import re
import sys
from pathlib import Path
from weakref import WeakSet

from casegraph.errors import StoreInUse, UnreadableFile
from casegraph.storage.disk import CHANGE, Held, create_file, flush, flush_folder, open_file, reading, write_at, writing

NAME = "lock"
SIZE = 256  # bytes of the file
_UNMADE = b"store " + b"-" * 32 + b"\n"  # until the store is made
_MADE = re.compile(rb"store [0-9a-f]{32}\n")
_BEFORE = b"process "  # how locks began that did not say whose they are

_held: "WeakSet[WriterLock]" = WeakSet()  # the locks that were taken here and may still be held


def names_a_store(folder: Path) -> bool:
    """Whether the lock in a folder says that a store was made there."""
    return _MADE.match(_content(folder)) is not None


def is_of_a_beginning(folder: Path) -> bool:
    """Whether the lock in a folder is as making a store leaves it until the store is made; or there is none."""
    return not names_a_store(folder) and not _content(folder).startswith(_BEFORE)


class WriterLock:
    """The right to write to a store, from when it is made until `release`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with writing(folder / NAME):
            self._held = Held(_opened(folder / NAME))
            self._file = self._held.file
            self._key = _key(self._file)
            self._take()

    def release(self) -> None:
        """Let another write; may be called again."""
        self._held.close()

    def mark(self, store: bytes) -> None:
        """Say that a store was made here; lasts when this returns."""
        line = b"store " + store.hex().encode() + b"\n"
        with writing(self._folder / NAME):
            os.lseek(self._file, 0, os.SEEK_SET)
            if os.read(self._file, len(line)) != line:
                write_at(self._file, 0, line)
                flush(self._file)
                flush_folder(self._folder)

    def _take(self) -> None:
        is_ours = _locked(self._file)
        os.lseek(self._file, 0, os.SEEK_SET)
        content = os.read(self._file, SIZE)
        made = _MADE.match(content)
        if not is_ours:
            is_here = any(other is not self and other.is_of(self._key) for other in _held)
            writer = content[len(_UNMADE) :].decode(errors="replace").strip("\0 ")
            raise StoreInUse(str(self._folder), writer or "another process", is_here=is_here)
        who = f"process {os.getpid()} ({_command()})".encode(errors="replace")
        line = made.group() if made else _UNMADE
        write_at(self._file, 0, (line + who)[:SIZE].ljust(SIZE))
        self._process = os.getpid()
        _held.add(self)

    def is_of(self, key: tuple[int, int]) -> bool:
        """Whether this process holds the lock file with this device and number."""
        return self._held.close.alive and self._key == key and self._process == os.getpid()


def _content(folder: Path) -> bytes:
    """How the lock begins; nothing if there is none that can be read."""
    path = folder / NAME
    try:
        with reading(path), os.fdopen(open_file(path), "rb", buffering=0) as file:
            return file.read(SIZE) or b""
    except (FileNotFoundError, UnreadableFile):
        return b""


def _opened(path: Path) -> int:
    try:
        return create_file(path)
    except FileExistsError:
        return open_file(path, CHANGE)


def _key(file: int) -> tuple[int, int]:
    status = os.fstat(file)
    return status.st_dev, status.st_ino


def _command() -> str:
    return " ".join([Path(sys.argv[0]).name, *sys.argv[1:2]])


if os.name == "nt":
    import msvcrt

    def _locked(file: int) -> bool:
        os.lseek(file, 1 << 30, os.SEEK_SET)  # others cannot read what is locked, so not where it says who writes
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]
        except OSError:
            return False
        return True

else:
    import fcntl

    def _locked(file: int) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
