"""
Tables as text: tab-separated and comma-separated values, with or without a header.

A line of TSV, or a record of CSV, goes through two stages after those of `formats.sources`:

    records  the fields of a line of TSV, or of a record of CSV     `formats.table_rows`
    facts    three names, chosen by the header if there is one      `formats.layout`

Most blocks contain only well-formed lines. They are passed on unchanged (`graph.batches`): a graph
can add their facts without creating a string for every name, and callers that want the facts get
them without the first stage (`layout.plain_facts`), which is many times faster.

Names are opaque: nothing is stripped or normalised. `docs/reading-facts.md` specifies how unusual
lines and files are handled.
"""

from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import chain

from casegraph.errors import MalformedFact, quoted
from casegraph.formats.layout import Layout, plain_facts
from casegraph.formats.opening import Opening, header_beside, separator_of
from casegraph.formats.reading import Batches, Options, Reading
from casegraph.formats.sources import (
    BYTE_ORDER_MARK,
    Place,
    blocks_of,
    lines_of,
    pieces_of,
)
from casegraph.formats.table_rows import (
    SEPARATORS,
    TAB,
    LinesOfCsv,
    TableRow,
    records_of,
)
from casegraph.graph.batches import Block


def read_tsv(source: Place, reading: Reading, options: Options) -> Batches:
    """The facts of tab-separated lines."""
    header = header_beside(source, options, TAB)
    pieces = pieces_of(source, options.encoding)
    with closing(pieces):
        blocks = Opening(blocks_of(pieces, reading.write_refused))
        layout = Layout(options, reading, blocks, TAB)
        if header is not None:
            layout.use(header)
        yield from _facts_of_tsv(blocks, layout)


def read_csv(source: Place, reading: Reading, options: Options) -> Batches:
    """The facts of comma-separated values."""
    header = header_beside(source, options, SEPARATORS)
    pieces = pieces_of(source, options.encoding)
    with closing(pieces):
        blocks = Opening(blocks_of(pieces, reading.write_refused))
        separator = header.separator if header else separator_of(blocks, options)
        layout = Layout(options, reading, blocks, separator)
        if header is not None:
            layout.use(header)
        yield from _facts_of_csv(blocks, layout)


def tsv_lines(facts: Iterable[tuple[str, str, str]], name: str) -> Iterator[bytes]:
    """Facts as tab-separated lines; `MalformedFact` at one that would not be read back the same."""
    for number, fact in enumerate(facts, start=1):
        line = _encoded(fact, name, number)
        if number == 1 and line.startswith(BYTE_ORDER_MARK):
            # The reader drops a mark at the very beginning, and keeps the next.
            yield BYTE_ORDER_MARK
        yield line


def rows_of(
    source: Place, reading: Reading, separator: str | None, encoding: str | None = None
) -> Iterator[TableRow]:
    """The rows of a table, whatever they hold, without those that are empty or refused.

    separator  what is between the fields; None to detect it from the first rows
    """
    pieces = pieces_of(source, encoding)
    with closing(pieces):
        blocks = Opening(blocks_of(pieces, reading.write_refused))
        if separator is None:
            separator = separator_of(blocks, Options())
        blocks.forget()
        lines = chain.from_iterable(map(lines_of, blocks))
        for record in records_of(lines, 1, separator):
            if record.problem:
                reading.refuse(record.line, record.problem, record.raw)
            elif not record.is_empty:
                yield record


def _facts_of_tsv(blocks: Iterator[bytes], layout: Layout) -> Batches:
    """The facts of each block: the block itself if it looks plain, else record by record."""
    line_number = 1
    for block in blocks:
        if layout.looks_plain(block):
            yield Block(block, layout, line_number)
        else:
            yield from layout.facts_of_records(lines_of(block), line_number)
        line_number += block.count(b"\n") or 1


def _facts_of_csv(blocks: Iterator[bytes], layout: Layout) -> Batches:
    """The facts of each block: the block itself if it looks plain, else record by record.

    A record in quotes may continue in the next block, which is then read together with this one.
    """
    line_number = 1
    for block in blocks:
        if layout.looks_plain(block):
            yield Block(block, layout, line_number)
            line_number += block.count(b"\n") or 1
        else:
            lines = LinesOfCsv(block, blocks)
            yield from layout.facts_of_records(lines, line_number)
            line_number += lines.line_ends or 1


def _encoded(fact: tuple[str, str, str], name: str, number: int) -> bytes:
    """A fact as a line, which must be read back as the same fact."""
    text = "\t".join(fact)
    line = text.encode(errors="replace") + b"\n"
    if plain_facts(line) != [tuple(fact)]:
        problem = (
            "a name that is blank, or has a tab, line end, NUL or lone surrogate, "
            "cannot be written"
        )
        raise MalformedFact(name, number, f"{problem}: {quoted(text)}")
    return line
