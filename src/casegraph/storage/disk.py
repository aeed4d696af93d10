"""
Opening, reading and writing files: only regular ones, and so that what is written lasts.

Everything that a store, a case file or a file of counts does on disk goes through here. A link, a
pipe, a socket or a device in the place of a file is refused before a byte of it is read or
written, and a file is measured before memory is taken for it. Writes are unbuffered calls of `os`,
so that what a crash can leave behind is what the order of these calls allows.

An error of the system becomes `UnreadableFile`, but for a file that is not there, which may be
nothing unusual: `FileNotFoundError`.
"""

import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from weakref import finalize

from casegraph.errors import UnreadableFile

CHANGE = os.O_RDWR
_CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL
# O_NONBLOCK: opening a pipe does not wait for someone at its other end.
_GUARDED = sum(getattr(os, flag, 0) for flag in ("O_BINARY", "O_NONBLOCK", "O_NOCTTY"))
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_KINDS = {
    stat.S_IFLNK: "a link",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
    stat.S_IFREG: "a file",
}
_NO_FLUSH_OF_FOLDERS = (errno.EINVAL, errno.ENOTSUP)


def is_there(path: Path) -> bool:
    """Whether anything has this name; a link counts, wherever it leads."""
    return os.path.lexists(path)


def is_folder(path: Path) -> bool:
    """Whether this is a folder itself, and not a link to one."""
    return is_there(path) and _kind(path.lstat()) == "a folder"


def open_file(path: Path, flags: int = os.O_RDONLY, *, may_be_link: bool = False) -> int:
    """Open a regular file; `UnreadableFile` if it is anything else.

    may_be_link  follow a link, as when a user names the file; nothing inside a store may be one
    """
    _check_regular(path, path.stat() if may_be_link else path.lstat())
    file = os.open(path, flags | _GUARDED | (0 if may_be_link else _NO_LINK))
    try:
        status = os.fstat(file)
        _check_regular(path, status)
        if flags & CHANGE and status.st_nlink > 1:
            problem = "is a file that has another name too (a hard link); put a copy in its place"
            raise UnreadableFile(str(path), problem)
    except BaseException:
        os.close(file)
        raise
    return file


def create_file(path: Path) -> int:
    """Open a file that is not there yet, to write to it."""
    return os.open(path, _CREATE | _GUARDED | _NO_LINK, 0o666)


class Held:
    """An open file that is closed when nobody holds it any more, at the latest; closing it twice does no harm."""

    def __init__(self, file: int) -> None:
        self.file = file
        self.close = finalize(self, os.close, file)


def size_of(file: int, path: Path, most: int | None = None) -> int:
    """The bytes of an open file; refused if they are more than it may have, or than there is memory."""
    size = os.fstat(file).st_size
    limit = _memory() if most is None else most
    if size > limit:
        reason = "there is memory for" if most is None else "such a file ever has"
        problem = f"has {size:,} bytes, more than {reason} ({limit:,}); restore it from a copy"
        raise UnreadableFile(str(path), problem)
    return size


def read_file(path: Path, most: int | None = None) -> bytes:
    """All bytes of a file in a store, if they are not too many."""
    with reading(path):
        file = open_file(path)
        with os.fdopen(file, "rb", buffering=0) as stream:
            size_of(file, path, most)
            return stream.readall()


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Say which file could not be read, and why."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise UnreadableFile(str(path), f"cannot be read ({reason}); check the disk") from error


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Say which file could not be written, and why."""
    try:
        yield
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        is_full = error.errno == errno.ENOSPC
        advice = "free some space" if is_full else "check the disk and its permissions"
        problem = f"cannot be written ({reason}); {advice}, and open the store again"
        raise UnreadableFile(str(path), problem) from error


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
    """Return when what was written is on the disk itself.

    When this fails, nobody knows what is on disk, and the system may report success the next time
    without having written it: the file must not be written to again.
    """
    os.fsync(file)
    if sys.platform == "darwin":  # where this leaves it in the memory of the disk
        import fcntl

        fcntl.fcntl(file, fcntl.F_FULLFSYNC)


def flush_folder(folder: Path) -> None:
    """Return when the names in a folder are on disk; Windows does this by itself."""
    if os.name == "nt":
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    except OSError as error:
        if error.errno not in _NO_FLUSH_OF_FOLDERS:
            raise
    finally:
        os.close(opened)


def write_file(path: Path, content: bytes | memoryview) -> None:
    """Write a new file in the place of whatever has its name; the name lasts when its folder is flushed."""
    with suppress(FileNotFoundError):
        path.unlink()
    file = create_file(path)
    try:
        write_all(file, content)
        flush(file)
    finally:
        os.close(file)


def remove(path: Path) -> None:
    """Remove a file, a folder and the files in it, or a link, but never what a link leads to."""
    if not is_folder(path):
        path.unlink()
        return
    for inside in sorted(path.iterdir()):
        inside.unlink()
    path.rmdir()


def _check_regular(path: Path, status: os.stat_result) -> None:
    kind = _kind(status)
    if kind != "a file":
        raise UnreadableFile(str(path), f"is {kind}, not a file; put the file itself in its place")


def _kind(status: os.stat_result) -> str:
    is_junction = getattr(status, "st_reparse_tag", 0) == getattr(stat, "IO_REPARSE_TAG_MOUNT_POINT", -1)
    return "a link" if is_junction else _KINDS.get(stat.S_IFMT(status.st_mode), "a device")


def _memory() -> int:
    """The bytes of memory that this machine has, as far as that can be known."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return sys.maxsize
