"""
Files of facts that are dropped on the page: read as `casegraph add` reads them.

A file is previewed or added, and never stored. It must be text that is not packed, since a packed
file could grow to any size; how large it may be is one of the `Limits`.
"""

from http import HTTPStatus
from io import BytesIO
from itertools import islice
from typing import NamedTuple

from casegraph.errors import MalformedFact, UnreadableFile
from casegraph.formats.columns import chosen_edges, looks_like_header, table_of
from casegraph.formats.delimited import rows_of
from casegraph.formats.reading import Facts, Reading
from casegraph.formats.registry import format_of, read_facts
from casegraph.formats.table_rows import TAB
from casegraph.graph.directions import forward
from casegraph.graph.graph import Graph
from casegraph.service.models import FilePreview, RelationCount
from casegraph.service.problems import Refused

TABLES = {"tsv": TAB, "csv": None}  # and what separates their fields, if that is known
TEXTS = (*TABLES, "jsonl", "nt")
GZIP = b"\x1f\x8b"
ROWS_SHOWN = 6


class Upload(NamedTuple):
    """A file as it was sent.

    columns  the numbers from 1 of the columns with head, relation and tail; "=treats" in the place
             of the relation gives all rows that relation; None to detect them
    header   whether the first line names the columns; None to detect it
    """

    name: str
    content: bytes
    columns: list[str] | None = None
    header: bool | None = None

    @property
    def format(self) -> str:
        """Its format, by the ending of its name; `Refused` if it cannot be read here."""
        try:
            form = format_of(self.name)
        except UnreadableFile:  # one of another kind
            form = ""
        if form in TEXTS and not self.content.startswith(GZIP):
            return form
        known = ", ".join(TEXTS)
        message = f"only text can be read here ({known}); casegraph add reads more"
        raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, message)

    def with_header(self) -> "Upload":
        """The same, where a first line that looks like a header is taken for one."""
        if self.columns is not None or self.header is not None:
            return self
        rows = self.rows(ROWS_SHOWN)
        is_unknown = rows and table_of(rows[0]) is None
        if not is_unknown or not looks_like_header(rows[0], lambda: rows[1:]):
            return self
        return self._replace(columns=["1", "2", "3"], header=True)

    def facts(self) -> Facts:
        """Its facts; lines that are none are skipped."""
        return read_facts(
            BytesIO(self.content),
            format=self.format,  # type: ignore[arg-type]
            header=self.header,
            columns=self.columns,
            on_error="skip",
        )

    def rows(self, count: int) -> list[list[str]]:
        """The first rows of a table; none of other formats."""
        if self.format not in TABLES:
            return []
        reading = Reading(self.name, is_strict=False)
        rows = rows_of(BytesIO(self.content), reading, TABLES[self.format])
        return [row.fields for row in islice(rows, count)]


def preview(upload: Upload) -> FilePreview:
    """How a file is understood: its first rows, which column is what, and its facts."""
    upload = upload.with_header()
    rows = upload.rows(ROWS_SHOWN + 1)
    first = rows[0] if rows else []
    table = table_of(first) if upload.header is not False else None
    is_headed = table is not None if upload.header is None else upload.header
    roles: list[int | None] = [0, 1, 2] if len(first) > 2 else [0, None, 1]
    edges = None if table is None else table.edges
    graph = Graph()
    facts = upload.facts()
    problem = ""
    try:
        if upload.columns is not None:
            edges, _ = chosen_edges(upload.columns, first)
        graph.add(facts)
    except (MalformedFact, ValueError) as error:
        problem = str(error)
    if edges is not None:
        roles = [edges.head, None if edges.constant else edges.relation, edges.tail]
    counts = [
        RelationCount(relation=name, facts=len(graph.edges(forward(number)).tails))
        for number, name in enumerate(graph.relations.names)
    ]
    numbers = range(1, len(first) + 1)
    return FilePreview(
        columns=first if is_headed else [f"column {number}" for number in numbers],
        has_header=is_headed,
        roles=roles if rows else [],
        rows=rows[1:] if is_headed else rows[:ROWS_SHOWN],
        facts=len(graph),
        skipped=facts.skipped,
        labels=len(facts.described),
        relations=sorted(counts, key=lambda count: (-count.facts, count.relation)),
        problem=problem,
    )
