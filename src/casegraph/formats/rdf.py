"""
RDF: N-Triples, N-Quads, Turtle, TriG and RDF/XML, by pyoxigraph (the extra `rdf`).

How each kind of term is read:

    IRI           a name, in full; `urn:casegraph:` and a percent-encoded name is that name
    blank node    a name such as `_:b0`; those without a label are numbered in their order
    literal       of rdfs:label and similar predicates: the label of the subject. Any other is left
                  out and counted, or becomes a name in N-Triples syntax if literals are kept
    graph name    left out: the facts of all graphs are read as one graph
    triple as a term (RDF 1.2)   left out and counted

`rdf:type` is a fact like any other, and also makes its object a type of its subject.
"""

from __future__ import annotations

import re
from contextlib import closing
from io import BufferedReader
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from casegraph.errors import MalformedFact, optional_module, quoted, shortened
from casegraph.formats.bounds import (
    MAX_MEBIBYTES,
    bounded_lines,
    bounded_turtle,
    bounded_xml,
)
from casegraph.formats.sources import PIECE_BYTES, PieceReader, Place, pieces_of
from casegraph.graph.batches import Block, LineSource, Shape
from casegraph.graph.descriptions import Description
from casegraph.graph.facts import Fact, fits_utf8, problem_of

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    from casegraph.formats.reading import Batches, Options, Reading

OURS = "urn:casegraph:"  # the prefix of a name that is not an IRI
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
OUR_TYPE = "urn:casegraph-type"  # says what an entity is without being a fact
LABELS = {  # the predicates of labels, best first
    LABEL: 0,
    "http://www.w3.org/2004/02/skos/core#prefLabel": 1,
    "http://schema.org/name": 2,
    "https://schema.org/name": 2,
    "http://xmlns.com/foaf/0.1/name": 3,
    "http://purl.org/dc/terms/title": 4,
    "http://purl.org/dc/elements/1.1/title": 5,
}
FACTS_AT_ONCE = 1 << 12
_FORMATS = {
    "nt": "N_TRIPLES",
    "nq": "N_QUADS",
    "ttl": "TURTLE",
    "trig": "TRIG",
    "rdfxml": "RDF_XML",
}
_BOUNDED = {
    "nq": bounded_lines,
    "ttl": bounded_turtle,
    "trig": bounded_turtle,
    "rdfxml": bounded_xml,
}
# Pyoxigraph's label of a blank node without one.
_RANDOM_LABEL = re.compile(r"[0-9a-f]{30,32}")
_BLANK = re.compile(r"_:[A-Za-z0-9_]+([A-Za-z0-9_.-]*[A-Za-z0-9_-])?")
_SIGNS = r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|[^\W\x00-\x9f]|%[0-9A-Fa-f]{2})"
# Certainly an IRI. Some IRIs do not match; they are written like names that are not IRIs.
_IRI = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]*:"
    r"(?://[A-Za-z0-9.-]+(?::[0-9]+)?(?=[/?#]|$)|(?!/))"  # a host, or no slash
    rf"{_SIGNS}*(?:\?{_SIGNS}*)?(?:#{_SIGNS}*)?"
)
_ESCAPES = str.maketrans(
    {"\\": r"\\", '"': r"\"", "\n": r"\n", "\r": r"\r", "\t": r"\t"}
)
_PLACE = re.compile(
    r"^Parser error at line \d+ (column \d+|between columns \d+ and \d+): ?"
)
_NOT_A_NAME = ""


def read_rdf(
    format_name: str, source: Place, reading: Reading, options: Options
) -> Batches:
    """The facts of a file of RDF; labels in its literals are kept as descriptions."""
    needs = f"{reading.source}: reading RDF needs pyoxigraph"
    pyoxigraph = optional_module("pyoxigraph", needs, extra="rdf")
    terms = _Terms(pyoxigraph, reading, literals=options.literals)
    pieces = pieces_of(source, options.encoding)
    with closing(pieces):
        if format_name == "nt":
            yield from _blocks_of_triples(bounded_lines(pieces, reading.stop), terms)
        else:
            bounded = _BOUNDED[format_name](pieces, reading.stop)
            stream = BufferedReader(PieceReader(bounded), PIECE_BYTES)
            yield from terms.facts(stream, format_name)
    reading.described += terms.descriptions()


def _blocks_of_triples(blocks: Iterator[bytes], terms: _Terms) -> Batches:
    """Blocks of lines of N-Triples. Each line is a triple by itself, so it can be read alone."""
    lines = _TripleLines(terms)
    line_number = 1
    for content in blocks:
        yield Block(content, lines, line_number)
        line_number += content.count(b"\n")


class _TripleLines(LineSource):
    """Lines of N-Triples; a line is plain if it has three IRIs and is a fact and nothing else."""

    def __init__(self, terms: _Terms) -> None:
        self._terms = terms

    @property
    def shape(self) -> Shape:
        """Three IRIs and a full stop, with a space between each two."""
        return Shape(b" ", 3, (0, 1, 2), brackets=b"<>", end=b" .")

    def names(self, texts: list[str], *, are_relations: bool) -> list[str]:
        """The names of IRIs; empty for those that pyoxigraph must read."""
        return [_plain_name(text, is_relation=are_relations) for text in texts]

    def facts_of_block(self, block: Block) -> Iterator[list[Fact]]:
        """The facts of a block, as pyoxigraph reads them."""
        return self._terms.facts(block.content, "nt", block.first_line)

    def facts_of_lines(self, lines: list[bytes]) -> list[Fact] | None:
        """The facts of some lines; None if one is malformed: then the block is read to find it."""
        try:
            return self._terms.facts_of_all(b"".join(lines), "nt")
        except SyntaxError:
            return None


def _plain_name(iri: str, *, is_relation: bool) -> str:
    """The name that an IRI stands for; empty if pyoxigraph must read it."""
    is_special = is_relation and (iri in LABELS or iri in (TYPE, OUR_TYPE))
    if is_special or not _IRI.fullmatch(iri):
        return ""
    name = _decoded(iri)
    return "" if problem_of(name) else name


def n_triples(
    facts: Iterable[tuple[str, str, str]],
    descriptions: Iterable[Description],
    name: str,
) -> Iterator[bytes]:
    """Facts and descriptions as N-Triples, which `read_rdf` reads back the same."""
    for number, (head, relation, tail) in enumerate(facts, start=1):
        for part in (head, relation, tail):
            if problem_of(part) or not fits_utf8(part):
                problem = (
                    "a name that is blank, or has a tab, line end or lone surrogate"
                )
                raise MalformedFact(
                    name, number, f"{problem}, cannot be written: {quoted(part)}"
                )
        is_label = relation in LABELS or relation == OUR_TYPE
        predicate = (
            _encoded(relation) if is_label else term(relation, is_predicate=True)
        )
        yield f"{term(head)} {predicate} {term(tail)} .\n".encode()
    for described, label, types in descriptions:
        if label:
            text = label.translate(_ESCAPES)
            yield f'{term(described)} <{LABEL}> "{text}" .\n'.encode(errors="replace")
        for its_type in types:
            yield f"{term(described)} <{OUR_TYPE}> {term(its_type)} .\n".encode(
                errors="replace"
            )


def term(name: str, *, is_predicate: bool = False) -> str:
    """A name as a term of N-Triples: an IRI as it is, any other name as an IRI of ours."""
    if not is_predicate and _BLANK.fullmatch(name):
        return name
    if _IRI.fullmatch(name) and not name.startswith(OURS):
        return f"<{name}>"
    return _encoded(name)


def _encoded(name: str) -> str:
    return f"<{OURS}{quote(name, safe='')}>"


class _Terms:
    """Turns terms of RDF into names, and keeps labels and types of entities."""

    def __init__(self, pyoxigraph: Any, reading: Reading, *, literals: bool) -> None:  # noqa: ANN401
        self._pyoxigraph = pyoxigraph
        self._named = pyoxigraph.NamedNode
        self._blank = pyoxigraph.BlankNode
        self._literal = pyoxigraph.Literal
        self._reading = reading
        self._keeps_literals = literals
        self._anonymous: dict[str, str] = {}
        self._labels: dict[str, tuple[tuple[int, int, str, str], str]] = {}
        self._types: dict[str, set[str]] = {}

    def facts(
        self,
        source: Any,  # noqa: ANN401
        format_name: str,
        first_line: int = 1,
    ) -> Generator[list[Fact], None, None]:
        """The facts of a stream or of bytes, many at a time.

        first_line  the number of the first line, for the message if one is malformed
        """
        batch: list[Fact] = []
        try:
            for quad in self._parsed(source, format_name):
                fact = self.fact(quad)
                if fact is not None:
                    batch.append(fact)
                    if len(batch) == FACTS_AT_ONCE:
                        yield batch
                        batch = []
        except SyntaxError as error:
            yield batch
            problem = _PLACE.sub("", error.msg or "it is no RDF of this kind")
            line = first_line - 1 + (error.lineno or 1)
            self._reading.stop(line, shortened(" ".join(problem.split()), 300))
        except MemoryError:
            yield batch
            self._reading.stop(0, f"a term has more than {MAX_MEBIBYTES} MiB")
        yield batch

    def facts_of_all(self, content: bytes, format_name: str) -> list[Fact]:
        """The facts of some bytes; if they are malformed, a `SyntaxError`, and nothing is kept."""
        # All of them, before any is kept.
        quads = list(self._parsed(content, format_name))
        found = [self.fact(quad) for quad in quads]
        return [fact for fact in found if fact is not None]

    def _parsed(self, source: Any, format_name: str) -> Iterator[Any]:  # noqa: ANN401
        rdf_format = getattr(self._pyoxigraph.RdfFormat, _FORMATS[format_name])
        parsed: Iterator[Any] = self._pyoxigraph.parse(source, rdf_format)
        return parsed

    def fact(self, quad: Any) -> Fact | None:  # noqa: ANN401
        """The fact of a triple; None if it is a label, a type or left out: that is noted."""
        predicate = quad.predicate.value
        subject = self._name(quad.subject)
        if type(quad.object) is self._literal:
            if predicate in LABELS:
                self._keep_label(subject, LABELS[predicate], quad.object)
                return None
            if not self._keeps_literals:
                self._reading.left_out["literals"] += 1
                return None
        tail = self._name(quad.object)
        if _NOT_A_NAME in (subject, tail):
            return None
        if predicate in (TYPE, OUR_TYPE):
            self._types.setdefault(subject, set()).add(tail)
        if predicate == OUR_TYPE:
            return None
        return Fact(subject, _decoded(predicate), tail)

    def descriptions(self) -> list[Description]:
        """The labels and types that were read, in the order of names."""
        found = []
        for name in sorted(self._labels.keys() | self._types.keys()):
            _, label = self._labels.get(name, (None, ""))
            types = tuple(sorted(self._types.get(name, ())))
            found.append(Description(name, label, types))
        return found

    def _name(self, node: Any) -> str:  # noqa: ANN401
        kind = type(node)
        if kind is self._named:
            return _decoded(node.value)
        if kind is self._blank:
            return self._blank_name(node.value)
        if kind is self._literal:
            return str(node)
        self._reading.left_out["triples as terms"] += 1
        return _NOT_A_NAME

    def _blank_name(self, label: str) -> str:
        if not _RANDOM_LABEL.fullmatch(label):
            return f"_:{label}"
        if label not in self._anonymous:
            self._anonymous[label] = f"_:anonymous{len(self._anonymous) + 1}"
        return self._anonymous[label]

    def _keep_label(self, subject: str, predicate: int, literal: Any) -> None:  # noqa: ANN401
        """Keep the best label of a subject: by predicate, then without language, English, others.

        predicate  the rank of the predicate
        """
        language = literal.language or ""
        preferred = ["", "en"]
        language_rank = (
            preferred.index(language) if language in preferred else len(preferred)
        )
        label = literal.value.strip()
        rank = (predicate, language_rank, language, label)
        if label and (subject not in self._labels or rank < self._labels[subject][0]):
            self._labels[subject] = rank, label


def _decoded(iri: str) -> str:
    return unquote(iri.removeprefix(OURS)) if iri.startswith(OURS) else iri
