"""Files of RDF and Parquet that would take much memory or time are refused with their line."""

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from casegraph.errors import MalformedFact
from casegraph.formats.bounds import Stop, bounded_lines, bounded_turtle, bounded_xml
from casegraph.formats.registry import FormatName, read_facts
from casegraph.formats.sources import MAX_RECORD_BYTES

XML = '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="urn:e:">\n'
BEGIN = XML.encode()
END = b"</rdf:RDF>\n"
FACT = b'<rdf:Description rdf:about="urn:a"><e:r rdf:resource="urn:b"/></rdf:Description>\n'
LONG = b"x" * (MAX_RECORD_BYTES + 1)
LAUGHS = b'<!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>\n'
ONLY_ABBREVIATIONS = (
    "a document type declaration may only have entities of up to 1,000 characters "
    "that do not refer to others"
)
Bounded: TypeAlias = Callable[[Iterator[bytes], Stop], Iterator[bytes]]
HOSTILE: dict[str, tuple[FormatName, bytes, str]] = {
    "entities of entities": (
        "rdfxml",
        LAUGHS + BEGIN + END,
        f"1: {ONLY_ABBREVIATIONS}",
    ),
    "an entity in a file": (
        "rdfxml",
        b'\n<!DOCTYPE r [<!ENTITY a SYSTEM "/etc/passwd">]>' + BEGIN + END,
        f"2: {ONLY_ABBREVIATIONS}",
    ),
    "a declaration in small letters": (
        "rdfxml",
        LAUGHS.lower() + BEGIN + END,
        f"1: {ONLY_ABBREVIATIONS}",
    ),
    "text of entities": (
        "rdfxml",
        b'<!DOCTYPE r [<!ENTITY a "' + b"x" * 1000 + b'">]>' + BEGIN + b"&a;" * 20_000,
        "1: a tag, a comment or a text has more than 16 MiB",
    ),
    "text of 16 bits": (
        "rdfxml",
        "<!DOCTYPE".encode("utf-16-le"),
        "1: found a NUL byte",
    ),
    "nested elements": (
        "rdfxml",
        BEGIN + b"<e:a>\n<e:r>" * 1000,
        "502: there are more than 1,000 elements within each other",
    ),
    "attributes": (
        "rdfxml",
        BEGIN + b"<e:a " + b"".join(b"e:p%d='' " % n for n in range(1001)) + b"/>",
        "2: an element has more than 1,000 attributes",
    ),
    "an endless tag": (
        "rdfxml",
        BEGIN + b'<e:a e:r="' + LONG,
        "2: a tag, a comment or a text has more than 16 MiB",
    ),
    "nested brackets": (
        "ttl",
        b"<urn:a> <urn:r>\n" + b"[ <urn:r>\n" * 1001,
        "1002: there are more than 1,000 brackets within each other",
    ),
    "nested brackets after an escaped quote": (
        "trig",
        rb"@prefix e: <urn:e> . e:a\' e:r " + b"( " * 1001,
        "1: there are more than 1,000 brackets within each other",
    ),
    "an endless string": (
        "ttl",
        b'<urn:a> <urn:r> """' + b"xxxxxxx\n" * (MAX_RECORD_BYTES // 8 + 20_000),
        "a string has more than 16 MiB",
    ),
    "an endless line": ("nq", b"\n# " + LONG, "2: a line has more than 16 MiB"),
    "an endless triple": (
        "nt",
        b"<urn:a> <urn:r> <urn:b> .\n<urn:" + LONG,
        "2: a line has more than 16 MiB",
    ),
    "many columns": (
        "csv",
        b",".join([b"x"] * 10_001),
        "1: found 10,001 fields, and up to 10,000 are read",
    ),
}


def stop(line: int, problem: str) -> NoReturn:
    raise MalformedFact("a file", line, problem)


def pieces_of(content: bytes, size: int) -> Iterator[bytes]:
    for start in range(0, len(content), size):
        yield content[start : start + size]


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_file_beyond_a_bound_is_refused_with_its_line(kind: str) -> None:
    pytest.importorskip("pyoxigraph")
    format_name, content, problem = HOSTILE[kind]
    with pytest.raises(MalformedFact) as raised:
        list(read_facts(io.BytesIO(content), format=format_name))
    assert problem in str(raised.value)


VALID: dict[Bounded, list[bytes]] = {
    bounded_turtle: [
        b'<urn:a> <urn:r> "a ( [ {" , \'( # \' , """\n"( """ . # ( ( (\n<urn:a(((> <urn:r> [] .',
        b"@prefix e: <urn:e> .\n" + b"e:a e:r ( e:b [ e:r e:c ] ) .\n" * 2000,
        b'<urn:a> <urn:r> "(((\\"(((" , "" , \'\', """a"b""c\\"""" .\n' * 400,
    ],
    bounded_xml: [
        BEGIN + FACT * 1001 + b"<!-- <a><a> -->" * 1001 + END,
        b'<!DOCTYPE rdf:RDF [\n <!ENTITY e "urn:e:" >\n]>\n' + BEGIN + FACT + END,
        BEGIN + b"<e:a><e:r><![CDATA[<a><a>&]]></e:r></e:a>" * 600 + END,
        BEGIN + b'<e:a e:r="<a>" e:s=\'"\'/>' + END,
    ],
    bounded_lines: [b"a\n\nb", b"", b"\n" * 70],
}


@pytest.mark.parametrize("size", [1, 7, 4096])
@pytest.mark.parametrize("bounded", VALID)
def test_what_is_within_bounds_is_passed_on_as_it_is(
    bounded: Bounded, size: int
) -> None:
    for content in VALID[bounded]:
        if len(content) <= 10_000 * size:
            assert b"".join(bounded(pieces_of(content, size), stop)) == content


@given(st.text(alphabet="a\"'\\#<>[](){}&!-\n", max_size=60), st.integers(1, 9))
def test_any_text_is_passed_on_as_it_is_or_refused(text: str, size: int) -> None:
    content = text.encode()
    assert b"".join(bounded_turtle(pieces_of(content, size), stop)) == content
    try:
        found = b"".join(bounded_xml(pieces_of(content, size), stop))
    except MalformedFact:
        assert b"<!" in content
    else:
        assert found == content


def test_abbreviations_of_iris_are_read() -> None:
    pytest.importorskip("pyoxigraph")
    content = (
        b'<!DOCTYPE rdf:RDF [ <!ENTITY e "urn:e:" > ]>\n'
        + BEGIN
        + FACT.replace(b"urn:b", b"&e;b")
        + END
    )
    facts = list(read_facts(io.BytesIO(content), format="rdfxml"))
    assert facts == [("urn:a", "urn:e:r", "urn:e:b")]


@pytest.mark.parametrize("format_name", ["nt", "nq", "ttl", "trig", "rdfxml"])
def test_what_a_parser_says_is_one_line(format_name: FormatName) -> None:
    pytest.importorskip("pyoxigraph")
    for content in (b"<urn:a\nb> \n<c>", b'"\n\n\n"x', b"<a\n\n=>\n</b\n>"):
        with pytest.raises(MalformedFact) as raised:
            list(read_facts(io.BytesIO(content), format=format_name))
        assert "\n" not in str(raised.value)


def test_text_of_parquet_that_is_no_utf_8_is_refused_with_its_row(
    tmp_path: Path,
) -> None:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    def column(*values: bytes) -> Any:
        return arrow.array(values, arrow.binary()).view(arrow.string())

    table = arrow.table(
        {
            "head": column(b"a", b"b"),
            "relation": column(b"r", b"r"),
            "tail": column(b"c", b"\xff"),
        }
    )
    file = tmp_path / "facts.parquet"
    parquet.write_table(table, file)
    with pytest.raises(
        MalformedFact, match=r":2: expected a name, which is text, found b"
    ):
        list(read_facts(file))
    assert list(read_facts(file, on_error="skip")) == [("a", "r", "c")]
