"""
Arrow: Parquet files, Arrow files, and in-memory tables with the Arrow interface (extra `arrow`).

pandas, Polars, DuckDB and others pass their tables through the Arrow C interface, so this module
depends on none of them. Columns are recognised by name, as in a file with a header; a table of
three columns with unknown names is read in column order.
"""

from __future__ import annotations

from contextlib import closing
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from casegraph.errors import UnreadableFile, optional_module, quoted, shortened
from casegraph.formats.columns import (
    FactColumns,
    Table,
    chosen_edges,
    fact_or_description,
    in_words,
    looks_like_header,
    table_of,
)
from casegraph.formats.sources import Place, pieces_of
from casegraph.graph.batches import parts_of
from casegraph.graph.descriptions import Description
from casegraph.graph.facts import Fact

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from casegraph.formats.reading import Batches, Options, Reading

ROWS_AT_ONCE = 1 << 14
WRITTEN_AT_ONCE = 1 << 17
COLUMNS = ("head", "relation", "tail")


def read_parquet(source: Place, reading: Reading, options: Options) -> Batches:
    """The facts of a Parquet file, a part of it at a time."""
    pyarrow(reading.source)
    from pyarrow import parquet

    with _reported(reading.source), closing(parquet.ParquetFile(_file(source))) as file:
        names = file.schema_arrow.names
        table = columns_in(names, reading, options)
        names_read = [names[place] for place in sorted(table.places)]
        batches = file.iter_batches(batch_size=ROWS_AT_ONCE, columns=names_read)
        yield from _facts_of(batches, names, table, reading)


def read_arrow(source: Place, reading: Reading, options: Options) -> Batches:
    """The facts of an Arrow file (Feather) or of a stream of Arrow, a part of it at a time."""
    arrow = pyarrow(reading.source)
    from pyarrow import ipc

    with _reported(reading.source):
        file = _file(source)
        try:
            opened = ipc.open_file(file)
            batches = (
                opened.get_batch(number) for number in range(opened.num_record_batches)
            )
        except arrow.ArrowInvalid:
            if not isinstance(file, str):
                file.seek(0)
            opened = ipc.open_stream(file)
            batches = iter(opened)
        table = columns_in(opened.schema.names, reading, options)
        yield from _facts_of(batches, opened.schema.names, table, reading)


def read_table(table: Any, reading: Reading, options: Options) -> Batches:  # noqa: ANN401
    """The facts of a table in memory that has the Arrow C interface."""
    arrow = pyarrow(reading.source)
    with _reported(reading.source):
        batches = arrow.RecordBatchReader.from_stream(table)
        # pandas appends an index that has a name; one without is dropped here.
        names = [
            name
            for name in batches.schema.names
            if not name.startswith("__index_level_")
        ]
        columns = columns_in(names, reading, options)
        yield from _facts_of(batches, batches.schema.names, columns, reading)


def columns_in(names: Sequence[str], reading: Reading, options: Options) -> Table:
    """Which columns to read; `MalformedFact` if their names are not recognised."""
    if options.columns is not None:
        try:
            edges, _ = chosen_edges(options.columns, names)
        except ValueError as error:
            reading.stop(0, str(error))
        chosen = Table(len(names), edges)
        reading.columns = in_words(chosen, names)
        return chosen
    table = table_of(names)
    if table is not None:
        reading.columns = in_words(table, names)
        return table
    is_unnamed = len(names) == 3 and not looks_like_header(names)
    if not is_unnamed:
        found = quoted(", ".join(names))
        advice = (
            "call those to read head, relation and tail, "
            "or name them with --columns (columns=)"
        )
        reading.stop(0, f"found the columns {found}; {advice}")
    return Table(3, FactColumns(0, 1, 2))


def write_parquet(facts: Iterable[tuple[str, str, str]], file: Any, name: str) -> int:  # noqa: ANN401
    """Write facts as a Parquet table with three columns; returns the number of facts."""
    arrow = pyarrow(name)
    from pyarrow import parquet

    # The names of a graph repeat; with a dictionary each is written once, and facts refer to it.
    schema = arrow.schema([(column, arrow.string()) for column in COLUMNS])
    written = 0
    with parquet.ParquetWriter(
        file, schema, use_dictionary=True, compression="zstd"
    ) as writer:
        for rows in parts_of(facts, WRITTEN_AT_ONCE):
            columns = zip(*rows, strict=True)
            arrays = [arrow.array(column, arrow.string()) for column in columns]
            writer.write_table(arrow.Table.from_arrays(arrays, schema=schema))
            written += len(rows)
    return written


def pyarrow(source: str) -> Any:  # noqa: ANN401
    """The library, or an error that says how to install it."""
    return optional_module("pyarrow", f"{source}: this needs pyarrow", extra="arrow")


class _reported:  # noqa: N801  (used as a function)
    """Turns an error of Arrow about a file into one of ours."""

    def __init__(self, source: str) -> None:
        self._source = source

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: object, error: BaseException | None, trace: object
    ) -> None:
        import pyarrow as arrow

        if isinstance(error, arrow.ArrowException | OSError):
            first_line = str(error).partition("\n")[0]
            raise UnreadableFile(
                self._source, f"cannot be read ({first_line})"
            ) from error


def _file(source: Place) -> Any:  # noqa: ANN401
    """Input for Arrow: the path of a file, or the whole content of a stream."""
    if isinstance(source, str | PathLike) and source != "-":
        path = Path(source)
        if not path.is_file():
            list(pieces_of(path))  # raises an error that says what it is
        return str(path)
    return BytesIO(b"".join(pieces_of(source)))


def _facts_of(
    batches: Iterable[Any], names: Sequence[str], table: Table, reading: Reading
) -> Batches:
    """The facts of batches that have the columns of a table, or more.

    names  of all columns of the table
    """
    names_read = [names[place] for place in sorted(table.places)]
    row_number = 0
    for batch in batches:
        place_in_batch = {name: place for place, name in enumerate(batch.schema.names)}
        texts: dict[str, list[Any]] = {}
        for name in names_read:
            texts[name] = _values(batch.column(place_in_batch[name]))
        if table.has_plain_facts and all(map(_are_names, texts.values())):
            yield _plain(table, names, texts)
            row_number += batch.num_rows
            continue
        for place in range(batch.num_rows):
            row_number += 1
            values = [texts[name][place] if name in texts else "" for name in names]
            yield from _checked(table, values, row_number, reading)


def _values(column: Any) -> list[Any]:  # noqa: ANN401
    """The values of a column; text that is not UTF-8 as bytes."""
    try:
        return column.to_pylist()  # type: ignore[no-any-return]
    except UnicodeDecodeError:
        return [_value(cell) for cell in column]


def _value(cell: Any) -> Any:  # noqa: ANN401
    try:
        return cell.as_py()
    except UnicodeDecodeError:
        return cell.as_buffer().to_pybytes()


def _plain(
    table: Table, names: Sequence[str], texts: dict[str, list[Any]]
) -> list[Fact]:
    edges = table.edges
    if edges is None:
        return []
    heads = texts[names[edges.head]]
    relations = texts[names[edges.relation]]
    tails = texts[names[edges.tail]]
    return list(map(Fact, heads, relations, tails))


def _checked(
    table: Table, values: list[Any], row: int, reading: Reading
) -> Iterator[list[Fact]]:
    try:
        found = fact_or_description(table, [_name(value, table) for value in values])
    except ValueError as error:
        raw = "\t".join(map(str, values)).encode(errors="replace") + b"\n"
        reading.refuse(row, str(error), raw)
        return
    if isinstance(found, Description):
        reading.described.append(found)
    else:
        yield [found]


def _name(value: object, table: Table) -> str:
    """A value as text; a missing value is empty in a table of nodes, else an error."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return "|".join(value)
    if value is None and table.nodes is not None:
        return ""
    raise ValueError(f"expected a name, which is text, found {shortened(repr(value))}")


def _are_names(texts: list[Any]) -> bool:
    """Whether all are plain names that need no further checks."""
    types = set(map(type, texts))
    return types <= {str} and all(map(str.strip, texts))
