"""Parts as files: arrays in an `.npz` without code, or, for other engines, a table in Parquet."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from casegraph.errors import CasegraphError
from casegraph.execution.shards import COLUMNS, Part, Shard
from casegraph.graph.directions import INVERSE
from casegraph.statistics.path_types import unpacked
from casegraph.storage.case_files import (
    WRONG,
    Arrays,
    check_reach,
    check_rows,
    damaged,
    is_extent,
    read_arrays,
    whole,
    write_arrays,
)

FORMAT = 2
LENGTHS = range(1, 6)  # of paths
MOST_SHARDS = 1_000_000


def write_part(part: Part, path: Path) -> None:
    """Write a part, all or nothing; to Parquet if the file is called so."""
    if path.suffix == ".parquet":
        _write_table(part, path)
        return
    header = {
        "shard": str(part.shard), "digest": part.digest, "max_length": part.max_length, "names": part.names
    }  # fmt: skip
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    rows: Arrays = {
        "counted": part.counted,
        "extent": part.extent,
        "relation": part.relation,
        "types": part.types,
        **part.columns,
    }
    write_arrays(path, FORMAT, {"header": text, **rows})


def read_part(path: Path) -> Part:
    """Read what `write_part` wrote."""
    arrays = read_arrays(path, "a file of counts", FORMAT)
    try:
        header = json.loads(arrays["header"].tobytes())
        _check_header(header)
        columns = {name: arrays[name] for name in COLUMNS if name in arrays}
        part = Part(
            Shard.named(header["shard"]), header["digest"], header["max_length"], tuple(header["names"]),
            arrays["counted"], arrays["extent"], arrays["relation"], arrays["types"], columns,
        )  # fmt: skip
        _check(part)
    except (CasegraphError, *WRONG) as error:
        raise damaged(path, error) from error
    return part


def _check_header(header: dict[str, Any]) -> None:
    types = {name: type(header[name]) for name in ("shard", "digest", "max_length", "names")}
    if types != {"shard": str, "digest": str, "max_length": int, "names": list}:
        raise ValueError("it does not say of what the counts are")
    names = header["names"]
    if not all(isinstance(name, str) for name in names) or names != sorted(set(names)):
        raise ValueError("the names of relations are not text, repeat, or are out of order")
    if header["max_length"] not in LENGTHS:
        raise ValueError("it has paths of a length that is not counted")
    if Shard.named(header["shard"]).of > MOST_SHARDS:
        raise ValueError("it is of more shards than there can be")


def _check(part: Part) -> None:
    directions = 2 * len(part.names)
    for relations in (part.counted, part.relation):
        is_row = relations.dtype == np.int32 and relations.ndim == 1
        if not is_row or not ((relations >= 0) & (relations < directions)).all():
            raise ValueError("counts are of a relation that does not exist")
    if (np.diff(part.counted) <= 0).any():
        raise ValueError("the relations that are counted repeat, or are out of order")
    if part.types.shape != part.relation.shape:
        raise ValueError("counts do not belong to their relations")
    check_rows(part.types, part.columns, directions, part.max_length)
    same_relation = np.diff(part.relation) == 0
    if (np.diff(part.relation) < 0).any() or (np.diff(part.types)[same_relation] <= 0).any():
        raise ValueError("path types are out of order")
    if part.extent.dtype != np.int64 or part.extent.ndim != 1 or not _is_extent(part):
        raise ValueError("it is not said which paths are counted")
    if set(part.columns) == set(COLUMNS):
        check_reach(part.relation, part.counted, *(part.columns[name] for name in COLUMNS[1:]))


def _is_extent(part: Part) -> bool:
    """Whether it is said, after the first or the second pass, which paths are counted."""
    if list(part.columns) == ["hits"]:
        return len(part.extent) == part.max_length and not (part.extent < 0).any()
    return set(part.columns) == set(COLUMNS) and is_extent(part.extent.tolist(), part.types, part.max_length)


def _write_table(part: Part, path: Path) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise CasegraphError(f"{path}: Parquet needs pyarrow; install casegraph[arrow]") from error
    names = [name + end for name in part.names for end in ("", INVERSE)]
    path_types = ([names[step] for step in unpacked(number, part.max_length)] for number in part.types.tolist())
    columns = {"relation": [names[label] for label in part.relation.tolist()], "path_type": list(path_types)}
    with whole(path) as file:
        pyarrow.parquet.write_table(pyarrow.table({**columns, **part.columns}), file)
