import gc
import gzip
import io
import sys
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from casegraph.errors import (
    CasegraphError,
    InvalidArgument,
    MalformedFact,
    UnreadableFile,
)
from casegraph.formats.registry import read_facts
from casegraph.formats.writing import write_facts
from casegraph.graph.facts import Fact, columns_of

FACT = Fact("durham", "located_in", "north_carolina")
HEADERS = [
    "head relation tail",
    "Subject Predicate OBJECT",
    "source relation target",
    "source type target",
    "source metaedge target",
    "from rel to",
    "h r t",
    "?s ?p ?o",
    ":START_ID :TYPE :END_ID",
    "subject_id predicate_id object_id",
    "node1 label node2",
]
COLUMNS = (
    "expected three different names that are in the header, or three numbers from 1"
)
LINE = b"durham\tlocated_in\tnorth_carolina\n"

names = st.text(
    st.characters(exclude_characters="\t\n\r\0", exclude_categories=["Cs"]), min_size=1
).filter(str.strip)
facts = st.lists(st.builds(Fact, names, names, names))
fragments = st.sampled_from(
    [
        b"a",
        b"b\xc3\xa9",
        b"\t",
        b"\t",
        b"\t",
        b"\n",
        b"\n",
        b"\r\n",
        b"\r",
        b" ",
        b"\0",
        b"\xff",
        b",",
        b'"',
        b"\xef\xbb\xbf",
    ]
)
lines = st.sampled_from(
    [
        LINE,
        b"a\tr\tb\r\n",
        b"a\tr\n",
        b"\n",
        b"h\tr\tt\n",
        b"a,r,b\n",
        b'"a\n",r,b\n',
        b"a\xff\tr\tb\n",
    ]
)
files = st.lists(fragments | lines).map(b"".join)


class Trickle(io.BytesIO):
    """A stream that gives a few bytes at a time."""

    def __init__(self, content: bytes, size: int) -> None:
        super().__init__(content)
        self._size = size

    def read1(self, size: int | None = -1) -> bytes:
        return super().read1(self._size)


def outcome(
    stream: io.BytesIO, options: dict[str, Any]
) -> tuple[list[Fact], int, bytes, str]:
    """The facts of a stream, the number and the bytes
    of the lines refused, and the error, if any.
    """
    refused = io.BytesIO()
    taken = list[Fact]()
    error = ""
    source = read_facts(stream, refused=refused, **options)
    try:
        taken.extend(source)
    except CasegraphError as raised:
        error = str(raised)
    assert source.read == len(taken) or error
    return taken, source.skipped, refused.getvalue(), error


@given(facts)
def test_what_is_written_reads_back(facts: list[Fact]) -> None:
    stream = io.BytesIO()
    assert write_facts(facts, stream) == len(facts)
    assert list(read_facts(io.BytesIO(stream.getvalue()), header=False)) == facts


@given(st.lists(st.tuples(*[st.text(st.sampled_from("a \t\n\r\0\ud800\ufeffé"))] * 3)))
def test_what_would_not_read_back_is_not_written(
    facts: list[tuple[str, str, str]],
) -> None:
    stream = io.BytesIO()
    try:
        write_facts(facts, stream)
    except MalformedFact as error:
        facts = facts[: error.line - 1]
    assert list(read_facts(io.BytesIO(stream.getvalue()), header=False)) == facts


@given(
    files,
    st.integers(1, 9),
    st.sampled_from(["tsv", "csv"]),
    st.sampled_from(["stop", "skip"]),
    st.booleans(),
)
def test_block_boundaries_never_matter(
    content: bytes,
    size: int,
    format: str,  # noqa: A002
    on_error: str,
    packed: bool,
) -> None:
    options = {"format": format, "on_error": on_error}
    trickled = Trickle(gzip.compress(content) if packed else content, size)
    assert outcome(trickled, options) == outcome(io.BytesIO(content), options)


@given(files)
@example(b"\r\t")  # the line end is not at the end
def test_every_byte_is_a_fact_or_refused_or_empty(content: bytes) -> None:
    taken, skipped, refused, error = outcome(
        io.BytesIO(content), {"header": False, "on_error": "skip"}
    )
    lines = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    lines_with_text = [line for line in lines if line.rstrip(b"\r").strip(b"\t")]
    assert error == ""
    assert len(taken) + skipped == len(lines_with_text)
    assert refused.count(b"\n") in (skipped, skipped - 1)


@given(facts, st.sampled_from([b"\n", b"\r\n"]))
def test_line_ends_do_not_change_facts(facts: list[Fact], end: bytes) -> None:
    content = b"".join("\t".join(fact).encode() + end for fact in [FACT, *facts])
    assert list(read_facts(io.BytesIO(content), header=False)) == [FACT, *facts]


@pytest.mark.parametrize(
    "name", ["facts.tsv", "facts.txt", "facts", "facts.tsv.gz", "FACTS.GZ"]
)
def test_a_file_that_is_written_reads_back(tmp_path: Path, name: str) -> None:
    assert write_facts([FACT, ("a", "r", "b")], tmp_path / name) == 2
    assert list(read_facts(tmp_path / name)) == [FACT, Fact("a", "r", "b")]
    assert (tmp_path / name).read_bytes().startswith(
        b"\x1f\x8b"
    ) == name.lower().endswith(".gz")


def test_facts_are_written_as_tab_separated_lines(tmp_path: Path) -> None:
    write_facts(iter([FACT, FACT]), str(tmp_path / "facts.tsv"))
    assert (tmp_path / "facts.tsv").read_bytes() == LINE + LINE


def test_a_packed_file_is_the_same_every_time(tmp_path: Path) -> None:
    packed = []
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        write_facts([FACT], tmp_path / folder / "facts.tsv.gz")
        packed.append((tmp_path / folder / "facts.tsv.gz").read_bytes())
    assert packed[0] == packed[1]
    assert packed[0][4:8] == bytes(4)  # no time stamp


def test_a_dash_is_standard_input_and_output(monkeypatch: pytest.MonkeyPatch) -> None:
    output = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LINE)))
    monkeypatch.setattr(sys, "stdout", output)
    assert write_facts(read_facts("-"), "-") == 1
    assert output.buffer.getvalue() == LINE


def test_gzip_is_known_by_its_first_bytes_whatever_its_name(tmp_path: Path) -> None:
    (tmp_path / "facts.tsv").write_bytes(gzip.compress(LINE))
    assert list(read_facts(tmp_path / "facts.tsv")) == [FACT]
    assert list(read_facts(io.BytesIO(gzip.compress(LINE)))) == [FACT]


def test_a_stream_that_unpacks_itself_is_read_although_it_is_named_gz(
    tmp_path: Path,
) -> None:
    (tmp_path / "facts.tsv.gz").write_bytes(gzip.compress(LINE))
    with gzip.open(tmp_path / "facts.tsv.gz") as stream:
        assert list(read_facts(cast("BinaryIO", stream))) == [FACT]


def test_the_parts_of_a_concatenated_gzip_are_read_one_after_the_other() -> None:
    assert list(
        read_facts(io.BytesIO(gzip.compress(LINE) + gzip.compress(b"a\tr\tb\n")))
    ) == [
        FACT,
        ("a", "r", "b"),
    ]


def test_counts_are_right_at_any_moment() -> None:
    source = read_facts(io.BytesIO(b"bad\n" + LINE * 3), on_error="skip", header=False)
    assert source.read == 0
    assert source.skipped == 0
    assert source.source == "<stream>"
    assert next(source) == FACT
    assert source.read == 1
    assert source.skipped == 1
    assert len(list(source)) == 2
    assert source.read == 3


@pytest.mark.parametrize("bad", [b"", b"bad\n"], ids=["plain", "with a bad line"])
def test_the_count_of_facts_read_is_right_within_a_block(bad: bytes) -> None:
    source = read_facts(io.BytesIO(LINE * 5 + bad), header=False, on_error="skip")
    assert [source.read for _ in source] == [1, 2, 3, 4, 5]


def test_facts_before_a_malformed_line_are_given_and_none_after_it() -> None:
    source = read_facts(Trickle(LINE + b"bad\n" + LINE, len(LINE)))
    assert next(source) == FACT
    with pytest.raises(MalformedFact):
        next(source)
    assert list(source) == []


@pytest.mark.parametrize(
    "before",
    [b"", b"\n\r\n", LINE * 10, LINE * 9_000],
    ids=["none", "empty", "few", "many"],
)
def test_an_error_has_the_number_of_its_line(before: bytes) -> None:
    with pytest.raises(MalformedFact) as raised:
        list(read_facts(io.BytesIO(before + b"bad\n")))
    assert raised.value.source == "<stream>"
    assert raised.value.line == before.count(b"\n") + 1


def test_a_file_is_closed_when_its_facts_are_taken_refused_or_dropped(
    tmp_path: Path,
) -> None:
    open_files = Path("/proc/self/fd")
    if not open_files.exists():
        pytest.skip("open files are counted in /proc")
    (tmp_path / "facts.tsv").write_bytes(LINE + b"bad\n")
    before = len(list(open_files.iterdir()))
    with pytest.raises(MalformedFact) as raised:
        list(read_facts(tmp_path / "facts.tsv"))
    dropped = read_facts(tmp_path / "facts.tsv")
    next(dropped)
    del dropped
    gc.collect()
    assert len(list(open_files.iterdir())) == before
    assert raised.value.line == 2


def test_a_stream_stays_open_and_a_source_is_opened_late(tmp_path: Path) -> None:
    stream = io.BytesIO(LINE)
    assert list(read_facts(stream)) == [FACT]
    assert not stream.closed
    late = read_facts(tmp_path / "late.tsv")
    (tmp_path / "late.tsv").write_bytes(LINE)
    assert list(late) == [FACT]


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("separator", ["\t", ","])
def test_a_usual_header_is_no_fact_unless_it_is_said_to_be(
    header: str, separator: str
) -> None:
    content = (
        separator.join(header.split()) + "\n" + separator.join(FACT) + "\n"
    ).encode()
    options: Any = {"format": "csv" if separator == "," else "tsv"}
    assert list(read_facts(io.BytesIO(content), **options)) == [FACT]
    assert list(read_facts(io.BytesIO(content), **options, header=True)) == [FACT]
    assert list(read_facts(io.BytesIO(content), **options, header=False)) == [
        Fact(*header.split()),
        FACT,
    ]


def test_only_the_first_line_can_be_a_header() -> None:
    assert len(list(read_facts(io.BytesIO(LINE + b"head\trelation\ttail\n")))) == 2
    assert len(list(read_facts(io.BytesIO(b"h\tr\tt\nh\tr\tt\n")))) == 1
    assert len(list(read_facts(io.BytesIO(b"\n\nh\tr\tt\n" + LINE)))) == 1
    assert (
        len(list(read_facts(io.BytesIO(b"\xff\nh\tr\tt\n" + LINE), on_error="skip")))
        == 2
    )


def test_a_header_that_is_said_to_be_one_may_say_anything() -> None:
    assert list(read_facts(io.BytesIO(b"one column\n" + LINE), header=True)) == [FACT]
    assert outcome(
        io.BytesIO(b"\xff\n" + LINE), {"header": True, "on_error": "skip"}
    ) == (
        [FACT],
        1,
        b"\xff\n",
        "",
    )


@pytest.mark.parametrize("separator", [b"\t", b","], ids=["tsv", "csv"])
def test_columns_are_found_by_their_names(separator: bytes) -> None:
    content = b"weight\tobject\tsubject\tpredicate\n0.5\tb\ta\tr\n\td\tc\tr\n".replace(
        b"\t", separator
    )
    options: Any = {
        "format": "csv" if separator == b"," else "tsv",
        "columns": ["subject", "predicate", "object"],
    }
    assert list(read_facts(io.BytesIO(content), **options)) == [
        ("a", "r", "b"),
        ("c", "r", "d"),
    ]


@pytest.mark.parametrize("on_error", ["stop", "skip"])
@pytest.mark.parametrize("header", ["a\tb\tc", "s\tp\tx", "s\tp\to\to", ""])
def test_columns_that_the_header_has_not_once_are_refused(
    header: str, on_error: Literal["stop", "skip"]
) -> None:
    with pytest.raises(MalformedFact) as raised:
        list(
            read_facts(
                io.BytesIO(header.encode() + b"\n1\t2\t3\n"),
                columns=["s", "p", "o"],
                on_error=on_error,
            )
        )
    names = (header or "1\t2\t3").split("\t")
    line = 1 if header else 2
    missing = next(name for name in "spo" if names.count(name) != 1)
    found = ", ".join(map(repr, names))
    expected = f"expected one column called {missing!r}, found {found}"
    assert str(raised.value) == f"<stream>:{line}: {expected}"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"format": "rdf"},
            "format is 'rdf'; expected 'tsv', 'csv', 'jsonl', 'nt', 'nq', 'ttl', 'trig', 'rdfxml', "
            "'parquet' or 'arrow'",
        ),
        ({"literals": "drop"}, "literals is 'drop'; expected 'leave out' or 'keep'"),
        ({"on_error": "ignore"}, "on_error is 'ignore'; expected 'stop' or 'skip'"),
        (
            {"columns": ["a", "b"]},
            f"columns is ['a', 'b']; {COLUMNS}",
        ),
        (
            {"columns": "aba"},
            f"columns is 'aba'; {COLUMNS}",
        ),
        (
            {"columns": ["a", "b", "c"], "header": False},
            f"columns is ['a', 'b', 'c']; {COLUMNS}",
        ),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused_at_once(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidArgument) as raised:
        read_facts(io.BytesIO(LINE), **options)
    assert str(raised.value) == message


@pytest.mark.parametrize("name", ["facts.csv", "facts.CSV", "facts.csv.gz"])
def test_a_file_named_csv_is_read_as_csv(tmp_path: Path, name: str) -> None:
    content = b'durham,"located_in",north_carolina\r\n"a ""b"", c",r,"d, e"\r\n'
    (tmp_path / name).write_bytes(
        gzip.compress(content) if name.endswith(".gz") else content
    )
    assert list(read_facts(tmp_path / name)) == [FACT, ('a "b", c', "r", "d, e")]
    with pytest.raises(MalformedFact):
        list(read_facts(tmp_path / name, format="tsv"))


@pytest.mark.parametrize("is_text", [False, True], ids=["binary", "text over binary"])
def test_refused_lines_are_kept_byte_for_byte(is_text: bool) -> None:
    kept = io.BytesIO()
    refused = io.TextIOWrapper(kept, encoding="ascii") if is_text else kept
    source = read_facts(
        io.BytesIO(b"a\xff\r\n" + LINE + b"b\0\n\nlast"),
        on_error="skip",
        refused=refused,
    )
    assert list(source) == [FACT]
    assert kept.getvalue() == b"a\xff\r\nb\0\nlast"
    assert source.skipped == 3


def test_refused_lines_can_be_kept_as_text() -> None:
    kept = io.StringIO()
    list(read_facts(io.BytesIO(b"caf\xc3\xa9\n\xff\n"), on_error="skip", refused=kept))
    assert kept.getvalue().encode(errors="surrogateescape") == b"caf\xc3\xa9\n\xff\n"


@pytest.mark.parametrize(
    "name", ["", "\t", "a\tb", "a\nb", "a\r", "a\0", "\ud800", " ", "\u3000"], ids=ascii
)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_name_that_cannot_be_written_is_refused(name: str, place: int) -> None:
    fact = ("a", "r", "b")
    fact = (*fact[:place], name, *fact[place + 1 :])  # type: ignore[assignment]
    problem = (
        "a name that is blank, or has a tab, line end, NUL or lone surrogate, "
        "cannot be written"
    )
    with pytest.raises(MalformedFact) as raised:
        write_facts([FACT, fact], io.BytesIO())
    shown = "\t".join(fact)
    assert str(raised.value) == f"<stream>:2: {problem}: {shown!r}"


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile) as raised:
        write_facts([FACT], tmp_path)
    assert str(raised.value) == f"{tmp_path}: cannot be written: is a directory"


@given(facts.filter(bool))
def test_facts_are_taken_apart_into_columns(facts: list[Fact]) -> None:
    assert columns_of(facts) == list(zip(*facts, strict=True))
    assert columns_of([list(fact) for fact in facts]) == list(zip(*facts, strict=True))  # type: ignore[misc]


def test_no_facts_have_three_empty_columns() -> None:
    assert columns_of([]) == [(), (), ()]


class Name(str):
    """Text of another type, as NumPy has it."""


@pytest.mark.parametrize(
    ("fact", "message"),
    [
        (("a", "r"), "expected head, relation and tail"),
        (("a", "r", "b", "c"), "expected head, relation and tail"),
        ("abc", "expected head, relation and tail"),
        (b"abc", "expected head, relation and tail"),
        (None, "expected head, relation and tail"),
        (7, "expected head, relation and tail"),
        ((b"a", "r", "b"), "expected a name, which is text, found b'a'"),
        (("a", None, "b"), "expected a name, which is text, found None"),
        (("a", "r", 7), "expected a name, which is text, found 7"),
        (("a", "r", ["b"]), "expected a name, which is text, found"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("before", [0, 3])
def test_a_fact_that_is_not_three_names_is_named(
    fact: Any, message: str, before: int
) -> None:
    with pytest.raises(MalformedFact) as raised:
        columns_of([FACT] * before + [fact, FACT], first=11)
    assert str(raised.value).startswith(f"facts:{11 + before}: {message}")


def test_any_text_is_a_name() -> None:
    assert columns_of([(Name("a"), "\ud800", "")]) == [("a",), ("\ud800",), ("",)]
