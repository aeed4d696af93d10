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

from casegraph.arrays import Counts, Ids, joined
from casegraph.clusters import tree
from casegraph.clusters.assignment import Clusters, depends_on_history
from casegraph.counting import PathCounts
from casegraph.errors import CasegraphError, IncompatibleFile, UnreadableFile
from casegraph.graph import Graph
from casegraph.names import Names
from casegraph.paths import are_path_types
from casegraph.profiles import Profiles
from casegraph.settings import Settings
from casegraph.state import State

FORMAT = 2
COLUMNS = ("types", "hits", "reached", "right", "left_out")

Arrays = dict[str, npt.NDArray[Any]]


def save(state: State, path: Path) -> None:
    """Write `state` to `path`, all or nothing."""
    write_arrays(path, {"format": np.array([FORMAT]), **arrays_of(state)})


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


def load(path: Path) -> State:
    """Read what `save` wrote; the answers are those of the case base that was saved."""
    arrays = read_arrays(path, "a saved case base", FORMAT)
    try:
        state = state_in(graph_in(arrays), arrays, settings_in(arrays))
        counts_in(state, arrays)
    except (KeyError, ValueError, TypeError, IndexError, RecursionError, CasegraphError) as error:
        raise damaged(path, error) from error
    return state


def arrays_of(state: State) -> Arrays:
    """Facts, settings and counts."""
    shape = _clusters_out(state)
    return {**_settings_out(state.settings), **_graph_out(state.graph), **shape, **_counts_out(state)}


def state_in(graph: Graph, arrays: Arrays, settings: Settings) -> State:
    """The state of a graph, with the clusters that `arrays_of` put there if they depend on history."""
    profiles = Profiles.of_graph(graph)
    clusters = _clusters_in(arrays, profiles, settings)
    return State.of(graph, settings, profiles=profiles, clusters=clusters)


def settings_in(arrays: Arrays) -> Settings:
    """The settings that `arrays_of` put there."""
    return Settings(**json.loads(arrays["settings"].tobytes()))


def graph_in(arrays: Arrays) -> Graph:
    """The graph that `arrays_of` put there; `ValueError` if there is none."""
    facts = arrays["facts"]
    if facts.ndim == 2 and (facts[:, 1] % 2).any():
        raise ValueError("a fact has the inverse of a relation")
    return Graph.of_rows(_names_in("entity", arrays), _names_in("relation", arrays), facts)


def counts_in(state: State, arrays: Arrays) -> None:
    """Give state the counts that `arrays_of` put there; `ValueError` if they are none of this graph."""
    _check_counts(arrays, state.graph.directions, state.settings.max_length)
    offsets, counted = arrays["offsets"].tolist(), set(arrays["counted"].tolist())
    if not len(arrays["longest"]):
        return
    hits: dict[int, tuple[Counts, Counts]] = {}
    known: dict[int, PathCounts] = {}
    for relation, (start, end) in enumerate(pairwise(offsets)):
        rows = PathCounts(*(arrays[column][start:end] for column in COLUMNS))
        hits[relation] = (rows.types, rows.hits)
        if relation in counted:
            known[relation] = rows
    longest, spare = arrays["longest"].tolist()
    state.statistics.restore(longest, spare, hits, known)


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


def fact_rows(graph: Graph) -> Ids:
    """Every fact as a row (head, relation, tail) of ids."""
    return np.concatenate([np.empty((0, 3), dtype=np.int32), *map(graph.rows, range(0, graph.directions, 2))])


def _graph_out(graph: Graph) -> Arrays:
    return {
        "facts": fact_rows(graph),
        **_names_out("entity", graph.entities),
        **_names_out("relation", graph.relations),
    }


def _names_out(kind: str, names: Names) -> Arrays:
    encoded = [name.encode(errors="surrogatepass") for name in names.names]
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    return {f"{kind}_names": np.frombuffer(b"".join(encoded), dtype=np.uint8), f"{kind}_offsets": offsets}


def _names_in(kind: str, arrays: Arrays) -> Names:
    content, offsets = arrays[f"{kind}_names"].tobytes(), arrays[f"{kind}_offsets"].tolist()
    names = Names([content[start:end].decode(errors="surrogatepass") for start, end in pairwise(offsets)])
    if len(names) != len(offsets) - 1:
        raise ValueError(f"{kind} names repeat")
    return names


def _clusters_out(state: State) -> Arrays:
    """The shape of the tree, if it depends on history; other clusters are made again from the facts."""
    grown = state.clusters.tree if depends_on_history(state.settings) else None
    return {} if grown is None else {"clusters": tree.written(grown, state.profiles)}


def _clusters_in(arrays: Arrays, profiles: Profiles, settings: Settings) -> Clusters | None:
    if not depends_on_history(settings) or not arrays:
        return None
    return Clusters.cut(tree.read(arrays["clusters"], profiles), profiles, settings)


def _counts_out(state: State) -> Arrays:
    """What is counted: the path types of all relations, a row each, and for which relations what they reach."""
    statistics = state.statistics
    counted = sorted(statistics.counted) if statistics.longest is not None else []
    directions = range(state.graph.directions if statistics.longest is not None else 0)
    rows = [statistics.counted[k] if k in counted else PathCounts.of_hits(*statistics.hits_of(k)) for k in directions]
    return {
        "counted": np.array(counted, dtype=np.int32),
        "longest": joined([]) if statistics.longest is None else np.array([statistics.longest, statistics.spare]),
        "offsets": np.cumsum([0, *(len(row.types) for row in rows)], dtype=np.int64),
        **{column: joined(getattr(row, column) for row in rows) for column in COLUMNS},
    }


def _check_counts(arrays: Arrays, directions: int, max_length: int) -> None:
    types, offsets, longest = arrays["types"], arrays["offsets"], arrays["longest"]
    if any(arrays[column].dtype != np.int64 or arrays[column].shape != types.shape for column in COLUMNS):
        raise ValueError("counts are not whole numbers, one for each path type")
    if any((arrays[column] < 0).any() for column in COLUMNS):
        raise ValueError("a count or a path type is below zero")
    if not are_path_types(types, directions, max_length):
        raise ValueError("a path type names a relation that does not exist")
    relations = arrays["counted"].tolist()
    if relations != sorted(set(relations)) or not all(0 <= relation < directions for relation in relations):
        raise ValueError("counts are of a relation that does not exist")
    if longest.shape not in ((0,), (2,)) or longest.dtype != np.int64 or not (longest[:1] <= max_length).all():
        raise ValueError("it is not said which paths are counted")
    ends, size = offsets[[0, -1]].tolist() if len(offsets) else [], directions + 1 if len(longest) else 1
    if len(offsets) != size or ends != [0, len(types)] or (np.diff(offsets) < 0).any():
        raise ValueError("counts do not belong to their relations")
    if any((np.diff(types[start:end]) <= 0).any() for start, end in pairwise(offsets.tolist())):
        raise ValueError("path types are out of order")
