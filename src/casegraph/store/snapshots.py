"""
Generations: the state of a store after some update, as arrays in files that are never changed.

A generation is derived from the log, and spares replaying it and counting again. It is written beside the others and
renamed when it is whole; its `manifest` has the digest of each file, and of the log up to there. One that is damaged,
or of another format, is not used.
"""

import json
import logging
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from casegraph.saving import Arrays, arrays_of
from casegraph.state import State
from casegraph.store.disk import flush_folder, write_file
from casegraph.store.log import Log, log_path, logs
from casegraph.store.records import DIGEST, Position, digest

FORMAT = 3  # of the arrays, and of what is counted: a generation of another is made anew
WITHOUT_SERIALS = 2  # an earlier format, which can still be read: the ids of names are their serial numbers
MANIFEST = "manifest"
PREFIX, UNFINISHED = "generation-", "generation.new"
UNUSABLE = (OSError, ValueError, KeyError, TypeError)  # what reading a damaged generation leads to

told = logging.getLogger("casegraph.store")


class Snapshot(NamedTuple):
    """A generation: whose it is, after which update, the size and the digest of the log up to there; its arrays."""

    path: Path
    store: str
    start: int
    sequence: int
    size: int
    log: str
    arrays: Arrays

    def position(self, log: Log) -> Position | None:
        """Where the log goes on after this; None if this was not made of the log as it is."""
        store, start, *_ = log.beginning
        if (self.store, self.start) != (store.hex(), start) or digest(log.content[: self.size]).hex() != self.log:
            return None
        return Position(store, start, self.sequence, self.size, log.content[self.size - DIGEST : self.size])


def generations(folder: Path) -> list[Path]:
    """The folders of all generations, newest first."""
    found = [path for path in folder.glob(f"{PREFIX}*") if path.name.removeprefix(PREFIX).isdecimal()]
    return sorted(found, key=_number, reverse=True)


def newest(log: Log, until: int) -> tuple[Snapshot, Position] | None:
    """The newest generation that is whole, was made of the log, and no later than an update; where the log goes on."""
    for path in generations(log.path.parent):
        try:
            found = read(path)
        except FileNotFoundError:  # another process has just removed it
            continue
        except UNUSABLE as error:
            told.warning("%s: is damaged (%s), so it is not used; 'casegraph compact' makes it anew", path, error)
            continue
        if found is not None and found.sequence <= until and (position := found.position(log)) is not None:
            return found, position
    return None


def read(path: Path) -> Snapshot | None:
    """The generation in a folder, if it is of our format; one of `UNUSABLE` is raised if it is damaged."""
    content, _, its_digest = (path / MANIFEST).read_bytes().rpartition(b"\n")
    if digest(content).hex().encode() != its_digest:
        raise ValueError(f"{MANIFEST} is not as it was written")
    manifest: dict[str, Any] = json.loads(content)
    if manifest["format"] not in (FORMAT, WITHOUT_SERIALS):
        return None
    store, start, sequence, size, its_log = manifest["of"]
    arrays = {name: _read_array(path, name, sums) for name, sums in manifest["files"].items()}
    return Snapshot(path, store, start, sequence, size, its_log, arrays)


def write(folder: Path, state: State, position: Position) -> None:
    """Make a generation of the state at a position, which is the end of the log, and remove what it replaces."""
    beside, path = folder / UNFINISHED, folder / f"{PREFIX}{max(map(_number, generations(folder)), default=0) + 1:06}"
    if beside.exists():
        _remove(beside)
    beside.mkdir()
    files = {name: _write_array(beside, name, array) for name, array in _arrays(state).items()}
    its_log = digest(log_path(folder, position.start).read_bytes()[: position.size]).hex()
    of = [position.store.hex(), position.start, position.sequence, position.size, its_log]
    manifest = json.dumps({"format": FORMAT, "of": of, "files": files}).encode()
    write_file(beside / MANIFEST, manifest + b"\n" + digest(manifest).hex().encode())
    flush_folder(beside)
    beside.rename(path)
    flush_folder(folder)
    remove_others(folder, path, log_path(folder, position.start))


def _arrays(state: State) -> Arrays:
    """All that a state holds, and the numbers that its names have in the log."""
    numbers: Arrays = {}
    for kind, names in (("entity", state.graph.entities), ("relation", state.graph.relations)):
        numbers[f"{kind}_serials"] = names.serials()
        numbers[f"{kind}_arrived"] = np.array([names.arrived])
    return {**arrays_of(state), **numbers}


def remove_others(folder: Path, *kept: Path) -> None:
    """Remove every generation and every log but those to keep; what cannot be removed stays, and is not used."""
    for path in [*generations(folder), *logs(folder)]:
        if path not in kept:
            with suppress(OSError):
                _remove(path)


def _remove(path: Path) -> None:
    if path.is_dir():
        for file in sorted(path.iterdir(), key=lambda file: file.name != MANIFEST):  # first, so that none looks damaged
            file.unlink()
        path.rmdir()
    else:
        path.unlink()


def _number(path: Path) -> int:
    return int(path.name.removeprefix(PREFIX))


def _write_array(folder: Path, name: str, array: npt.NDArray[Any]) -> tuple[int, str]:
    file = BytesIO()
    np.save(file, array, allow_pickle=False)
    content = file.getbuffer()
    write_file(folder / f"{name}.npy", content)
    return len(content), digest(content).hex()


def _read_array(folder: Path, name: str, sums: tuple[int, str]) -> npt.NDArray[Any]:
    file, (size, its_digest) = folder / f"{name}.npy", sums
    if file.stat().st_size != size or digest(file.read_bytes()).hex() != its_digest:
        raise ValueError(f"{file.name} is not as it was written")
    array: npt.NDArray[Any] = np.load(file, mmap_mode="r", allow_pickle=False)
    return array
