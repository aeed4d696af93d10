"""
One writer at a time: a lock that the system releases when the process ends, however it ends.

The content of the lock file says two more things, each on a line:

    store 0123…cdef          the id of the store; dashes until the store has been created
    process 4711 (command)   who writes, or was the last to write

The first line tells apart two folders in which only the lock is left: one that was a store and lost
its files, and one in which creating a store was interrupted.
"""

import os
import re
import sys
from pathlib import Path
from weakref import WeakSet

from casegraph.disk import (
    READ_WRITE,
    OpenFile,
    create_file,
    flush,
    flush_folder,
    open_file,
    reading,
    write_at,
    writing,
)
from casegraph.errors import StoreInUse, UnreadableFile

NAME = "lock"
SIZE = 256  # bytes of the file
_NO_STORE_YET = b"store " + b"-" * 32 + b"\n"
_STORE = re.compile(rb"store [0-9a-f]{32}\n")

# By this process; they may have been released since.
_taken: "WeakSet[WriterLock]" = WeakSet()


def names_a_store(folder: Path) -> bool:
    """Whether the lock in a folder says that a store was created there."""
    return _STORE.match(_content(folder)) is not None


def is_before_any_store(folder: Path) -> bool:
    """Whether the lock in a folder, if there is one, is as it is until a store has been created."""
    content = _content(folder)
    return content.startswith(_NO_STORE_YET) or _NO_STORE_YET.startswith(content)


class WriterLock:
    """The right to write to a store, from its construction until `release`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: int | None = None  # which has taken it
        with writing(folder / NAME):
            self._opened = OpenFile(_open_or_create(folder / NAME))
            self._file = self._opened.file
            self._identity = _identity(self._file)
            self._take()

    def release(self) -> None:
        """Let another process write; may be called again.

        A process that was forked meanwhile has the file open, too, so closing it is not enough.
        """
        if self.is_held:
            _unlock(self._file)
        self._opened.close()

    @property
    def is_held(self) -> bool:
        """Whether this process holds it."""
        return self._opened.is_open and self._process == os.getpid()

    def mark(self, store: bytes) -> None:
        """Note that the store with this id was created here; on disk when this returns."""
        line = b"store " + store.hex().encode() + b"\n"
        with writing(self._folder / NAME):
            os.lseek(self._file, 0, os.SEEK_SET)
            if os.read(self._file, len(line)) != line:
                write_at(self._file, 0, line)
                flush(self._file)
                flush_folder(self._folder)

    def _take(self) -> None:
        """Take the lock and write down who has it; `StoreInUse` if it is taken."""
        is_ours = _try_to_lock(self._file)
        os.lseek(self._file, 0, os.SEEK_SET)
        content = os.read(self._file, SIZE)
        if not is_ours:
            raise self._in_use(content)
        store = _STORE.match(content)
        line = store.group() if store else _NO_STORE_YET
        writer = f"process {os.getpid()} ({_command()})".encode(errors="replace")
        write_at(self._file, 0, (line + writer)[:SIZE].ljust(SIZE))
        self._process = os.getpid()
        _taken.add(self)

    def _in_use(self, content: bytes) -> StoreInUse:
        """The error that says who has the lock, according to its content."""
        others = [lock for lock in _taken if lock is not self]
        is_here = any(lock.is_held_on(self._identity) for lock in others)
        writer = content[len(_NO_STORE_YET) :].decode(errors="replace").strip("\0 ")
        return StoreInUse(
            str(self._folder), writer or "another process", is_here=is_here
        )

    def is_held_on(self, identity: tuple[int, int]) -> bool:
        """Whether this process holds this lock, and its file is the one with this identity."""
        return self.is_held and self._identity == identity


def _content(folder: Path) -> bytes:
    """The content of the lock in a folder; empty if there is none that can be read."""
    path = folder / NAME
    try:
        with reading(path), os.fdopen(open_file(path), "rb", buffering=0) as file:
            return file.read(SIZE) or b""
    except (FileNotFoundError, UnreadableFile):
        return b""


def _open_or_create(path: Path) -> int:
    try:
        return create_file(path)
    except FileExistsError:
        return open_file(path, READ_WRITE)


def _identity(file: int) -> tuple[int, int]:
    """The device and the number of an open file, the same whatever name it was opened by."""
    status = os.fstat(file)
    return status.st_dev, status.st_ino


def _command() -> str:
    """How this process was started: the program and its first argument."""
    program = Path(sys.argv[0]).name
    return " ".join([program, *sys.argv[1:2]])


if os.name == "nt":
    import msvcrt

    def _try_to_lock(file: int) -> bool:
        # A locked byte cannot be read by others, so lock one far behind the text of the file.
        os.lseek(file, 1 << 30, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]
        except OSError:
            return False
        return True

    def _unlock(file: int) -> None:
        os.lseek(file, 1 << 30, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_UNLCK, 1)  # type: ignore[attr-defined, unused-ignore]

else:
    import fcntl

    def _try_to_lock(file: int) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)
