"""
JSON lines: one object per line, with keys named like columns, as KGX writes nodes and edges.

It also reads the proposals of `casegraph complete`: other keys are ignored.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any, NamedTuple

from casegraph.errors import shortened
from casegraph.formats.columns import Table, fact_or_description, table_of
from casegraph.formats.reading import Batches, Options, Reading
from casegraph.formats.sources import MAX_RECORD_BYTES, Place, blocks_of, lines_of, pieces_of
from casegraph.graph.descriptions import Description
from casegraph.graph.facts import Fact


def read_json_lines(source: Place, reading: Reading, options: Options) -> Batches:
    """The facts of JSON lines; objects that describe entities are kept as descriptions."""
    tables: dict[tuple[str, ...], _Plan | None] = {}  # by the keys of an object
    pieces = pieces_of(source)
    with closing(pieces):
        line_number = 1
        for block in blocks_of(pieces, reading.write_refused):
            for line in lines_of(block):
                if line.strip():
                    yield from _facts_of(line, line_number, tables, reading, options)
                line_number += line.count(b"\n") or 1


def described_lines(descriptions: Iterator[Description]) -> Iterator[bytes]:
    """Descriptions as the lines of a KGX file of nodes."""
    for name, label, types in descriptions:
        node: dict[str, object] = {"id": name, "category": list(types)}
        if label:
            node["name"] = label
        yield json.dumps(node, ensure_ascii=False).encode(errors="surrogatepass") + b"\n"


def fact_lines(facts: Iterator[tuple[str, str, str]]) -> Iterator[bytes]:
    """Facts as the lines of a KGX file of edges."""
    for head, relation, tail in facts:
        edge = {"subject": head, "predicate": relation, "object": tail}
        yield json.dumps(edge, ensure_ascii=False).encode(errors="surrogatepass") + b"\n"


class _Plan(NamedTuple):
    """What objects with certain keys say, and the places and names of the keys that are read."""

    table: Table
    read: list[tuple[int, str]]

    @classmethod
    def of(cls, table: Table, keys: tuple[str, ...]) -> "_Plan":
        """How to read objects with these keys."""
        return cls(table, [(place, keys[place]) for place in sorted(table.places)])


def _facts_of(
    line: bytes,
    number: int,
    tables: dict[tuple[str, ...], _Plan | None],
    reading: Reading,
    options: Options,
) -> Iterator[list[Fact]]:
    try:
        found = _read(line, tables, options)
    except (ValueError, RecursionError) as error:
        problem = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        reading.refuse(number, problem, line)
        return
    if isinstance(found, Description):
        reading.described.append(found)
    else:
        yield [found]


def _read(
    line: bytes, tables: dict[tuple[str, ...], _Plan | None], options: Options
) -> Fact | Description:
    if len(line) > MAX_RECORD_BYTES:
        raise ValueError("expected one object a line, found more than 16 MiB")
    try:
        said = json.loads(line)
    except UnicodeDecodeError:
        raise ValueError("expected UTF-8") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"expected an object of JSON ({error.msg} at {error.colno})") from None
    if not isinstance(said, Mapping):
        raise ValueError("expected an object of JSON")

    keys = tuple(options.columns or said)
    if keys not in tables:
        table = Table.of_three(keys) if options.columns else table_of(keys)
        tables[keys] = None if table is None else _Plan.of(table, keys)
    plan = tables[keys]
    if plan is None:
        raise ValueError("expected the keys of a fact, such as subject, predicate and object")
    row = [""] * plan.table.width
    for place, key in plan.read:
        row[place] = _text(said, key)
    return fact_or_description(plan.table, row)


def _text(said: Mapping[str, Any], key: str) -> str:
    """The text at a key; several texts, as categories of KGX, with | between them."""
    value = said.get(key)
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return "|".join(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise ValueError(f"expected a name as {key!r}, found {shortened(json.dumps(value))}")
