"""Parts as files: arrays in a `.npz` (see `storage.array_files`), or a Parquet table."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from casegraph.disk import atomic_write
from casegraph.errors import CasegraphError
from casegraph.execution.shards import Part, Shard
from casegraph.graph.arrays import Ids
from casegraph.graph.directions import INVERSE, forward
from casegraph.statistics.counts import BOTH_WAYS, BY_INVERSE, BY_ITSELF
from casegraph.statistics.path_types import unpacked
from casegraph.storage.array_files import (
    CONTENT_ERRORS,
    Arrays,
    damaged,
    read_arrays,
    write_arrays,
)
from casegraph.storage.count_columns import (
    COUNT_COLUMNS,
    check_reach,
    check_types_and_counts,
    is_extent,
)

FORMAT = 3
PATH_LENGTHS = range(1, 6)
MOST_SHARDS = 1_000_000
WAYS = (BY_ITSELF, BOTH_WAYS, BY_INVERSE)
HEADER_TYPES = {"shard": str, "digest": str, "max_length": int, "names": list}


def write_part(part: Part, path: Path) -> None:
    """Write a part, all or nothing; as a Parquet table if the name of the file ends in .parquet."""
    if path.suffix == ".parquet":
        _write_table(part, path)
        return
    header = {
        "shard": str(part.shard),
        "digest": part.digest,
        "max_length": part.max_length,
        "names": part.names,
    }
    header_text = json.dumps(header).encode()
    arrays: Arrays = {
        "header": np.frombuffer(header_text, dtype=np.uint8),
        "counted": part.counted,
        "extent": part.extent,
        "relation": part.relation,
        "types": part.types,
        "ways": part.ways,
        **part.columns,
    }
    write_arrays(path, FORMAT, arrays)


def read_part(path: Path) -> Part:
    """Read what `write_part` wrote, unless it is a table."""
    arrays = read_arrays(path, "a file of counts", FORMAT)
    try:
        header = json.loads(arrays["header"].tobytes())
        _check_header(header)
        part = Part(
            shard=Shard.named(header["shard"]),
            digest=header["digest"],
            max_length=header["max_length"],
            names=tuple(header["names"]),
            counted=arrays["counted"],
            extent=arrays["extent"],
            relation=arrays["relation"],
            types=arrays["types"],
            columns={name: arrays[name] for name in COUNT_COLUMNS if name in arrays},
            ways=arrays["ways"],
        )
        _check_part(part)
    except (CasegraphError, *CONTENT_ERRORS) as error:
        raise damaged(path, error) from error
    return part


def _check_header(header: dict[str, Any]) -> None:
    types = {name: type(header[name]) for name in HEADER_TYPES}
    if types != HEADER_TYPES:
        raise ValueError("it does not say what was counted")
    names = header["names"]
    are_text = all(isinstance(name, str) for name in names)
    if not are_text or names != sorted(set(names)):
        raise ValueError(
            "the names of relations are not text, repeat, or are out of order"
        )
    if header["max_length"] not in PATH_LENGTHS:
        raise ValueError("it has paths of a length that is not counted")
    if Shard.named(header["shard"]).of > MOST_SHARDS:
        raise ValueError("it has more shards than there can be")


def _check_part(part: Part) -> None:
    """`ValueError` unless the arrays of a part fit together."""
    directions = forward(len(part.names))  # directions are below this number
    for relations in (part.counted, part.relation):
        if not _is_row_below(directions, relations):
            raise ValueError("counts are of a relation that does not exist")
    if (np.diff(part.counted) <= 0).any():
        raise ValueError("the relations that are counted repeat, or are out of order")
    if part.types.shape != part.relation.shape:
        raise ValueError("counts do not belong to their relations")
    check_types_and_counts(part.types, part.columns, directions, part.max_length)

    relation_falls = np.diff(part.relation) < 0
    is_same_relation = np.diff(part.relation) == 0
    type_falls = np.diff(part.types)[is_same_relation] <= 0
    if relation_falls.any() or type_falls.any():
        raise ValueError("path types are out of order")

    is_extent_row = part.extent.dtype == np.int64 and part.extent.ndim == 1
    if not is_extent_row or not _has_extent(part):
        raise ValueError("it is not said which paths are counted")
    if part.has_reach:
        check_reach(part.relation, part.counted, part.columns)
    are_ways = part.ways.dtype == np.int64 and np.isin(part.ways, WAYS).all()
    if not are_ways or part.ways.shape != (len(part.types) * part.has_reach,):
        raise ValueError("it is not said which path types were walked")


def _is_row_below(limit: int, numbers: Ids) -> bool:
    """Whether an array is one row of ids, all from 0 to below a limit."""
    if numbers.dtype != np.int32 or numbers.ndim != 1:
        return False
    is_within = (numbers >= 0) & (numbers < limit)
    return bool(is_within.all())


def _has_extent(part: Part) -> bool:
    """Whether `extent` is as the first or the second pass leaves it (see `Part`)."""
    if list(part.columns) == ["hits"]:
        return len(part.extent) == part.max_length and not (part.extent < 0).any()
    if set(part.columns) != set(COUNT_COLUMNS):
        return False
    return is_extent(part.extent.tolist(), part.types, part.max_length)


def _write_table(part: Part, path: Path) -> None:
    """Write a part as a table with names, a row for each path type of a relation."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        problem = f"{path}: Parquet needs pyarrow; install casegraph[arrow]"
        raise CasegraphError(problem) from error

    names = []
    for name in part.names:
        names += [name, name + INVERSE]
    relations = [names[direction] for direction in part.relation.tolist()]
    directions = [unpacked(number, part.max_length) for number in part.types.tolist()]
    path_types = [
        [names[direction] for direction in path_type] for path_type in directions
    ]

    table = pyarrow.table(
        {"relation": relations, "path_type": path_types, **part.columns}
    )
    with atomic_write(path) as file:
        pyarrow.parquet.write_table(table, file)
