"""
The formats, by name and by file extension, and the functions that choose among them.

A format that needs a library is imported when it is first used.
"""

from __future__ import annotations

from codecs import getincrementaldecoder
from functools import partial
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, NamedTuple, TextIO, get_args

from casegraph.errors import InvalidArgument, UnreadableFile
from casegraph.formats.reading import Batches, Facts, Options, Reading
from casegraph.formats.sources import Place, name_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

FormatName = Literal[
    "tsv", "csv", "jsonl", "nt", "nq", "ttl", "trig", "rdfxml", "parquet", "arrow"
]
FORMAT_NAMES: tuple[str, ...] = get_args(FormatName)
_SPREADSHEET = "is a spreadsheet, which is neither read nor written; use CSV (.csv)"
FOREIGN = {
    ".xlsx": _SPREADSHEET,
    ".xls": _SPREADSHEET,
    ".ods": _SPREADSHEET,
    ".jsonld": "is neither read nor written; use N-Triples (.nt) or Turtle (.ttl)",
}
FACTS_ONLY = ("tsv", "csv", "parquet", "arrow")  # formats without a place for labels
NAMES_ENDING = ".names.tsv"  # of the file with labels and types beside a file of facts
PACKED = ".gz"


class Format(NamedTuple):
    """A format of files.

    endings  of their names
    module   of `casegraph.formats` that reads them
    reader   the name of the function there
    """

    endings: tuple[str, ...]
    module: str
    reader: str


FORMATS: dict[str, Format] = {
    "tsv": Format((".tsv", ".txt", ".tab", ".sif"), "delimited", "read_tsv"),
    "csv": Format((".csv",), "delimited", "read_csv"),
    "jsonl": Format((".jsonl", ".ndjson", ".json"), "json_lines", "read_json_lines"),
    "nt": Format((".nt", ".ntriples"), "rdf", "read_rdf"),
    "nq": Format((".nq", ".nquads"), "rdf", "read_rdf"),
    "ttl": Format((".ttl", ".turtle"), "rdf", "read_rdf"),
    "trig": Format((".trig",), "rdf", "read_rdf"),
    "rdfxml": Format((".rdf", ".owl", ".xml"), "rdf", "read_rdf"),
    "parquet": Format((".parquet", ".pq"), "arrow", "read_parquet"),
    "arrow": Format((".arrow", ".feather", ".ipc"), "arrow", "read_arrow"),
}


def read_facts(  # noqa: PLR0913
    source: Place,
    *,
    format: FormatName | None = None,  # noqa: A002
    header: bool | None = None,
    columns: Sequence[str] | None = None,
    literals: Literal["leave out", "keep"] = "leave out",
    encoding: str | None = None,
    names: Place | None = None,
    on_error: Literal["stop", "skip"] = "stop",
    refused: BinaryIO | TextIO | None = None,
) -> Facts:
    """The facts of a file, of standard input (`"-"`) or of a binary stream, in their order.

    The source may be compressed with gzip. It is opened when the first fact is asked for, and
    `UnreadableFile` is raised if it cannot be read to its end.

    format    by default as the name of the file ends, else "tsv"
    header    whether the first line names the columns; by default, this is detected
    columns   the columns with head, relation and tail, by their names in the header or by their
              numbers from 1; needed only where the header does not say which they are. "=treats"
              in the place of the relation gives all rows that relation
    literals  of RDF, "leave out" (those of rdfs:label become labels), or "keep" as entities
    encoding  of the text, such as "cp1252" for files of spreadsheets on Windows; by default UTF-8,
              or UTF-16 if the first bytes of the file say so
    names     a file with the labels and types of entities; a file of facts that has one beside it,
              called like it but with .names.tsv at the end, is read with that
    on_error  "stop" raises `MalformedFact` at the first line that is not a fact, "skip" counts it
    refused   where "skip" writes such lines, byte for byte
    """
    if format is not None and format not in FORMATS:
        raise InvalidArgument("format", format, _listed(FORMAT_NAMES))
    if on_error not in ("stop", "skip"):
        raise InvalidArgument("on_error", on_error, "'stop' or 'skip'")
    if literals not in ("leave out", "keep"):
        raise InvalidArgument("literals", literals, "'leave out' or 'keep'")
    if columns is not None:
        _check_columns(columns, header)
    if encoding is not None:
        _check_encoding(encoding)

    reading = Reading(
        name_of(source),
        is_strict=on_error == "stop",
        refused=getattr(refused, "buffer", refused),
    )
    options = Options(header, columns, literals == "keep", encoding)
    chosen: str = format or format_of(name_of(source))
    batches = _reader(chosen)(source, reading, options)
    names_beside = names_file(source, chosen)
    if names is None and names_beside is not None:
        names = names_beside
    if names is not None:
        batches = _with_names(batches, names, reading, encoding)
    return Facts(reading, batches)


def names_file(
    source: Place, format_name: str | None = None, *, must_exist: bool = True
) -> Path | None:
    """The file with labels and types beside a file of facts; None if there is none.

    Only formats without a place for labels have such a file.
    """
    if not isinstance(source, str | PathLike) or source == "-":
        return None
    path = Path(source)
    form = format_name or format_of(path.name)
    if form not in FACTS_ONLY:
        return None
    stem = Path(path.name.removesuffix(PACKED)).stem
    beside = path.with_name(stem + NAMES_ENDING)
    if beside == path or (must_exist and not beside.is_file()):
        return None
    return beside


def _with_names(
    batches: Batches, names: Place, reading: Reading, encoding: str | None
) -> Batches:
    """The same facts; after them, the descriptions in a file of names are available too."""
    from casegraph.formats.name_files import read_names

    try:
        yield from batches
    finally:
        batches.close()
    reading.described += read_names(names, encoding)


def format_of(name: str) -> str:
    """The format of a file of this name; tab-separated lines if its ending says nothing.

    `UnreadableFile` if the ending is that of a format that is not supported.
    """
    return format_by_ending(name) or "tsv"


def format_by_ending(name: str) -> str | None:
    """The format that the name of a file ends in; None if its ending says nothing."""
    ending = ending_of(name)
    if ending in FOREIGN:
        raise UnreadableFile(name, FOREIGN[ending])
    for format_name, known in FORMATS.items():
        if ending in known.endings:
            return format_name
    return None


def ending_of(name: str) -> str:
    """What the name of a file ends in, such as .csv, whether it is packed or not."""
    return Path(name.lower().removesuffix(PACKED)).suffix


def _reader(format_name: str) -> Callable[[Place, Reading, Options], Batches]:
    known = FORMATS[format_name]
    module = import_module(f"casegraph.formats.{known.module}")
    read: Any = getattr(module, known.reader)
    if known.module == "rdf":
        return partial(read, format_name)
    return read  # type: ignore[no-any-return]


def _check_columns(columns: Sequence[str], header: bool | None) -> None:
    are_three = (
        len(columns) == 3 and len(set(columns)) == 3 and not isinstance(columns, str)
    )
    in_header = [
        name for name in columns if not name.isdecimal() and not name.startswith("=")
    ]
    if not are_three or (header is False and in_header):
        expected = (
            "three different names that are in the header, or three numbers from 1"
        )
        raise InvalidArgument("columns", columns, expected)


def _check_encoding(encoding: str) -> None:
    try:
        getincrementaldecoder(encoding)
    except LookupError:
        expected = "the name of an encoding, such as utf-8, cp1252 or utf-16"
        raise InvalidArgument("encoding", encoding, expected) from None


def _listed(names: Iterable[str]) -> str:
    *others, last = map(repr, names)
    return f"{', '.join(others)} or {last}"
