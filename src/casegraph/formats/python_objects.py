"""
Facts in memory: rows, arrays, frames, and the data sets of other libraries.

Nothing is guessed. A value that is not a name, such as NaN, None or a number, is an error that
names its row, and a string is never iterated character by character.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from casegraph.errors import MalformedFact, quoted, shortened
from casegraph.formats.columns import FactColumns, looks_like_header, table_of
from casegraph.formats.reading import Facts, Options, Reading
from casegraph.graph.batches import parts_of
from casegraph.graph.facts import Fact

if TYPE_CHECKING:
    from casegraph.formats.reading import Batches

ROWS_AT_ONCE = 1 << 14


class HasArrow(Protocol):
    """A table with the Arrow interface: pandas, Polars, pyarrow, DuckDB and others."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Hand the table over."""


class HasTriples(Protocol):
    """A `TriplesFactory` of PyKEEN."""

    mapped_triples: Any
    entity_to_id: Any
    relation_to_id: Any


Rows = Iterable[tuple[str, str, str]] | HasArrow | HasTriples


def facts_in(given: Any) -> Iterable[Any]:  # noqa: ANN401  (whatever a program holds)
    """Facts, one by one, of anything that holds facts.

    That is: an iterable of rows, a NumPy array of rows, a frame of pandas or Polars or anything
    else with the Arrow C interface, and PyKEEN's `TriplesFactory`.
    """
    if isinstance(given, str | bytes):
        advice = "put names into a list, or read a file of facts with read_facts"
        raise MalformedFact(
            "facts", 1, f"expected facts, found {quoted(repr(given))}; {advice}"
        )
    if isinstance(given, Mapping):
        raise MalformedFact(
            "facts", 1, "expected rows of head, relation and tail, found a mapping"
        )
    if isinstance(given, Facts):
        return given
    if isinstance(given, np.ndarray):
        return _named(given, _rows_of_array(given))
    if hasattr(given, "mapped_triples") and hasattr(given, "entity_to_id"):
        return _named(given, _rows_of_factory(given))
    if _is_frame_of_facts(given):
        return _named(given, _rows_of_frame(given))
    if hasattr(given, "__arrow_c_stream__") and find_spec("pyarrow") is not None:
        from casegraph.formats.arrow import read_table

        reading = Reading(_kind(given))
        return Facts(reading, read_table(given, reading, Options()))
    if not isinstance(given, Iterable):
        advice = "; collect it first" if hasattr(given, "collect") else ""
        raise MalformedFact(
            "facts", 1, f"expected facts, found {quoted(repr(given))}{advice}"
        )
    return given


def _named(given: object, batches: Batches) -> Facts:
    return Facts(Reading(_kind(given)), batches)


def _kind(given: object) -> str:
    return type(given).__name__


def _is_frame_of_facts(given: Any) -> bool:  # noqa: ANN401
    """Whether this is a frame of pandas to be read row by row: with facts, or without pyarrow.

    A column of pandas may hold anything. Read row by row, a value that is not a name can be shown.
    """
    if not hasattr(given, "itertuples") or not hasattr(given, "columns"):
        return False
    table = table_of([str(name) for name in given.columns])
    has_nodes = table is not None and table.nodes is not None
    return not has_nodes or find_spec("pyarrow") is None


def _rows_of_array(array: Any) -> Batches:  # noqa: ANN401
    """The rows of a NumPy array with three columns."""
    if array.ndim != 2 or array.shape[1] != 3:
        shape = " × ".join(map(str, array.shape))
        raise MalformedFact(
            "ndarray", 1, f"expected rows of three names, found {shape} values"
        )
    is_text = array.dtype.kind == "U"
    for start in range(0, len(array), ROWS_AT_ONCE):
        rows = array[start : start + ROWS_AT_ONCE].tolist()
        for number, row in enumerate(rows, start=start + 1):
            # NumPy turns a missing value into this text when it makes an array of texts.
            if is_text and "nan" in row:
                problem = "found 'nan', which NumPy writes for a missing value"
                raise MalformedFact(
                    "ndarray", number, f"{problem}: {quoted(repr(row))}"
                )
        yield _checked(rows, "ndarray", start)


def _rows_of_factory(factory: Any) -> Batches:  # noqa: ANN401
    """The facts of a TriplesFactory of PyKEEN, by name."""
    entities = {number: name for name, number in factory.entity_to_id.items()}
    relations = {number: name for name, number in factory.relation_to_id.items()}
    triples = factory.mapped_triples
    for start in range(0, len(triples), ROWS_AT_ONCE):
        rows = triples[start : start + ROWS_AT_ONCE].tolist()
        yield [
            Fact(entities[head], relations[rel], entities[tail])
            for head, rel, tail in rows
        ]


def _rows_of_frame(frame: Any) -> Batches:  # noqa: ANN401
    """The rows of a frame of pandas."""
    names = [str(name) for name in frame.columns]
    table = table_of(names)
    edges = table.edges if table is not None else None
    if edges is None and len(names) == 3 and not looks_like_header(names):
        edges = FactColumns(0, 1, 2)
    if edges is None:
        found = quoted(", ".join(names))
        problem = (
            f"found the columns {found}; call those to read head, relation and tail"
        )
        raise MalformedFact(_kind(frame), 0, problem)
    columns = frame.iloc[:, [edges.head, edges.relation, edges.tail]]
    rows = columns.itertuples(index=False, name=None)
    before = 0
    for part in parts_of(rows, ROWS_AT_ONCE):
        yield _checked(part, _kind(frame), before)
        before += len(part)


def _checked(rows: list[Any], kind: str, before: int) -> list[Fact]:
    """Rows as facts; `MalformedFact` at a value that is not text.

    before  the number of rows before these
    """
    facts = []
    for number, row in enumerate(rows, start=before + 1):
        for value in row:
            if not isinstance(value, str):
                problem = (
                    f"expected a name, which is text, found {shortened(repr(value))}"
                )
                raise MalformedFact(
                    kind, number, f"{problem}: {quoted(repr(tuple(row)))}"
                )
        facts.append(Fact(*map(str, row)))
    return facts


def descriptions_in(given: object) -> Iterator[Any]:
    """The descriptions in a source; complete only after its facts have been read."""
    if isinstance(given, Facts):
        yield from given.described
