"""
A file of lines that is written in batches and can be continued after any interruption.

A second file, with the suffix `.progress`, records the progress. Its first line is a digest of
everything that the lines depend on; then, for each batch on disk, the size of the file after it. To
continue, the file is truncated to the last complete batch, so the final file is the same as without
the interruption.
"""

from itertools import takewhile
from pathlib import Path
from typing import Self

from casegraph.disk import flush, write_all, writing_named
from casegraph.errors import IncompatibleFile

ENDING = ".progress"


class Resumable:
    """A file of lines that is written in batches.

    path    the file
    digest  of everything the lines depend on; a file begun with another digest is rejected
    done    the number of batches in the file
    """

    def __init__(self, path: Path, digest: str) -> None:
        progress = path.with_name(path.name + ENDING)
        if path.exists() and not progress.exists():
            problem = "is there, but not unfinished; remove it, or choose another file"
            raise IncompatibleFile(str(path), problem)

        begun_with, *sizes = _complete_lines(progress) or [digest]
        if begun_with != digest:
            problem = "was begun from other facts, settings or options"
            advice = "give the same, or choose another file"
            raise IncompatibleFile(str(path), f"{problem}; {advice}")

        size_now = path.stat().st_size if path.exists() else 0
        kept_sizes = list(takewhile(lambda size: int(size) <= size_now, sizes))
        self.done = len(kept_sizes)
        self._path = path
        end = int(kept_sizes[-1]) if kept_sizes else 0
        with writing_named(path):
            self._lines = path.open("ab", buffering=0)
            self._progress = progress.open("ab", buffering=0)
            self._lines.truncate(end)
            self._lines.seek(end)
            self._progress.truncate(0)
            self._note("\n".join([digest, *kept_sizes]))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._lines.close()
        self._progress.close()

    def write(self, content: bytes) -> None:
        """Append the lines of the next batch; they are on disk before the batch is recorded."""
        with writing_named(
            self._path, advice="make room, and run the same again to go on"
        ):
            write_all(self._lines.fileno(), content)
            flush(self._lines.fileno())
            self._note(str(self._lines.tell()))
        self.done += 1

    def _note(self, text: str) -> None:
        write_all(self._progress.fileno(), text.encode() + b"\n")


def remove_finished(path: Path) -> None:
    """Remove a finished file that is no longer needed, and its progress file."""
    path.with_name(path.name + ENDING).unlink(missing_ok=True)
    path.unlink(missing_ok=True)


def _complete_lines(path: Path) -> list[str]:
    """The complete lines of a file; none if there is no file."""
    content = path.read_bytes() if path.exists() else b""
    end = content.rfind(b"\n") + 1
    return content[:end].decode(errors="replace").splitlines()
