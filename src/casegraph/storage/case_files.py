"""
A case base as one file: facts, settings and counts, as arrays in an uncompressed `.npz` with a format version.

Names are UTF-8 bytes with offsets, facts are rows of ids, settings are JSON. Nothing in the file is code. The file is
written beside its destination and moved into place when it is whole, so a crash leaves the old one or the new one.

Reading trusts nothing: what the list of contents and the header of each array declare is compared with the size of the
file before memory is taken for it, a digest of all arrays is compared with the one that was written, and arrays are
checked against each other before anything is made of them. Files of counts and the generations of a store hold such
arrays too, and are read by the same functions.
"""

import errno
import json
import math
import os
import re
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from secrets import token_hex
from typing import Any, BinaryIO
from zlib import crc32

import numpy as np
import numpy.typing as npt

from casegraph.answering.state import State
from casegraph.errors import CasegraphError, IncompatibleFile, UnreadableFile
from casegraph.graph.arrays import Counts, Ids, joined
from casegraph.graph.graph import Graph
from casegraph.graph.names import Names
from casegraph.settings import Settings
from casegraph.similarity.clusters import tree
from casegraph.similarity.clusters.assignment import Clusters, depends_on_history
from casegraph.similarity.profiles import Profiles
from casegraph.statistics.counts import PathCounts
from casegraph.statistics.path_types import are_path_types, lengths
from casegraph.storage.disk import create_file, flush, flush_folder, open_file, size_of

FORMAT = 3
COLUMNS = ("types", "hits", "reached", "right", "left_out")
DIGEST = "digest"  # the array with the digest of all others; files of the format before have none
MOST_ARRAYS = 64  # in a file
# What making something of arrays leads to that are not as they should be.
WRONG = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError, struct.error)

AnyArray = npt.NDArray[Any]
Arrays = dict[str, AnyArray]

# Of a member of a zip file: how it begins, the bytes of its name, and of what follows the name.
_LOCAL_HEADER = struct.Struct("<4s22xHH")
_NAMES_ARE_UTF8 = 0x800  # a flag of a member
_ARRAY = re.compile(
    rb"\x93NUMPY\x01\x00.."
    rb"{'descr': '([<>|][iuf][1248])', 'fortran_order': (True|False), 'shape': \(([0-9, ]{0,99})\), } *\n",
    re.DOTALL,
)


def save(state: State, path: Path) -> None:
    """Write `state` to `path`, all or nothing."""
    write_arrays(path, FORMAT, arrays_of(state))


def write_arrays(path: Path, form: int, arrays: Arrays) -> None:
    """Write arrays to `path` by their names, with a format version and a digest, all or nothing."""
    versioned = {"format": np.array([form]), **arrays}
    with whole(path) as file:
        np.savez(file, allow_pickle=False, **versioned, **{DIGEST: digest_of(versioned)})


@contextmanager
def whole(path: Path) -> Iterator[BinaryIO]:
    """A file to write to that takes the place of `path` when it is whole and lasts, and else leaves no trace."""
    beside = path.with_name(f".{path.name}.{token_hex(4)}")
    try:
        with os.fdopen(create_file(beside), "wb") as file:
            yield file
            file.flush()
            flush(file.fileno())
        beside.replace(path)
        flush_folder(path.parent)
    except OSError as error:
        raise UnreadableFile(str(path), f"cannot be written ({error.strerror}); choose another place") from error
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def load(path: Path) -> State:
    """Read what `save` wrote; the answers are those of the case base that was saved."""
    arrays = read_arrays(path, "a saved case base", FORMAT)
    try:
        check_arrays(arrays)
        state = state_in(graph_in(arrays), arrays, settings_in(arrays))
        counts_in(state, arrays)
    except (CasegraphError, *WRONG) as error:
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
    return Settings(**json.loads(_row("settings", arrays, np.uint8).tobytes()))


def graph_in(arrays: Arrays) -> Graph:
    """The graph that `arrays_of` put there; `ValueError` if there is none."""
    facts = arrays["facts"]
    graph = Graph.of_rows(_names_in("entity", arrays), _names_in("relation", arrays), facts)
    if len(graph) != len(facts):
        raise ValueError("facts repeat")
    return graph


def check_arrays(arrays: Arrays) -> None:
    """`ValueError`, or another of `WRONG`, unless these are arrays of `arrays_of`, as far as that is quick to see."""
    settings = settings_in(arrays)
    entities, relations = (len(_offsets_in(kind, arrays)) - 1 for kind in ("entity", "relation"))
    facts = arrays["facts"]
    if facts.dtype != np.int32 or facts.ndim != 2 or facts.shape[1] != 3:
        raise ValueError("facts are not rows of three ids")
    if (facts < 0).any() or (facts >= [entities, 2 * relations, entities]).any():
        raise ValueError("facts name entities or relations that do not exist")
    if (facts[:, 1] % 2).any():
        raise ValueError("a fact has the inverse of a relation")
    _check_counts(arrays, 2 * relations, settings)


def counts_in(state: State, arrays: Arrays) -> None:
    """Give a state the counts that `arrays_of` put there; `check_arrays` has checked them."""
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
    longest, headroom = arrays["longest"].tolist()
    state.statistics.restore(longest, headroom, hits, known)


def read_arrays(path: Path, kind: str, form: int) -> Arrays:
    """Read what `write_arrays` wrote: a file of this kind and format version, or of the version before."""
    try:
        with os.fdopen(open_file(path, may_be_link=True), "rb") as file:
            size = size_of(file.fileno(), path)
            if not zipfile.is_zipfile(file):
                problem = f"is not {kind}, or only a part of one; build it again from its facts"
                raise IncompatibleFile(str(path), problem)
            arrays = {name: array_in(name, content) for name, content in _members(file, size)}
    except OSError as error:
        if error.errno == errno.EINVAL:  # it names a place before its beginning
            raise damaged(path, error) from error
        raise UnreadableFile(str(path), f"cannot be read ({error.strerror}); check the name") from error
    except (zipfile.BadZipFile, EOFError, RuntimeError, *WRONG) as error:
        raise damaged(path, error) from error
    _check_version(path, arrays, form)
    return arrays


def array_in(name: str, content: bytes) -> AnyArray:
    """The array that the bytes of a `.npy` file hold, without a copy; `ValueError` unless they hold just that."""
    found = _ARRAY.match(content)
    if found is None:
        raise ValueError(f"{name} is not an array of numbers")
    dtype = np.dtype(found[1].decode())
    shape = [int(length) for length in found[3].replace(b" ", b"").split(b",") if length]
    if math.prod(shape) * dtype.itemsize != len(content) - found.end():
        raise ValueError(f"{name} has another size than it says")
    return np.ndarray(shape, dtype, content, found.end(), order="F" if found[2] == b"True" else "C")


def bytes_of(array: AnyArray) -> memoryview:
    """An array as the bytes of a `.npy` file."""
    file = BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getbuffer()


def digest_of(arrays: Arrays) -> AnyArray:
    """A digest of arrays: of the name, the type, the shape and the content of each, whatever their order."""
    sums = blake2b(digest_size=32)
    for name, array in sorted(arrays.items()):
        if name != DIGEST:
            described = json.dumps([name, array.dtype.str, array.shape])
            sums.update(f"{len(described)} {described}".encode())
            sums.update(array.tobytes())
    return np.frombuffer(sums.digest(), dtype=np.uint8)


def _members(file: BinaryIO, size: int) -> Iterator[tuple[str, bytes]]:
    """The name and the bytes of each member of a zip file as we write it: none packed, and all within the file."""
    with zipfile.ZipFile(file) as listed:
        members = listed.infolist()
    names = [member.filename.removesuffix(".npy") for member in members]
    if len(members) > MOST_ARRAYS or len(set(names)) < len(names):
        raise ValueError("it has too many arrays, or two of one name")
    if sum(member.file_size for member in members) > size:
        raise ValueError("its arrays would be larger than the file")
    for name, member in zip(names, members, strict=True):
        yield name, _member(file, member)


def _member(file: BinaryIO, member: zipfile.ZipInfo) -> bytes:
    is_packed = member.compress_type != zipfile.ZIP_STORED or member.compress_size != member.file_size
    if is_packed or member.flag_bits & ~_NAMES_ARE_UTF8:
        raise ValueError(f"{member.filename} is packed or encrypted")
    file.seek(max(0, member.header_offset))
    begins, name, extra = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
    if begins != b"PK\3\4" or file.read(name) != member.orig_filename.encode():
        raise ValueError(f"{member.filename} is not where it should be")
    file.seek(extra, os.SEEK_CUR)
    content = file.read(member.file_size)
    if len(content) != member.file_size or crc32(content) != member.CRC:
        raise ValueError(f"{member.filename} is not as it was written")
    return content


def _check_version(path: Path, arrays: Arrays, form: int) -> None:
    version = arrays.get("format", np.array([0]))
    found = int(version[0]) if version.shape == (1,) and version.dtype == np.int64 else 0
    if found not in (form - 1, form):
        known = f"this casegraph reads formats {form - 1} and {form}"
        raise IncompatibleFile(str(path), f"has format {found}, {known}; build it again from its facts")
    if (DIGEST in arrays) != (found == form):
        raise damaged(path, ValueError("its digest is missing, or not of its format"))
    if found == form and not np.array_equal(arrays.pop(DIGEST), digest_of(arrays)):
        raise damaged(path, ValueError("its digest is of other content"))


def damaged(path: Path, error: Exception) -> IncompatibleFile:
    """What to raise at content that cannot be."""
    problem = " ".join(str(error).split()) or type(error).__name__
    return IncompatibleFile(str(path), f"is damaged ({problem}); build it again from its facts")


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
    content, offsets = arrays[f"{kind}_names"].tobytes(), _offsets_in(kind, arrays).tolist()
    names = Names([content[start:end].decode(errors="surrogatepass") for start, end in pairwise(offsets)])
    if len(names) != len(offsets) - 1:
        raise ValueError(f"{kind} names repeat")
    return names


def _offsets_in(kind: str, arrays: Arrays) -> Counts:
    """Where each name begins, and the end of the last."""
    content = _row(f"{kind}_names", arrays, np.uint8)
    return _offsets(f"{kind}_offsets", arrays, len(content))


def _offsets(name: str, arrays: Arrays, end: int) -> Counts:
    """Numbers that begin with 0, never fall, and end with the given one."""
    offsets: Counts = _row(name, arrays, np.int64)
    if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != end or (np.diff(offsets) < 0).any():
        raise ValueError(f"{name} do not divide what they should")
    return offsets


def _row(name: str, arrays: Arrays, dtype: type[np.generic]) -> AnyArray:
    """An array of one dimension."""
    found = arrays.get(name)
    if found is None:
        raise ValueError(f"{name} are missing")
    if found.dtype != dtype or found.ndim != 1:
        raise ValueError(f"{name} are not a row of {np.dtype(dtype).name}")
    return found


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
        "longest": joined([]) if statistics.longest is None else np.array([statistics.longest, statistics.headroom]),
        "offsets": np.cumsum([0, *(len(row.types) for row in rows)], dtype=np.int64),
        **{column: joined(getattr(row, column) for row in rows) for column in COLUMNS},
    }


def _check_counts(arrays: Arrays, directions: int, settings: Settings) -> None:
    types, *columns = (_row(column, arrays, np.int64) for column in COLUMNS)
    check_rows(types, dict(zip(COLUMNS[1:], columns, strict=True)), directions, settings.max_length)
    counted = _row("counted", arrays, np.int32)
    if (np.diff(counted) <= 0).any() or not ((counted >= 0) & (counted < directions)).all():
        raise ValueError("counts are of a relation that does not exist")
    longest = _row("longest", arrays, np.int64).tolist()
    offsets = _offsets("offsets", arrays, len(types))
    if len(offsets) != (directions + 1 if longest else 1) or (len(counted) and not longest):
        raise ValueError("counts do not belong to their relations")
    if longest and not is_extent(longest, types, settings.max_length):
        raise ValueError("it is not said which paths are counted")
    falls = np.flatnonzero(np.diff(types) <= 0) + 1
    if not np.isin(falls, offsets).all():
        raise ValueError("path types are out of order")
    relation = np.repeat(np.arange(len(offsets) - 1, dtype=np.int32), np.diff(offsets))
    check_reach(relation, counted, *columns[1:])


def check_rows(types: Counts, columns: dict[str, Counts], directions: int, max_length: int) -> None:
    """`ValueError` unless these may be path types, and what was counted for each."""
    if any(column.dtype != np.int64 or column.shape != types.shape for column in (types, *columns.values())):
        raise ValueError("counts are not whole numbers, one for each path type")
    if (types < 0).any() or any((column < 0).any() for column in columns.values()):
        raise ValueError("a count or a path type is below zero")
    if not are_path_types(types, directions, max_length):
        raise ValueError("a path type names a relation that does not exist")
    if not columns["hits"].all():
        raise ValueError("a path type without hits is counted")


def check_reach(relation: Ids, counted: Ids, reached: Counts, right: Counts, left_out: Counts) -> None:
    """`ValueError` unless these may be what the path types of each relation reach."""
    if (right > reached).any():
        raise ValueError("more is right than reached")
    uncounted = ~np.isin(relation, counted)
    if any(column[uncounted].any() for column in (reached, right, left_out)):
        raise ValueError("it is counted what paths of a relation reach that was not counted")


def is_extent(extent: list[int], types: Counts, max_length: int) -> bool:
    """Whether this is a length up to which paths are counted, and how many cycles may come before it changes."""
    if len(extent) != 2:
        return False
    longest, _ = extent
    return int(lengths(types, max_length).max(initial=0)) <= longest <= max_length
