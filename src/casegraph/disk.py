"""
Writing so that it lasts: a file is written to its end and flushed, and so is the folder that has got a new name.

Every change that a store makes on disk goes through `os` here, in `log` and in `snapshots`, unbuffered, so that what a
crash can leave behind is what the order of these calls allows. An error of the system becomes `UnreadableFile`.
"""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from casegraph.errors import UnreadableFile

CREATE = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0)
CHANGE = os.O_RDWR | getattr(os, "O_BINARY", 0)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Say which file could not be written, and why."""
    try:
        yield
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        advice = "free some space" if error.errno == errno.ENOSPC else "check the disk and its permissions"
        raise UnreadableFile(str(path), f"cannot be written ({reason}); {advice}, and open the store again") from error


def write_all(file: int, content: bytes | memoryview) -> None:
    """Write all of it; the system may take less at once."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(file, rest) :]


def write_at(file: int, offset: int, content: bytes) -> None:
    """Write all of it at a place."""
    os.lseek(file, offset, os.SEEK_SET)
    write_all(file, content)


def flush(file: int) -> None:
    """Return when what was written is on the disk itself."""
    os.fsync(file)
    if sys.platform == "darwin":  # where this leaves it in the memory of the disk
        import fcntl

        fcntl.fcntl(file, fcntl.F_FULLFSYNC)


def flush_folder(folder: Path) -> None:
    """Return when the names in a folder are on disk; Windows does this by itself."""
    if os.name != "nt":
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def write_file(path: Path, content: bytes | memoryview) -> None:
    """Write a new file, or one over another; its name lasts when its folder is flushed."""
    file = os.open(path, CREATE | os.O_TRUNC, 0o666)
    try:
        write_all(file, content)
        flush(file)
    finally:
        os.close(file)
