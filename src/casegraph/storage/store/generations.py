"""
Generations: the state of a store after some update, as arrays in files that never change.

Everything in a generation follows from the log. It exists to save time: with it, opening a store
need not replay the log up to there, nor count again. A generation that is damaged or has another
format is therefore not used, and nothing is lost.

A generation is a folder with a `.npy` file for each array of `case_files.arrays_beside_facts`
and `edge_arrays`, and a `manifest` with the size and the digest of each file and of the log up to
there. It is written under another name and renamed when it is complete, and renamed again before it
is removed. So a generation under its own name from which a file is missing is damaged.

Large files are mapped into memory, so opening a store takes as long as looking at them once.
"""

import json
import logging
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from casegraph.answering.state import State
from casegraph.disk import (
    flush_folder,
    is_folder,
    is_there,
    map_file,
    read_file,
    remove,
    write_file,
    writing,
)
from casegraph.errors import CasegraphError, UnreadableFile
from casegraph.storage.array_files import (
    CONTENT_ERRORS,
    AnyArray,
    Arrays,
    array_from_npy,
    npy_parts,
)
from casegraph.storage.case_files import arrays_beside_facts, check_arrays
from casegraph.storage.edge_arrays import edge_parts, edge_sizes
from casegraph.storage.store.log import Log, log_path, log_paths, numbered_paths
from casegraph.storage.store.records import DIGEST, Position, digest

# Of the arrays and of what is counted; generations of other formats are not used.
FORMAT = 5
MANIFEST = "manifest"
PREFIX = "generation-"
UNFINISHED = "generation.new"  # while it is being written
UNWANTED = "generation.old"  # while it is being removed
LONGEST_MANIFEST = 1 << 20  # bytes
GENERATION_ERRORS = (
    OSError,
    CasegraphError,
    *CONTENT_ERRORS,
)  # from reading a damaged generation

logger = logging.getLogger("casegraph.storage.store")


class Generation(NamedTuple):
    """A generation that was read, and what its manifest says about the log it was made from.

    path        its folder
    store       the id of the store, in hexadecimal digits
    start       the number of the update after which that log starts
    sequence    the number of the last update that is in the generation
    size        how many bytes of the log were there then
    log_digest  of these bytes, in hexadecimal digits
    arrays      the state
    """

    path: Path
    store: str
    start: int
    sequence: int
    size: int
    log_digest: str
    arrays: Arrays

    def position_in(self, log: Log) -> Position | None:
        """Where the log continues after this generation; None if it was made from another log."""
        store = log.beginning.store
        start = log.beginning.start
        if self.store != store.hex() or self.start != start:
            return None
        if self.size > len(log.content):
            return None
        content = memoryview(log.content)[: self.size]
        if digest(content).hex() != self.log_digest:
            return None
        last_digest = log.content[self.size - DIGEST : self.size]
        return Position(store, start, self.sequence, self.size, last_digest)


def generation_paths(folder: Path) -> list[Path]:
    """The folders of all generations of a store, newest first."""
    return numbered_paths(folder, PREFIX)


def newest(log: Log, until: int) -> tuple[Generation, Position] | None:
    """The newest usable generation that has no update after `until`, and where the log continues.

    A generation is usable if it is undamaged and was made from this log.
    """
    for path in generation_paths(log.path.parent):
        try:
            generation = read(path)
        except GENERATION_ERRORS as error:
            if is_there(path):  # else another process has just removed it
                logger.warning(
                    "%s: is damaged (%s), so it is not used; 'casegraph compact' rebuilds it",
                    path,
                    problem(error),
                )
            continue
        if generation is None or generation.sequence > until:
            continue
        position = generation.position_in(log)
        if position is not None:
            return generation, position
    return None


def read(path: Path) -> Generation | None:
    """The generation in a folder; None if it has another format.

    One of `GENERATION_ERRORS` is raised if it is damaged.
    """
    if not is_folder(path):
        raise ValueError("it is not a folder")
    manifest = _read_manifest(path)
    if manifest["format"] != FORMAT:
        return None

    made_from = manifest["of"]
    store, start, sequence, size, log_digest = made_from
    if [type(value) for value in made_from] != [str, int, int, int, str]:
        raise ValueError(f"{MANIFEST} does not say of which log it is")
    if min(start, sequence, size) < 0:
        raise ValueError(f"{MANIFEST} has a number below zero")

    files = manifest["files"].items()
    arrays = {name: _read_array(path, name, sums) for name, sums in files}
    check_arrays(arrays)
    return Generation(path, store, start, sequence, size, log_digest, arrays)


def problem(error: BaseException) -> str:
    """What is wrong with a generation, in words."""
    if isinstance(error, FileNotFoundError):
        return f"{Path(error.filename).name} is missing"
    return str(error)


def write(folder: Path, state: State, position: Position) -> None:
    """Write a state as a generation, and remove the generations and logs that it replaces.

    position  the end of the log; the state is the one after its last update
    """
    unfinished = folder / UNFINISHED
    try:
        with writing(unfinished):
            if is_there(unfinished):
                remove(unfinished)
            _write_unfinished(unfinished, state, position)
            path = folder / f"{PREFIX}{_next_number(folder):06}"
            unfinished.rename(path)
            flush_folder(folder)
    except UnreadableFile:
        with suppress(OSError):  # the disk may be full, and this is of no use
            remove(unfinished)
        raise
    remove_others(folder, path, log_path(folder, position.start))


def _write_unfinished(unfinished: Path, state: State, position: Position) -> None:
    """Write and flush all files of a generation into a new folder."""
    unfinished.mkdir()
    log = log_path(unfinished.parent, position.start)
    log_content = memoryview(map_file(log))[: position.size]
    log_digest = digest(log_content).hex()
    sizes = edge_sizes(state.graph)
    arrays = {**arrays_beside_facts(state), **sizes}
    parts = {name: [array] for name, array in arrays.items()} | edge_parts(state.graph)
    files = {}
    for name, array_parts in parts.items():
        files[name] = _write_array(unfinished, name, array_parts)
    store = position.store.hex()
    manifest = {
        "format": FORMAT,
        "of": [store, position.start, position.sequence, position.size, log_digest],
        "files": files,
    }
    _write_manifest(unfinished, manifest)
    flush_folder(unfinished)


def remove_others(folder: Path, *kept: Path) -> None:
    """Remove every generation and every log that is not to be kept.

    What cannot be removed stays; it is not used.
    """
    unwanted = folder / UNWANTED
    with suppress(OSError):
        if is_there(unwanted):
            remove(unwanted)
        for path in [*generation_paths(folder), *log_paths(folder)]:
            if path not in kept:
                path.rename(unwanted)
                flush_folder(folder)
                remove(unwanted)


def _next_number(folder: Path) -> int:
    numbers = [int(path.name.removeprefix(PREFIX)) for path in generation_paths(folder)]
    return max(numbers, default=0) + 1


def _read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest: a line of JSON and, on the next line, its digest."""
    content = read_file(folder / MANIFEST, LONGEST_MANIFEST)
    text, _, its_digest = content.rpartition(b"\n")
    if digest(text).hex().encode() != its_digest:
        raise ValueError(f"{MANIFEST} is not as it was written")
    manifest: dict[str, Any] = json.loads(text)
    return manifest


def _write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    text = json.dumps(manifest).encode()
    write_file(folder / MANIFEST, text + b"\n" + digest(text).hex().encode())


def _write_array(folder: Path, name: str, parts: Sequence[AnyArray]) -> tuple[int, str]:
    """Write arrays, joined, to a file of their own; returns the size and the digest of the file."""
    pieces = list(npy_parts(parts))
    write_file(folder / f"{name}.npy", *pieces)
    return sum(map(len, pieces)), digest(*pieces).hex()


def _read_array(folder: Path, name: str, size_and_digest: tuple[int, str]) -> AnyArray:
    """Read what `_write_array` wrote."""
    if not name.isidentifier():
        raise ValueError(f"{MANIFEST} names a file that no generation has")
    file = folder / f"{name}.npy"
    size, its_digest = size_and_digest
    content = map_file(file, most=size)
    if digest(content).hex() != its_digest:
        raise ValueError(f"{file.name} is not as it was written")
    return array_from_npy(name, content)
