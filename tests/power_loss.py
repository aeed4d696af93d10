"""
What a disk may hold after the power fails: all that was flushed, and any part of what was not.

A `Recorder` notes every call that changes what is on disk.
`Recorder.disk` says what may be found when the power fails after some of them:
of the bytes written to a file since it was last flushed any writes may be missing, cut short, or
zeros in part;
of the names changed in a folder since it was last flushed, the last ones may be.
"""

import os
from collections.abc import Callable
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

NAMING = ("create", "mkdir", "replace", "rename", "unlink", "rmdir")


class Event(NamedTuple):
    """Something done: to a file, by its number, or to the names
    in a folder; or an acknowledgement.
    """

    doing: str
    of: Any
    given: tuple[Any, ...] = ()


class Disk(NamedTuple):
    """What is on disk.

    files         the path of each file with its content, and of each folder with None; a folder
                  comes before what is in it
    acknowledged  how many updates were acknowledged by then
    """

    files: tuple[tuple[str, bytes | None], ...]
    acknowledged: int

    def write(self, root: Path, into: Path) -> None:
        """Make the files that were below `root` in another folder.

        A file whose folder is lost is lost.
        """
        for path, content in self.files:
            target = into / Path(path).relative_to(root)
            if content is None:
                target.mkdir(exist_ok=True)
            elif target.parent.is_dir():
                target.write_bytes(content)


class Recorder:
    """What was done below a folder, in order."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.calls = 0
        self._files: dict[Path, int] = {}
        self._opened: dict[int, int | Path] = {}
        self._numbers = count()

    def __call__(self, name: str, real: Callable[..., Any], *given: Any) -> object:
        """Do it, and note it."""
        self.calls += 1
        offset = os.lseek(given[0], 0, os.SEEK_CUR) if name == "write" else 0
        existed = name == "open" and Path(given[0]).exists()
        done = real(*given)
        if name == "open":
            self._open(Path(given[0]), given[1], done, existed=existed)
        elif name == "fsync":
            self._note("flush", self._opened[given[0]])
        elif name == "write":
            self._note("write", self._opened[given[0]], offset, bytes(given[1])[:done])
        elif name == "ftruncate":
            self._note("ftruncate", self._opened[given[0]], offset, given[1])
        elif name == "mkdir":
            self._rename("mkdir", Path(given[0]))
        else:
            self._rename(name, *map(Path, given))
        return done

    def acknowledge(self, number: int) -> None:
        """Note that an update was acknowledged, and after which call."""
        self._note("acknowledge", number, self.calls)

    def disk(self, until: int, random: Random) -> "Disk":
        """What may be on disk if the power fails after so many events."""
        events = self.events[:until]
        names = dict[str, int | None]()
        contents = dict[int, bytearray]()
        lasting = _lasting(events, random)
        for place, event in enumerate(events):
            if event.doing in ("write", "ftruncate"):
                content = contents.setdefault(event.of, bytearray())
                _change(content, event, lasting(place), random)
            elif event.doing in NAMING and lasting(place):
                _name(names, event)

        found = [
            (path, None if number is None else bytes(contents.get(number, b"")))
            for path, number in names.items()
        ]
        acknowledged = [event.of for event in events if event.doing == "acknowledge"]
        return Disk(tuple(sorted(found)), max(acknowledged, default=0))

    def _open(self, path: Path, flags: int, opened: int, *, existed: bool) -> None:
        if path.is_dir():
            self._opened[opened] = path
            return
        if not existed:
            self._files[path] = next(self._numbers)
            self._note("create", path.parent, str(path), self._files[path])
        elif flags & os.O_TRUNC:
            self._note("ftruncate", self._files[path], 0, 0)
        self._opened[opened] = self._files[path]

    def _rename(self, name: str, path: Path, *to: Path) -> None:
        self._note(name, path.parent, str(path), *map(str, to))
        inside = [known for known in self._files if known.is_relative_to(path)]
        for known in inside:
            number = self._files.pop(known)
            if to:
                self._files[to[0] / known.relative_to(path)] = number

    def _note(self, doing: str, of: object, *given: object) -> None:
        self.events.append(Event(doing, of, given))


def _lasting(events: list[Event], random: Random) -> Callable[[int], bool]:
    """Whether what was done at a place is on disk:
    all before the last flush of its file or folder, some after it.
    """
    flushed = {
        event.of: place for place, event in enumerate(events) if event.doing == "flush"
    }
    pending: dict[Any, list[int]] = {}
    for place, event in enumerate(events):
        if event.doing not in ("flush", "acknowledge") and place > flushed.get(
            event.of, -1
        ):
            pending.setdefault(event.of, []).append(place)
    lost: set[int] = set()
    for of, places in pending.items():
        if isinstance(of, Path):
            lost.update(places[random.randint(0, len(places)) :])
        else:
            lost.update(place for place in places if random.random() < 0.5)
    return lambda place: place not in lost


def _change(content: bytearray, event: Event, lasts: bool, random: Random) -> None:
    offset, given = event.given
    if event.doing == "ftruncate":
        if lasts:
            del content[given:]
        return
    written = given if lasts else _torn(given, random)
    if written:
        content.extend(bytes(max(0, offset - len(content))))
        content[offset : offset + len(written)] = written


def _torn(given: bytes, random: Random) -> bytes:
    """What may be there of bytes that were written and not flushed: nothing, their beginning,
    or, if the file has grown before they came, zeros in the place of some of them.
    """
    start, end = sorted(random.choices(range(len(given) + 1), k=2))
    kinds = [b"", given[:end], given[:start] + bytes(end - start) + given[end:]]
    return random.choice(kinds)


def _name(names: dict[str, int | None], event: Event) -> None:
    path, *more = event.given
    if event.doing in ("create", "mkdir"):
        names[path] = more[0] if more else None
        return
    inside = [
        known for known in names if known == path or known.startswith(path + os.sep)
    ]
    for known in inside:
        number = names.pop(known)
        if more:
            names[more[0] + known.removeprefix(path)] = number
