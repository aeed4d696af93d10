"""
Writing facts and descriptions, so that they are read back the same.

A file appears under its name only when it is complete; a failure leaves the previous file. Some
formats need a second file for labels and types; it is checked before the first file is begun:

    tsv, csv, parquet   facts.tsv, and beside it facts.names.tsv if anything has a label or a type
    kgx                 facts_edges.tsv and facts_nodes.tsv, or both .jsonl
    neo4j               facts_relationships.csv and facts_nodes.csv, for neo4j-admin
    nt, ttl, jsonl      one file has both
"""

from __future__ import annotations

import csv
import gzip
from contextlib import contextmanager
from io import StringIO
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, get_args

from casegraph.disk import atomic_write
from casegraph.errors import InvalidArgument, MalformedFact, UnreadableFile, quoted
from casegraph.formats.arrow import write_parquet
from casegraph.formats.delimited import tsv_lines
from casegraph.formats.json_lines import described_lines, fact_lines
from casegraph.formats.rdf import n_triples
from casegraph.formats.registry import ending_of, format_by_ending, names_file
from casegraph.formats.sources import Place, name_of, opened
from casegraph.graph.facts import fits_utf8, problem_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from casegraph.graph.descriptions import Description

    Rows = Iterable[tuple[str, str, str]]
    Lines = Iterator[bytes]

WrittenFormat = Literal["tsv", "csv", "jsonl", "nt", "ttl", "parquet", "kgx", "neo4j"]
WRITTEN: tuple[str, ...] = get_args(WrittenFormat)
NAMES_HEADER = ("id", "name", "category")
# Other formats whose endings the files of a format may have; .txt is allowed for all.
ALSO_NAMED = {
    "kgx": ("tsv", "jsonl"),
    "neo4j": ("csv",),
    "nt": ("ttl", "nq"),
    "ttl": (),
}
_AMBIGUOUS = "|;"  # separators between two types


def write_facts(
    facts: Rows,
    destination: Place,
    *,
    format: WrittenFormat | None = None,  # noqa: A002
    described: Iterable[Description] = (),
) -> int:
    """Write facts, and descriptions of entities, to a file; returns the number of facts.

    format     by default according to the ending of the file, else tab-separated lines
    described  the labels and types of entities, as in `CaseBase.descriptions`

    The file is compressed if it is named .gz, and written completely or not at all. Raises
    `MalformedFact` at a fact that would not be read back the same.
    """
    name = name_of(destination)
    form = _chosen(format, name)
    counted = _Counted(facts)
    if form in ("kgx", "neo4j"):
        _write_pair(counted, destination, form, described)
    elif form in _WITH_NAMES:
        _write_lines(destination, _WITH_NAMES[form](counted, iter(described), name))
    else:
        beside = names_file(destination, form, must_exist=False)
        names = [] if beside is None else list(_node_lines(described, beside.name))
        if form == "parquet":
            with _written(destination) as file:
                write_parquet(_checked(counted, name), file, name)
        else:
            _write_lines(destination, _FACTS_ONLY[form](counted, name))
        if beside is not None and len(names) > 1:
            _write_lines(beside, iter(names))
    return counted.number


def written_files(
    destination: str, given: WrittenFormat | None = None, *, described: bool
) -> list[Path]:
    """The files that `write_facts` makes; `described` says whether anything has a label or type."""
    form = _chosen(given, destination)
    if form in ("kgx", "neo4j"):
        return list(_pair(Path(destination), form))
    files = [Path(destination)]
    if described and form not in _WITH_NAMES:
        beside = names_file(destination, form, must_exist=False)
        if beside is not None:
            files.append(beside)
    return files


class _Counted:
    """Facts, and the number of those taken so far."""

    def __init__(self, facts: Rows) -> None:
        self._facts = facts
        self.number = 0

    def __iter__(self) -> Iterator[tuple[str, str, str]]:
        for fact in self._facts:
            self.number += 1
            yield fact


def _chosen(given: str | None, name: str) -> str:
    """The format to write; an error if the ending of the file belongs to another one."""
    expected = f"one of {', '.join(WRITTEN)}"
    by_ending = format_by_ending(name)
    if given is None:
        ending = ending_of(name)
        if by_ending is None and not ending:
            return "tsv"
        if by_ending not in WRITTEN or ending == ".json":
            problem = f"facts cannot be written as {ending}; use an ending such as .csv, .jsonl"
            raise UnreadableFile(
                name, f"{problem} or .nt, or say which format ({expected})"
            )
        return by_ending
    if given not in WRITTEN:
        raise InvalidArgument("format", given, expected)
    if ending_of(name) == ".txt":
        by_ending = None
    if by_ending not in (None, given, *ALSO_NAMED.get(given, ())):
        expected = f"{by_ending!r}, since the file is called {Path(name).name}"
        raise InvalidArgument("format", given, expected)
    return given


def _write_lines(destination: Place, lines: Lines) -> None:
    with _written(destination) as file:
        for line in lines:
            file.write(line)


@contextmanager
def _written(destination: Place) -> Iterator[BinaryIO]:
    """A stream to write to; a file gets its name when everything is written."""
    name = name_of(destination)
    is_file = isinstance(destination, str | PathLike) and destination != "-"
    try:
        if not is_file:
            with opened(destination, "wb") as stream:
                yield stream
            return
        path = Path(name)
        # A pipe, or /dev/stdout: nothing to replace.
        if path.exists() and not path.is_file():
            with path.open("wb") as stream:
                yield stream
            return
        with atomic_write(path) as file:
            if name.lower().endswith(".gz"):
                # No name and no time: the same facts give the same file.
                with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
                    yield packed  # type: ignore[misc]
            else:
                yield file
    except OSError as error:
        problem = f"cannot be written: {error.strerror or error}".lower()
        raise UnreadableFile(name, problem) from error


def _csv_lines(facts: Rows, name: str) -> Lines:
    yield _csv_line(["head", "relation", "tail"])
    for fact in _checked(facts, name):
        yield _csv_line(fact)


def _csv_line(cells: Iterable[str]) -> bytes:
    text = StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue().encode()


def _json_lines(facts: Rows, described: Iterator[Description], name: str) -> Lines:
    yield from described_lines(described)
    yield from fact_lines(_checked(facts, name))


def _n_triples(facts: Rows, described: Iterator[Description], name: str) -> Lines:
    return n_triples(facts, described, name)


def _node_lines(described: Iterable[Description], name: str) -> Lines:
    yield "\t".join(NAMES_HEADER).encode() + b"\n"
    for number, (entity, label, types) in enumerate(described, start=2):
        cells = (entity, label, _joined(types, "|", name, number))
        if any("\t" in cell or "\n" in cell for cell in cells):
            raise MalformedFact(
                name, number, f"a tab or line end in {quoted(repr(cells))}"
            )
        yield "\t".join(cells).encode() + b"\n"


def _write_pair(
    facts: Rows, destination: Place, form: str, described: Iterable[Description]
) -> None:
    if not isinstance(destination, str | PathLike) or destination == "-":
        raise InvalidArgument(
            "format", form, "a file to write to: it makes two of them"
        )
    edges, nodes = _pair(Path(destination), form)
    if form == "neo4j":
        known = list(_neo4j_described(described, nodes.name))
        seen: dict[str, None] = {}
        _write_lines(edges, _neo4j_relationships(facts, edges.name, seen))
        _write_lines(nodes, _neo4j_nodes(known, seen))
    elif format_by_ending(edges.name) == "jsonl":
        _write_lines(edges, fact_lines(_checked(facts, edges.name)))
        _write_lines(nodes, described_lines(iter(described)))
    else:
        node_lines = list(_node_lines(described, nodes.name))
        header = b"subject\tpredicate\tobject\n"
        _write_lines(edges, _after(header, tsv_lines(facts, edges.name)))
        _write_lines(nodes, iter(node_lines))


def _pair(path: Path, form: str) -> tuple[Path, Path]:
    """The two files of a format with separate edges and nodes; gzipped if the name says so."""
    packed = ".gz" if path.name.lower().endswith(".gz") else ""
    plain = path.with_name(path.name[: len(path.name) - len(packed)])
    if form == "neo4j":
        edges = f"{plain.stem}_relationships.csv"
        nodes = f"{plain.stem}_nodes.csv"
    else:
        ending = "jsonl" if format_by_ending(plain.name) == "jsonl" else "tsv"
        edges = f"{plain.stem}_edges.{ending}"
        nodes = f"{plain.stem}_nodes.{ending}"
    return path.with_name(edges + packed), path.with_name(nodes + packed)


def _after(header: bytes, lines: Lines) -> Lines:
    yield header
    yield from lines


def _neo4j_relationships(facts: Rows, name: str, seen: dict[str, None]) -> Lines:
    yield _csv_line([":START_ID", ":END_ID", ":TYPE"])
    for head, relation, tail in _checked(facts, name):
        seen[head] = None
        seen[tail] = None
        yield _csv_line([head, tail, relation])


def _neo4j_described(
    described: Iterable[Description], name: str
) -> Iterator[tuple[str, str, str]]:
    """The id, the name and the labels of nodes that are described."""
    for number, (entity, label, types) in enumerate(described, start=2):
        yield entity, label, _joined(types, ";", name, number)


def _neo4j_nodes(
    described: Iterable[tuple[str, str, str]], seen: dict[str, None]
) -> Lines:
    """A row for every entity of the facts, as the import requires, and for every described one."""
    yield _csv_line([":ID", "name", ":LABEL"])
    for node in described:
        seen.pop(node[0], None)
        yield _csv_line(node)
    for entity in seen:
        yield _csv_line([entity, "", ""])


def _joined(types: tuple[str, ...], separator: str, name: str, number: int) -> str:
    for type_name in types:
        has_separator = any(sign in type_name for sign in _AMBIGUOUS)
        is_stripped = type_name == type_name.strip()
        if has_separator or type_name.startswith(":") or not is_stripped:
            problem = (
                f"a type with '|', ';' or ':' cannot be written: {quoted(type_name)}"
            )
            raise MalformedFact(name, number, problem)
    return separator.join(types)


def _checked(facts: Rows, name: str) -> Iterator[tuple[str, str, str]]:
    """The same facts; `MalformedFact` at a name that would not be read back the same."""
    for number, fact in enumerate(facts, start=1):
        for part in fact:
            if problem_of(part) or "\0" in part or not fits_utf8(part):
                problem = (
                    "a name that is blank, or has a tab, line end, NUL or lone surrogate, "
                    "cannot be written"
                )
                shown = quoted("\t".join(fact))
                raise MalformedFact(name, number, f"{problem}: {shown}")
        yield fact


_FACTS_ONLY: dict[str, Callable[[Any, str], Lines]] = {
    "tsv": tsv_lines,
    "csv": _csv_lines,
}
_WITH_NAMES: dict[str, Callable[[Any, Iterator[Any], str], Lines]] = {
    "jsonl": _json_lines,
    "nt": _n_triples,
    "ttl": _n_triples,
}
