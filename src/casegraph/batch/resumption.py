"""
A file of lines that grows batch by batch, and can be gone on with after any interruption.

Beside it lies a file that says what the lines are of, and how long they were after each batch. Whatever an interruption
left behind, the lines are cut back to the last whole batch, so that the end is the same as without it.
"""

import os
from itertools import takewhile
from pathlib import Path
from types import TracebackType
from typing import Self

from casegraph.errors import IncompatibleFile, UnreadableFile

ENDING = ".progress"


class Resumable:
    """Lines to be written to `path`, in batches; `done` of them are there already.

    digest  of all that the lines depend on; what was begun for another is refused
    """

    def __init__(self, path: Path, digest: str) -> None:
        beside = path.with_name(path.name + ENDING)
        if path.exists() and not beside.exists():
            raise IncompatibleFile(str(path), "is there, but not unfinished; remove it, or choose another file")
        begun, *sizes = _whole_lines(beside) or [digest]
        if begun != digest:
            problem = "was begun from other facts, settings or options"
            raise IncompatibleFile(str(path), f"{problem}; give the same, or choose another file")
        there = path.stat().st_size if path.exists() else 0
        kept = list(takewhile(lambda size: int(size) <= there, sizes))
        self.done = len(kept)
        try:
            self._lines, self._sizes = path.open("ab"), beside.open("ab")
        except OSError as error:
            raise UnreadableFile(str(path), f"cannot be written ({error.strerror}); choose another place") from error
        self._lines.seek(self._lines.truncate(int(kept[-1]) if kept else 0))
        self._sizes.truncate(0)
        self._note("\n".join([digest, *kept]))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._lines.close()
        self._sizes.close()

    def write(self, content: bytes) -> None:
        """Add the lines of the next batch; they are on the disk before it is noted that they are."""
        self._lines.write(content)
        self._lines.flush()
        os.fsync(self._lines.fileno())
        self._note(str(self._lines.tell()))
        self.done += 1

    def _note(self, text: str) -> None:
        self._sizes.write(text.encode() + b"\n")
        self._sizes.flush()


def _whole_lines(path: Path) -> list[str]:
    """The lines of a file, without a last one that has no end; none if there is no file."""
    content = path.read_bytes() if path.exists() else b""
    return content[: content.rfind(b"\n") + 1].decode(errors="replace").splitlines()
