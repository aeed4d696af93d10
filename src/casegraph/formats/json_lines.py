"""
JSON lines: one object per line, with keys named like columns, as KGX writes nodes and edges.

It also reads the proposals of `casegraph complete`: other keys are ignored. Neo4j's
APOC writes nodes and relationships, whose keys have other objects in them.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any, NamedTuple

from casegraph.errors import shortened
from casegraph.formats.columns import (
    NAME_KEYS,
    FactColumns,
    Nodes,
    Table,
    chosen_edges,
    fact_or_description,
    table_of,
)
from casegraph.formats.reading import Batches, Options, Reading
from casegraph.formats.sources import (
    MAX_RECORD_BYTES,
    Place,
    blocks_of,
    lines_of,
    pieces_of,
)
from casegraph.graph.descriptions import Description
from casegraph.graph.facts import Fact

DOCUMENT = "a document as a whole becomes lines by: jq -c '.nodes[], .edges[]'"
_APOC_EDGES = Table(3, FactColumns(0, 1, 2))
_APOC_NODES = Table(3, nodes=Nodes(0, 1, 2))


def read_json_lines(source: Place, reading: Reading, options: Options) -> Batches:
    """The facts of JSON lines; objects that describe entities are kept as descriptions."""
    tables: dict[tuple[str, ...], _Plan | None] = {}  # by the keys of an object
    pieces = pieces_of(source, options.encoding)
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
        node: dict[str, Any] = {"id": name, "category": list(types)}
        if label:
            node["name"] = label
        yield _line(node)


def fact_lines(facts: Iterator[tuple[str, str, str]]) -> Iterator[bytes]:
    """Facts as the lines of a KGX file of edges."""
    for head, relation, tail in facts:
        yield _line({"subject": head, "predicate": relation, "object": tail})


def _line(written: dict[str, Any]) -> bytes:
    text = json.dumps(written, ensure_ascii=False)
    return text.encode(errors="surrogatepass") + b"\n"


class _Plan(NamedTuple):
    """How to read objects with certain keys.

    table  what the keys mean, as if they were the columns of a table
    read   the place and the name of each key that is read
    """

    table: Table
    read: list[tuple[int, str]]

    @classmethod
    def of(cls, table: Table, keys: tuple[str, ...]) -> "_Plan":
        """How to read objects with these keys."""
        read = [(place, keys[place]) for place in sorted(table.places)]
        return cls(table, read)


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
        problem = (
            "it is nested too deeply"
            if isinstance(error, RecursionError)
            else str(error)
        )
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
        parsed = json.loads(line)
    except UnicodeDecodeError:
        raise ValueError("expected UTF-8") from None
    except json.JSONDecodeError as error:
        hint = (
            DOCUMENT
            if line.strip() in (b"{", b"[")
            else f"{error.msg} at {error.colno}"
        )
        raise ValueError(f"expected an object of JSON on each line ({hint})") from None
    if not isinstance(parsed, Mapping):
        raise ValueError(f"expected an object of JSON on each line ({DOCUMENT})")
    if parsed.get("type") in ("node", "relationship") and "id" in parsed:
        return _of_apoc(parsed)

    keys = tuple(parsed)
    if keys not in tables:
        table = table_of(keys)
        if options.columns is not None:
            edges, _ = chosen_edges(options.columns, keys)
            table = Table(len(keys), edges)
        tables[keys] = None if table is None else _Plan.of(table, keys)
    plan = tables[keys]
    if plan is None:
        problem = "expected the keys of a fact, such as subject, predicate and object"
        is_document = "nodes" in parsed and "edges" in parsed
        raise ValueError(f"{problem} ({DOCUMENT})" if is_document else problem)
    row = [""] * plan.table.width
    for place, key in plan.read:
        row[place] = _text(parsed, key)
    return fact_or_description(plan.table, row)


def _of_apoc(parsed: Mapping[str, Any]) -> Fact | Description:
    """A node or a relationship, as `apoc.export.json` writes them."""
    if parsed["type"] == "relationship":
        head = _id_of(parsed.get("start"))
        tail = _id_of(parsed.get("end"))
        relation = _text(parsed, "label")
        return fact_or_description(_APOC_EDGES, [head, relation, tail])
    properties = parsed.get("properties", {})
    name_key = next((key for key in NAME_KEYS if key in properties), None)
    label = "" if name_key is None else _text(properties, name_key)
    identity = _text(parsed, "id")
    types = "|".join(parsed.get("labels", []))
    return fact_or_description(_APOC_NODES, [identity, label, types])


def _id_of(node: object) -> str:
    return _text(node, "id") if isinstance(node, Mapping) else ""


def _text(parsed: Mapping[str, Any], key: str) -> str:
    """The text at a key; several texts, such as the categories of KGX, are joined with |."""
    value = parsed.get(key)
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return "|".join(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise ValueError(
        f"expected a name as {key!r}, found {shortened(json.dumps(value))}"
    )
