"""
A case base as one file: facts, settings and counts, as arrays in an uncompressed `.npz` with a format version.

Names are UTF-8 bytes with offsets, facts are rows of ids, settings are JSON. Nothing in the file is code. The file is
written beside its destination and moved into place when it is whole, so a crash leaves the old one or the new one.
"""

import json
import os
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from casegraph.answering import Cases
from casegraph.arrays import Interner
from casegraph.errors import CasegraphError, IncompatibleFile, UnreadableFile
from casegraph.graph import Graph
from casegraph.paths import unpacked
from casegraph.profiles import Profiles
from casegraph.recounting import PathCounts
from casegraph.settings import Settings

FORMAT = 1
COLUMNS = ("types", "hits", "reached", "right")

Arrays = dict[str, npt.NDArray[Any]]


def save(cases: Cases, path: Path) -> None:
    """Write `cases` to `path`, all or nothing."""
    header = {"format": np.array([FORMAT]), **_settings_out(cases.settings)}
    write_arrays(path, {**header, **_graph_out(cases.graph), **_counts_out(cases)})


def write_arrays(path: Path, arrays: Arrays) -> None:
    """Write arrays to `path` by their names, all or nothing."""
    with whole(path) as file:
        np.savez(file, allow_pickle=False, **arrays)


@contextmanager
def whole(path: Path) -> Iterator[BinaryIO]:
    """A file to write to that takes the place of `path` when it is whole, and else leaves no trace."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with beside.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        raise UnreadableFile(str(path), f"cannot be written ({error.strerror}); choose another place") from error
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def load(path: Path) -> Cases:
    """Read what `save` wrote; the answers are those of the case base that was saved."""
    arrays = read_arrays(path, "a saved case base", FORMAT)
    try:
        settings = Settings(**json.loads(arrays["settings"].tobytes()))
        graph = _graph_in(arrays)
        cases = Cases(graph, Profiles(), settings)
        cases.profiles.refresh(graph, np.arange(len(graph.entities), dtype=np.int32))
        _counts_in(cases, arrays)
    except (KeyError, ValueError, TypeError, IndexError, RecursionError, CasegraphError) as error:
        raise damaged(path, error) from error
    return cases


def read_arrays(path: Path, kind: str, form: int) -> Arrays:
    """Read what `write_arrays` wrote: a file of this kind and format version."""
    try:
        if not zipfile.is_zipfile(path):
            path.open("rb").close()
            raise IncompatibleFile(str(path), f"is not {kind}, or only a part of one; build it again from its facts")
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:  # numpy leaks one it opened itself
            arrays = {name: file[name] for name in file.files}
    except OSError as error:
        raise UnreadableFile(str(path), f"cannot be read ({error.strerror}); check the name") from error
    except (zipfile.BadZipFile, zlib.error, ValueError, EOFError, KeyError, RuntimeError) as error:
        raise damaged(path, error) from error
    version = arrays.get("format", np.array([0]))
    if version.shape != (1,) or version[0] != form:
        found = version.ravel()[0] if version.size else "none"
        raise IncompatibleFile(
            str(path), f"has format {found}, this casegraph reads format {form}; build it again from its facts"
        )
    return arrays


def damaged(path: Path, error: Exception) -> IncompatibleFile:
    """What to raise at content that cannot be."""
    return IncompatibleFile(str(path), f"is damaged ({error}); build it again from its facts")


def _settings_out(settings: Settings) -> Arrays:
    return {"settings": np.frombuffer(json.dumps(settings.as_dict()).encode(), dtype=np.uint8)}


def _graph_out(graph: Graph) -> Arrays:
    facts = np.concatenate(
        [np.empty((0, 3), dtype=np.int32), *(graph.rows(2 * k) for k in range(len(graph.relations)))]
    )
    return {"facts": facts, **_names_out("entity", graph.entities), **_names_out("relation", graph.relations)}


def _graph_in(arrays: Arrays) -> Graph:
    facts = arrays["facts"]
    if facts.ndim == 2 and (facts[:, 1] % 2).any():
        raise ValueError("a fact has the inverse of a relation")
    return Graph.of_rows(_names_in("entity", arrays), _names_in("relation", arrays), facts)


def _names_out(kind: str, names: Interner) -> Arrays:
    encoded = [name.encode() for name in names.names]
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    return {f"{kind}_names": np.frombuffer(b"".join(encoded), dtype=np.uint8), f"{kind}_offsets": offsets}


def _names_in(kind: str, arrays: Arrays) -> Interner:
    content, offsets = arrays[f"{kind}_names"].tobytes(), arrays[f"{kind}_offsets"].tolist()
    names = Interner(content[start:end].decode() for start, end in pairwise(offsets))
    if len(names) != len(offsets) - 1:
        raise ValueError(f"{kind} names repeat")
    return names


def _counts_out(cases: Cases) -> Arrays:
    counted = cases.statistics.counted
    relations = np.array(sorted(counted), dtype=np.int32)
    sizes = np.cumsum([0, *(len(counted[relation].types) for relation in relations.tolist())], dtype=np.int64)
    columns = {
        column: np.concatenate(
            [np.zeros(0, dtype=np.int64), *(getattr(counted[relation], column) for relation in relations.tolist())]
        )
        for column in COLUMNS
    }
    return {"counted": relations, "counted_offsets": sizes, **columns}


def _counts_in(cases: Cases, arrays: Arrays) -> None:
    offsets, n = arrays["counted_offsets"].tolist(), cases.settings.max_length
    _check_counts(arrays, cases.graph.directions, n)
    for place, relation in enumerate(arrays["counted"].tolist()):
        rows = slice(offsets[place], offsets[place + 1])
        cases.statistics.counted[relation] = PathCounts(*(arrays[column][rows] for column in COLUMNS))


def _check_counts(arrays: Arrays, directions: int, max_length: int) -> None:
    types, offsets = arrays["types"], arrays["counted_offsets"]
    if any(arrays[column].dtype != np.int64 or arrays[column].shape != types.shape for column in COLUMNS):
        raise ValueError("counts are not whole numbers, one for each path type")
    if any((arrays[column] < 0).any() for column in COLUMNS):
        raise ValueError("a count or a path type is below zero")
    if not all(
        0 <= relation < directions for number in types.tolist() for relation in unpacked(number, max_length) or [-1]
    ):
        raise ValueError("a path type names a relation that does not exist")
    relations = arrays["counted"].tolist()
    if relations != sorted(set(relations)) or not all(0 <= relation < directions for relation in relations):
        raise ValueError("counts are of a relation that does not exist")
    ends = offsets[[0, -1]].tolist() if len(offsets) else []
    if len(offsets) != len(relations) + 1 or ends != [0, len(types)] or (np.diff(offsets) < 0).any():
        raise ValueError("counts do not belong to their relations")
    if any((np.diff(types[start:end]) <= 0).any() for start, end in pairwise(offsets.tolist())):
        raise ValueError("path types are out of order")
