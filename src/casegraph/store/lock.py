"""One writer at a time: a lock that the system takes back when its process ends, however it ends."""

import os
import sys
from pathlib import Path

from casegraph.errors import StoreInUse
from casegraph.store.disk import CREATE, writing

NAME = "lock"
LONGEST = 200  # bytes that say who writes


class WriterLock:
    """The right to write to a store, from when it is made until `release`."""

    def __init__(self, folder: Path) -> None:
        with writing(folder / NAME):
            self._file = os.open(folder / NAME, CREATE, 0o666)
        try:
            self._take(folder)
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        """Let another write."""
        os.close(self._file)

    def _take(self, folder: Path) -> None:
        with writing(folder / NAME):
            is_ours = _locked(self._file)
            os.lseek(self._file, 0, os.SEEK_SET)
            if not is_ours:
                writer = os.read(self._file, LONGEST).decode(errors="replace").strip()
                raise StoreInUse(str(folder), writer or "another process")
            os.ftruncate(self._file, 0)
            os.write(self._file, f"process {os.getpid()} ({_command()})".encode(errors="replace")[:LONGEST])


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
