"""
Opening, reading and writing files: regular files only, and durably.

Everything that a store, a case file or a file of counts does on disk goes through here:

- A link, a pipe, a socket or a device instead of a file is rejected before any byte of it is
  read or written.
- The size of a file is checked before memory is allocated for its content.
- Writes are unbuffered calls of `os`. What a crash can leave behind follows from the order of these
  calls alone.

An error of the operating system becomes `UnreadableFile`. The exception is a missing file, which is
often expected: it stays a `FileNotFoundError`.
"""

import errno
import mmap
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO
from weakref import finalize

from casegraph.errors import UnreadableFile

READ_WRITE = os.O_RDWR
ANOTHER_PLACE = "choose another place"  # advice if a file cannot be written
MAPPED = 1 << 22  # bytes from which a file is mapped by `map_file`
_CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL
# Not every system has each of these flags. With O_NONBLOCK, opening a pipe returns at once, even if
# nobody has opened its other end; `open_file` then refuses the pipe.
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
_FOLDERS_CANNOT_BE_FLUSHED = (errno.EINVAL, errno.ENOTSUP)  # on some file systems


def is_there(path: Path) -> bool:
    """Whether anything has this name. A link counts, even if what it points to is missing."""
    return os.path.lexists(path)


def is_folder(path: Path) -> bool:
    """Whether this is a folder. A link to a folder is not."""
    return is_there(path) and _kind(path.lstat()) == "a folder"


def open_file(
    path: Path, flags: int = os.O_RDONLY, *, may_be_link: bool = False
) -> int:
    """Open a regular file; `UnreadableFile` if it is anything else.

    may_be_link  follow a link, as for a file that the user names; a file of a store is never a link

    The kind of the file is checked twice: before opening, because opening a device can have
    effects, and after, because the file may have been replaced in between.
    """
    if may_be_link:
        _check_regular(path, path.stat())
        file = os.open(path, flags | _GUARDED)
    else:
        _check_regular(path, path.lstat())
        file = os.open(path, flags | _GUARDED | _NO_LINK)
    try:
        status = os.fstat(file)
        _check_regular(path, status)
        if flags & READ_WRITE and status.st_nlink > 1:
            problem = "is a file that has another name too (a hard link); put a copy in its place"
            raise UnreadableFile(str(path), problem)
    except BaseException:
        os.close(file)
        raise
    return file


def create_file(path: Path) -> int:
    """Create a file and open it for writing; `FileExistsError` if the name is taken."""
    return os.open(path, _CREATE | _GUARDED | _NO_LINK, 0o666)


class OpenFile:
    """A file descriptor that is closed by `close`, or when this object is garbage collected.

    Closing it twice does no harm.
    """

    def __init__(self, file: int) -> None:
        self.file = file
        self.close = finalize(self, os.close, file)

    @property
    def is_open(self) -> bool:
        """Whether it has not been closed yet."""
        return self.close.alive


def size_of(file: int, path: Path, most: int | None = None) -> int:
    """The size of an open file in bytes; `UnreadableFile` if it is too large to read.

    most  the largest size that such a file can have; by default, the memory of this machine
    """
    size = os.fstat(file).st_size
    if most is None:
        limit = _memory()
        reason = "there is memory for"
    else:
        limit = most
        reason = "such a file ever has"
    if size > limit:
        problem = f"has {size:,} bytes, more than {reason} ({limit:,}); restore it from a copy"
        raise UnreadableFile(str(path), problem)
    return size


def read_file(path: Path, most: int | None = None) -> bytes:
    """The content of a file; `UnreadableFile` if it is larger than `most` bytes (see `size_of`)."""
    with reading(path):
        file = open_file(path)
        with os.fdopen(file, "rb", buffering=0) as stream:
            size_of(file, path, most)
            return stream.readall()


def map_file(path: Path, most: int | None = None) -> bytes | mmap.mmap:
    """The same as `read_file`, but a large file is mapped: the system reads and shares it.

    For files that never change: whoever cuts such a file short stops the processes that have
    mapped it. So files that are read at once anyway are read.
    """
    with reading(path):
        file = open_file(path)
        try:
            size = size_of(file, path, most)
            if size >= MAPPED:
                return mmap.mmap(file, size, access=mmap.ACCESS_READ)
        finally:
            os.close(file)
    return read_file(path, most)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn an error of the system into `UnreadableFile`: which file cannot be read, and why."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise UnreadableFile(
            str(path), f"cannot be read ({reason}); check the disk"
        ) from error


@contextmanager
def writing_named(path: Path, advice: str = ANOTHER_PLACE) -> Iterator[None]:
    """Turn an error of the system into `UnreadableFile`, for a file that the user has named.

    advice  what to do about it
    """
    try:
        yield
    except OSError as error:
        problem = f"cannot be written ({error.strerror}); {advice}"
        raise UnreadableFile(str(path), problem) from error


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an error of the system into `UnreadableFile`, for a file of a store."""
    try:
        yield
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        advice = "check the disk and its permissions"
        if error.errno == errno.ENOSPC:
            advice = "free some space"
        problem = f"cannot be written ({reason}); {advice}, and open the store again"
        raise UnreadableFile(str(path), problem) from error


def write_all(file: int, content: bytes | memoryview) -> None:
    """Write all of the content: a single call of `os.write` may write only a part of it."""
    rest = memoryview(content)
    while rest:
        written = os.write(file, rest)
        rest = rest[written:]


def write_at(file: int, offset: int, *content: bytes | memoryview) -> None:
    """Write all of the content, in one or more pieces, at an offset in the file."""
    os.lseek(file, offset, os.SEEK_SET)
    for piece in content:
        write_all(file, piece)


def flush(file: int) -> None:
    """Return when everything written to the file is on the disk itself.

    If this fails, nobody knows what is on disk. Flushing again may report success although the data
    was never written, so the file must not be written to any more.
    """
    os.fsync(file)
    # There, fsync leaves the data in the cache of the disk.
    if sys.platform == "darwin":
        import fcntl

        fcntl.fcntl(file, fcntl.F_FULLFSYNC)


def flush_folder(folder: Path) -> None:
    """Return when the names of the files in a folder are on disk; Windows does this by itself."""
    if os.name == "nt":
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    except OSError as error:
        if error.errno not in _FOLDERS_CANNOT_BE_FLUSHED:
            raise
    finally:
        os.close(opened)


def write_file(path: Path, *content: bytes | memoryview) -> None:
    """Write and flush a new file of one or more pieces, after removing what has its name.

    The name itself lasts only when the caller has flushed the folder.
    """
    with suppress(FileNotFoundError):
        path.unlink()
    file = create_file(path)
    try:
        for piece in content:
            write_all(file, piece)
        flush(file)
    finally:
        os.close(file)


@contextmanager
def atomic_write(path: Path, advice: str = ANOTHER_PLACE) -> Iterator[BinaryIO]:
    """A file to write to, which replaces `path` at the end of the `with` block.

    advice  what to do if it cannot be written

    The content goes to a temporary file beside `path`, which is flushed and then renamed. A crash
    leaves the old file or the new one, and an exception leaves the old one and no temporary file.
    """
    beside = path.with_name(f".{path.name}.{os.urandom(4).hex()}")
    try:
        with writing_named(path, advice):
            with os.fdopen(create_file(beside), "wb") as file:
                yield file
                file.flush()
                flush(file.fileno())
            beside.replace(path)
            flush_folder(path.parent)
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def remove(path: Path) -> None:
    """Remove a file, a link (not what it points to), or a folder with the files in it."""
    if not is_folder(path):
        path.unlink()
        return
    for inside in sorted(path.iterdir()):
        inside.unlink()
    path.rmdir()


def _check_regular(path: Path, status: os.stat_result) -> None:
    kind = _kind(status)
    if kind != "a file":
        raise UnreadableFile(
            str(path), f"is {kind}, not a file; put the file itself in its place"
        )


def _kind(status: os.stat_result) -> str:
    """What has a name, in words."""
    # A junction of Windows is a link to a folder that does not say so in its mode.
    tag = getattr(status, "st_reparse_tag", 0)
    junction = getattr(stat, "IO_REPARSE_TAG_MOUNT_POINT", -1)
    if tag == junction:
        return "a link"
    return _KINDS.get(stat.S_IFMT(status.st_mode), "a device")


def _memory() -> int:
    """The memory of this machine in bytes; without limit where the system does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return sys.maxsize
