"""
Files of names: labels and types of entities and relations, without facts.

A line has a name as facts have it, its label and perhaps its types, in this order or as a header
says: `id`, `name`, `category` and their usual spellings. Every file of nodes is such a file.
"""

from collections.abc import Iterator

from casegraph.formats.columns import Nodes, Table, fact_or_description, table_of
from casegraph.formats.delimited import rows_of
from casegraph.formats.reading import Reading
from casegraph.formats.registry import format_of, read_facts
from casegraph.formats.sources import Place, name_of
from casegraph.formats.table_rows import TAB
from casegraph.graph.descriptions import Description


def read_names(source: Place, encoding: str | None = None) -> Iterator[Description]:
    """The labels and types in a file, one entity or relation a line."""
    form = format_of(name_of(source))
    if form not in ("tsv", "csv"):
        reading = read_facts(source, encoding=encoding)
        for _ in reading:
            pass
        yield from reading.described
        return

    table: Table | None = None
    reading_state = Reading(name_of(source))
    separator = None if form == "csv" else TAB
    for line, raw, fields, _ in rows_of(source, reading_state, separator, encoding):
        if table is None:
            table = table_of(fields)
            if table is not None and table.nodes is not None:
                continue
            types = 2 if len(fields) > 2 else None
            table = Table(len(fields), nodes=Nodes(0, 1, types))
        if len(fields) != table.width or len(fields) < 2:
            expected = (
                "a name and its label" if table.width < 3 else f"{table.width} fields"
            )
            reading_state.refuse(
                line, f"expected {expected}, found {len(fields)} fields", raw
            )
        try:
            found = fact_or_description(table, fields)
        except ValueError as error:
            reading_state.refuse(line, str(error), raw)
            continue
        if isinstance(found, Description):
            yield found
