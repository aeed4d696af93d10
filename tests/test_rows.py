"""Blocks of lines become the rows that their facts would become one by one."""

import io
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import oracle

from casegraph import CaseBase, kernels
from casegraph.errors import CasegraphError
from casegraph.formats.reading import Facts
from casegraph.formats.registry import read_facts
from casegraph.graph.batches import Batched, Shape, batches_of, size_of
from casegraph.graph.graph import Graph
from casegraph.graph.names import Names
from casegraph.graph.rows import RowReader

SHAPES = [
    Shape(b"\t", 3, (0, 1, 2)),
    Shape(b",", 4, (3, 0, 2)),
    Shape(b" ", 3, (0, 1, 2), brackets=b"<>", end=b" ."),
]
signs = st.sampled_from(
    [b"a", b"\xc3\xa9", b"\t", b",", b" ", b"<", b">", b".", b"\r", b"\0"]
)
plain_lines = st.sampled_from(
    [
        b"a\tr\tb\n",
        b"c\tr\ta\n",
        b"r,x,b,a\n",
        b"<a> <r> <b> .\n",
        b"<b> <r> <> .\n",
        b"\n",
    ]
)
blocks = st.lists(plain_lines | signs | st.just(b"\n"), max_size=30).map(b"".join)


@given(st.lists(blocks, max_size=4), st.sampled_from(SHAPES))
def test_plain_lines_are_numbered_as_they_are_first_seen(
    contents: list[bytes], shape: Shape
) -> None:
    entities = kernels.Interner()
    relations = kernels.Interner()
    seen: tuple[list[bytes], list[bytes]] = ([], [])
    for content in contents:
        rows, starts, others = kernels.interned_lines(
            content,
            shape.separator,
            shape.brackets,
            shape.end,
            shape.width,
            shape.places,
            entities,
            relations,
        )
        expected = oracle.interned_lines(content, *shape, *seen)
        assert (
            rows.reshape(-1, 3).tolist(),
            starts.tolist(),
            others.tolist(),
        ) == expected
    for interner, texts in zip((entities, relations), seen, strict=True):
        assert interner.size == len(texts)
        for first in range(len(texts)):
            assert interner.texts_from(first) == b"\n".join(texts[first:])
        assert interner.texts_from(len(texts)) == b""


def test_many_texts_keep_their_numbers() -> None:
    entities = kernels.Interner()
    relations = kernels.Interner()
    lines = [f"entity {number}\tr\tentity {number // 2}\n" for number in range(50_000)]
    content = "".join(lines).encode()
    for _ in range(2):
        rows, _, _ = kernels.interned_lines(
            content, b"\t", b"", b"", 3, (0, 1, 2), entities, relations
        )
        numbers = rows.reshape(-1, 3)
        assert numbers[:, 0].tolist() == list(range(50_000))
        assert numbers[:, 2].tolist() == [number // 2 for number in range(50_000)]
    assert entities.size == 50_000
    assert relations.size == 1


def test_a_number_that_no_text_has_is_refused() -> None:
    interner = kernels.Interner()
    for first in (-1, 1):
        with pytest.raises(ValueError, match="first"):
            interner.texts_from(first)


class Small(io.BytesIO):
    """A stream that gives few bytes at a time, so that there are many blocks."""

    def read1(self, size: int | None = -1) -> bytes:
        return super().read1(64 if size else 0)


def outcome(
    content: bytes, options: dict[str, Any], *, in_blocks: bool
) -> dict[str, Any]:
    """What becomes of a source that is taken in blocks, or fact by fact."""
    refused = io.BytesIO()
    source = read_facts(Small(content), refused=refused, **options)
    cases = CaseBase()
    error = ""
    try:
        if in_blocks:
            cases.update(add=source)
        else:
            cases.update(add=iter(source), describe=LateDescriptions(source))
    except CasegraphError as raised:
        error = str(raised)
    return {
        "facts": list(cases.graph.facts()),
        "entities": sorted(cases.graph.entities.names),
        "relations": sorted(cases.graph.relations.names),
        "described": list(cases.descriptions),
        "read": None if error else source.read,
        "skipped": source.skipped,
        "left out": None if error else source.left_out,
        "refused": refused.getvalue(),
        "error": error,
    }


class LateDescriptions:
    """What a source says of entities, which is known when its facts have been taken."""

    def __init__(self, source: Facts) -> None:
        self._source = source

    def __iter__(self) -> Iterator[Any]:
        return iter(self._source.described)


table_lines = st.sampled_from(
    [
        b"a\tr\tb\n",
        b"b\tr\tc\n",
        b"a\ts\tb\r\n",
        b"a,r,b\n",
        b'"a",r,b\n',
        b"new\tr\t \n",
        b" \tnew\tx\n",
        b"newer\tr\n",
        b"odd\xff\tr\tb\n",
        b"\xc3\xa9\tr\tb\n",
        b"\xe3\x80\x80\tr\tb\n",
        b"a\0\tr\tb\n",
        b"a\r\tr\tb\n",
        b"\n",
        b"\r\n",
    ]
)


@given(
    st.lists(table_lines, max_size=25).map(b"".join),
    st.sampled_from(["tsv", "csv"]),
    st.sampled_from(["stop", "skip"]),
    st.booleans(),
)
def test_a_table_is_the_same_in_blocks_and_fact_by_fact(
    content: bytes,
    format: str,  # noqa: A002
    on_error: str,
    ends: bool,
) -> None:
    options = {"format": format, "on_error": on_error, "header": False}
    content = content if ends else content.removesuffix(b"\n")
    in_blocks = outcome(content, options, in_blocks=True)
    assert in_blocks == outcome(content, options, in_blocks=False)


triple_lines = st.sampled_from(
    [
        b"<http://e.org/a> <http://e.org/r> <http://e.org/b> .\n",
        b"<http://e.org/b> <http://e.org/r> <http://e.org/a> .\r\n",
        b"<http://e.org/b>\t<http://e.org/s>  <http://e.org/c>.\n",
        b'<http://e.org/only> <http://e.org/said> "7" .\n',
        b"<http://e.org/\xc3\xa9> <http://e.org/r> _:b0 .\n",
        b'<http://e.org/a> <http://www.w3.org/2000/01/rdf-schema#label> "A"@en .\n',
        b"<http://e.org/a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://e.org/T> .\n",
        b"<urn:casegraph:a%20b> <urn:casegraph:r> <urn:casegraph:c> .\n",
        b"<http://e.org/\\u00e9> <http://e.org/r> <http://e.org/b> .\n",
        b"# a comment\n",
        b"\n",
    ]
)
wrong_triples = st.sampled_from(
    [
        b"<http://e.org/a> <http://e.org/r> <http://e.org/b>\n",
        b"<a> <http://e.org/r> <http://e.org/b> .\n",
        b"<http://e.org/a|b> <http://e.org/r> <http://e.org/b> .\n",
        b"<http://e.org/\xff> <http://e.org/r> <http://e.org/b> .\n",
        b"<> <http://e.org/r> <http://e.org/b> .\n",
        b"a\tr\tb\n",
    ]
)
good_triples = st.lists(triple_lines, max_size=15).map(b"".join)


@given(
    good_triples,
    st.none() | wrong_triples,
    good_triples,
    st.sampled_from(["leave out", "keep"]),
)
def test_n_triples_are_the_same_in_blocks_and_fact_by_fact(
    before: bytes, wrong: bytes | None, after: bytes, literals: str
) -> None:
    options = {"format": "nt", "literals": literals}
    content = before + (wrong or b"") + after
    in_blocks = outcome(content, options, in_blocks=True)
    assert in_blocks == outcome(content, options, in_blocks=False)
    # N-Quads have the same lines, and are read as one stream.
    assert in_blocks == outcome(content, options | {"format": "nq"}, in_blocks=True)
    assert bool(in_blocks["error"]) == bool(wrong)


def test_what_was_begun_one_by_one_goes_on_in_batches() -> None:
    content = b"".join(
        f"e{number}\tr\te{number + 1}\n".encode() for number in range(100)
    )
    source = read_facts(Small(content), header=False)
    first = [next(source) for _ in range(7)]
    graph = Graph.of(source)
    assert source.read == 100
    assert len(graph) == 93
    assert len(Graph.of(first)) == 7


def test_sources_of_several_kinds_are_taken_together() -> None:
    table = read_facts(io.BytesIO(b"a\tr\tb\n<x>\tr\ty\n"), header=False)
    triples = read_facts(
        io.BytesIO(b"<urn:casegraph:a> <urn:casegraph:r> <x:y> .\n"), format="nt"
    )
    both = Batched(batch for source in (table, triples) for batch in batches_of(source))
    graph = Graph.of(both)
    assert set(graph.facts()) == {("a", "r", "b"), ("<x>", "r", "y"), ("a", "r", "x:y")}


def test_rows_are_numbered_by_the_names_that_are_there() -> None:
    reader = RowReader(Names(["b", "old"]), Names(["r"]))
    (rows,) = reader.rows(read_facts(io.BytesIO(b"a\tr\tb\nb\ts\ta\n"), header=False))
    assert rows.tolist() == [[2, 0, 0], [0, 1, 2]]
    assert reader.entities.names == ["b", "old", "a"]
    assert reader.relations.names == ["r", "s"]


def test_the_size_of_a_batch_is_known_before_it_is_read() -> None:
    batches = list(
        batches_of(read_facts(io.BytesIO(b"a\tr\tb\nb\tr\tc\n"), header=False))
    )
    assert [size_of(batch) for batch in batches if size_of(batch)] == [2]
