"""Parts as files: arrays in an `.npz` without code, or, for other engines, a table in Parquet."""

import json
from pathlib import Path

import numpy as np

from casegraph.errors import CasegraphError
from casegraph.graph import INVERSE
from casegraph.paths import steps, unpacked
from casegraph.saving import Arrays, damaged, read_arrays, whole, write_arrays
from casegraph.scaling.counting import COLUMNS, Part, Shard

FORMAT = 1


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
    write_arrays(path, {"format": np.array([FORMAT]), "header": text, **rows})


def read_part(path: Path) -> Part:
    """Read what `write_part` wrote."""
    arrays = read_arrays(path, "a file of counts", FORMAT)
    try:
        header = json.loads(arrays["header"].tobytes())
        columns = {name: arrays[name] for name in COLUMNS if name in arrays}
        part = Part(
            Shard.named(header["shard"]), header["digest"], header["max_length"], tuple(header["names"]),
            arrays["counted"], arrays["extent"], arrays["relation"], arrays["types"], columns,
        )  # fmt: skip
        _check(part)
    except (KeyError, ValueError, TypeError, RecursionError, CasegraphError) as error:
        raise damaged(path, error) from error
    return part


def _check(part: Part) -> None:
    directions, relations = 2 * len(part.names), np.concatenate([part.counted, part.relation])
    if relations.dtype != np.int32 or not ((relations >= 0) & (relations < directions)).all():
        raise ValueError("counts are of a relation that does not exist")
    expected = 2 if "reached" in part.columns else part.max_length
    if part.extent.dtype != np.int64 or part.extent.shape != (expected,):
        raise ValueError("it is not said which paths are counted")
    columns = [part.types, *part.columns.values()]
    if any(column.dtype != np.int64 or column.shape != part.relation.shape for column in columns):
        raise ValueError("counts are not whole numbers, one for each path type")
    if any((column < 0).any() for column in columns):
        raise ValueError("a count or a path type is below zero")
    if any((step >= directions).any() for step in steps(part.types, part.max_length)):
        raise ValueError("a path type names a relation that does not exist")


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
