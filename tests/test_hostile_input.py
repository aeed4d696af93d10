"""What becomes of every odd line and file: the table in docs/reading-facts.md, case by case."""

import gzip
import io
import os
import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import Any, Literal

import pytest

from casegraph.errors import MalformedFact, UnreadableFile
from casegraph.formats.layout import EMPTY_CELL
from casegraph.formats.registry import read_facts
from casegraph.formats.sources import MAX_RECORD_BYTES
from casegraph.graph.facts import Fact

GOOD = b"a\tr\tb\n"
TSV = "expected 'head<TAB>relation<TAB>tail'"
CONVERT = "(if a spreadsheet wrote the file, try --encoding cp1252)"
HINT = "(say which three to read with --columns or columns=)"
PAIRS = (
    "(pairs are read with --columns 1,=treats,2, which gives all of them that relation)"
)
COMMAS = "(if commas are between them, say --from csv or format='csv')"
CR = "found a carriage return out of place"
QUOTE = "found a carriage return or a quote out of place"
BLANK = "is empty or only white space"

REFUSED_LINES = {
    "one field": (b"durham\n", f"{TSV}, found 1 field: 'durham'"),
    "two fields": (
        b"durham\tlocated_in\n",
        f"{TSV}, found 2 fields: 'durham\\tlocated_in'",
    ),
    "four fields": (
        b"a\tr\tb\t0.5\n",
        f"{TSV}, found 4 fields {HINT}: 'a\\tr\\tb\\t0.5'",
    ),
    "trailing tab": (b"a\tr\tb\t\n", f"{TSV}, found 4 fields {HINT}: 'a\\tr\\tb\\t'"),
    "leading tab": (b"\ta\tr\tb\n", f"{TSV}, found 4 fields {HINT}: '\\ta\\tr\\tb'"),
    "spaces for tabs": (b"a r b\n", f"{TSV}, found 1 field: 'a r b'"),
    "commas for tabs": (b"a,r,b\n", f"{TSV}, found 1 field {COMMAS}: 'a,r,b'"),
    "n-triples": (b"<a> <r> <b> .\n", f"{TSV}, found 1 field: '<a> <r> <b> .'"),
    "comment": (b"# facts\n", f"{TSV}, found 1 field: '# facts'"),
    "only spaces": (b"   \n", f"{TSV}, found 1 field: '   '"),
    "empty head": (b"\tr\tb\n", f"the head {BLANK}: '\\tr\\tb'"),
    "empty relation": (b"a\t\tb\n", f"the relation {BLANK}: 'a\\t\\tb'"),
    "empty tail": (b"a\tr\t\n", f"the tail {BLANK}: 'a\\tr\\t'"),
    "empty tail before crlf": (b"a\tr\t\r\n", f"the tail {BLANK}: 'a\\tr\\t'"),
    "blank head": (b" \tr\tb\n", f"the head {BLANK}: ' \\tr\\tb'"),
    "no-break space": (b"a\t\xc2\xa0\tb\n", f"the relation {BLANK}: 'a\\t\\xa0\\tb'"),
    "ideographic space": (
        b"a\tr\t\xe3\x80\x80\n",
        f"the tail {BLANK}: 'a\\tr\\t\\u3000'",
    ),
    "nul": (
        b"a\0\tr\tb\n",
        "found a NUL byte at offset 1 of the line: 'a\\x00\\tr\\tb'",
    ),
    "only nul": (b"\0\n", "found a NUL byte at offset 0 of the line: '\\x00'"),
    "latin-1": (
        b"caf\xe9\tr\tb\n",
        f"expected UTF-8, found byte 0xe9 at offset 3 of the line {CONVERT}: 'caf�\\tr\\tb'",
    ),
    "stray continuation": (
        b"a\tr\t\x80\n",
        f"expected UTF-8, found byte 0x80 at offset 4 of the line {CONVERT}: 'a\\tr\\t�'",
    ),
    "cut sequence": (
        b"a\tr\tb\xc3\n",
        f"expected UTF-8, found byte 0xc3 at offset 5 of the line {CONVERT}: 'a\\tr\\tb�'",
    ),
    "overlong slash": (
        b"\xc0\xaf\tr\tb\n",
        f"expected UTF-8, found byte 0xc0 at offset 0 of the line {CONVERT}: '��\\tr\\tb'",
    ),
    "high surrogate": (
        b"\xed\xa0\x80\tr\tb\n",
        f"expected UTF-8, found byte 0xed at offset 0 of the line {CONVERT}: '���\\tr\\tb'",
    ),
    "low surrogate": (
        b"a\t\xed\xbf\xbf\tb\n",
        f"expected UTF-8, found byte 0xed at offset 2 of the line {CONVERT}: 'a\\t���\\tb'",
    ),
    "beyond unicode": (
        b"\xf5\tr\tb\n",
        f"expected UTF-8, found byte 0xf5 at offset 0 of the line {CONVERT}: '�\\tr\\tb'",
    ),
    "byte ff": (
        b"\xff\n",
        f"expected UTF-8, found byte 0xff at offset 0 of the line {CONVERT}: '�'",
    ),
    "carriage return within": (b"a\rz\tr\tb\n", f"{CR}: 'a\\rz\\tr\\tb'"),
    "carriage returns for newlines": (
        b"a\tr\tb\rc\tr\td\n",
        f"{CR}: 'a\\tr\\tb\\rc\\tr\\td'",
    ),
    "long line is cut": (b"x" * 999 + b"\n", f"{TSV}, found 1 field: '{'x' * 80}…'"),
    "line a little too long": (
        b"x" * MAX_RECORD_BYTES + b"\n",
        f"expected one fact a line, found more than 16 MiB: '{'x' * 80}…'",
    ),
    "endless line": (
        b"x" * (MAX_RECORD_BYTES + 1_000_000) + b"\n",
        f"expected one fact a line, found more than 16 MiB: '{'x' * 80}…'",
    ),
    "endless name": (
        b"a\tr\t" + b"x" * MAX_RECORD_BYTES + b"\n",
        f"expected one fact a line, found more than 16 MiB: 'a\\tr\\t{'x' * 76}…'",
    ),
}
REFUSED_RECORDS = {
    "spaces for commas": (
        b"a r b\n",
        "expected 'head,relation,tail', found 1 field: 'a r b'",
    ),
    "four fields": (
        b"a,r,b,c\n",
        f"expected 'head,relation,tail', found 4 fields {HINT}: 'a,r,b,c'",
    ),
    "text after a quote": (b'"a"x,r,b\n', f"{QUOTE}: '\"a\"x,r,b'"),
    "carriage return": (b"a,r\rs,b\n", f"{QUOTE}: 'a,r\\rs,b'"),
    "empty quoted name": (b'a,"",b\n', f"the relation {BLANK}{EMPTY_CELL}: 'a,\"\",b'"),
    "nul in quotes": (
        b'"a\0",r,b\n',
        "found a NUL byte at offset 2 of the line: '\"a\\x00\",r,b'",
    ),
    "latin-1 in a second line": (
        b'"a\n\xe9",r,b\n',
        f"expected UTF-8, found byte 0xe9 at offset 3 of the line {CONVERT}: '\"a\\n�\",r,b'",
    ),
    "endless quoted name": (
        b'"' + (b"x" * 999 + b"\n") * 17_000 + b'",r,b\n',
        f"expected one fact a line, found more than 16 MiB: '\"{'x' * 79}…'",
    ),
    "endless quoted names": (
        b'"' + (b"x" * 999 + b'\n","') * 17_000 + b'"\n',
        f"expected one fact a line, found more than 16 MiB: '\"{'x' * 79}…'",
    ),
}
ACCEPTED = {
    "crlf": (b"a\tr\tb\r\nc\tr\td\r\n", [("a", "r", "b"), ("c", "r", "d")]),
    "two carriage returns at the end": (b"a\tr\tb\r\r\n", [("a", "r", "b")]),
    "no newline at the end": (b"a\tr\tb", [("a", "r", "b")]),
    "carriage return at the end": (b"a\tr\tb\r", [("a", "r", "b")]),
    "empty lines": (b"\n\na\tr\tb\n\r\n\n", [("a", "r", "b")]),
    "nothing": (b"", []),
    "byte order mark": (b"\xef\xbb\xbfa\tr\tb\n", [("a", "r", "b")]),
    "byte order mark before a header": (
        b"\xef\xbb\xbfhead\trelation\ttail\na\tr\tb\n",
        [("a", "r", "b")],
    ),
    "only a byte order mark": (b"\xef\xbb\xbf", []),
    "byte order mark within": (
        b"a\tr\tb\n\xef\xbb\xbfa\tr\tb\n",
        [("a", "r", "b"), ("\ufeffa", "r", "b")],
    ),
    "utf-16": ("é\tr\tb\n".encode("utf-16"), [("é", "r", "b")]),
    "utf-16 big end first": (
        b"\xfe\xff" + "a\tr\tb".encode("utf-16-be"),
        [("a", "r", "b")],
    ),
    "utf-16 in gzip": (gzip.compress("a\tr\tb".encode("utf-16")), [("a", "r", "b")]),
    "rows without any text": (b"\t\t\na\tr\tb\n\t\t\n", [("a", "r", "b")]),
    "spaces around names": (b" a \t r\tb \n", [(" a ", " r", "b ")]),
    "duplicates": (GOOD * 3, [("a", "r", "b")] * 3),
    "self-loop": (b"a\tr\ta\n", [("a", "r", "a")]),
    "quotes": (b'"a\tr"s\t"b"\n', [('"a', 'r"s', '"b"')]),
    "backslashes": (b"a\\tb\tr\\n\t\\\n", [("a\\tb", "r\\n", "\\")]),
    "comment as a fact": (b"#a\tr\tb\n", [("#a", "r", "b")]),
    "composed and decomposed": ("é\tr\te\u0301\n".encode(), [("é", "r", "e\u0301")]),
    "right-to-left and zero-width": (
        "\u202ea\tr\u200b\tb\n".encode(),
        [("\u202ea", "r\u200b", "b")],
    ),
    "line separators of unicode": (
        "a\u2028\tr\x85\tb\x0b\x0c\x1c\n".encode(),
        [("a\u2028", "r\x85", "b\x0b\x0c\x1c")],
    ),
    "other planes": ("🦆\tr\t\U0010ffff\n".encode(), [("🦆", "r", "\U0010ffff")]),
    "control characters": (b"\x01\t\x1b[31m\t\x7f\n", [("\x01", "\x1b[31m", "\x7f")]),
    "name of a megabyte": (
        b"a\tr\t" + b"x" * 1_000_000 + b"\n",
        [("a", "r", "x" * 1_000_000)],
    ),
    "longest line": (
        b"a\tr\t" + b"x" * (MAX_RECORD_BYTES - 5) + b"\n",
        [("a", "r", "x" * (MAX_RECORD_BYTES - 5))],
    ),
}
PACKED = gzip.compress(GOOD * 1000)
UNREADABLE = {
    "truncated gzip": (PACKED[:-12], "is gzip cut short; fetch it again"),
    "gzip without its checksum": (PACKED[:-8], "is gzip cut short; fetch it again"),
    "gzip header alone": (PACKED[:10], "is gzip cut short; fetch it again"),
    "gzip with a flipped bit": (
        PACKED[:-6] + bytes([PACKED[-6] ^ 1]) + PACKED[-5:],
        "is damaged gzip, or has other bytes after it; fetch it again",
    ),
    "gzip with bytes after it": (
        PACKED + b"more",
        "is damaged gzip, or has other bytes after it; fetch it again",
    ),
    "gzip then a cut gzip": (PACKED + PACKED[:20], "is gzip cut short; fetch it again"),
    "gzip of another method": (
        b"\x1f\x8b\x07" + bytes(20),
        "is damaged gzip, or has other bytes after it; fetch it again",
    ),
    "utf-16 cut short": (
        "a\tr\tb\n".encode("utf-16")[:-1],
        "is not utf-16 throughout; give its encoding with --encoding or encoding=",
    ),
}


def cases(table: dict[str, Any]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        ("content", "expected"), table.values(), ids=table.keys()
    )


@cases(REFUSED_LINES)
def test_a_line_is_refused_with_its_reason(content: bytes, expected: str) -> None:
    with pytest.raises(MalformedFact) as raised:
        list(read_facts(io.BytesIO(GOOD + content + GOOD)))
    assert str(raised.value) == f"<stream>:2: {expected}"


@cases(REFUSED_LINES)
def test_a_line_is_skipped_alone_and_kept_byte_for_byte(
    content: bytes, expected: str
) -> None:
    refused = io.BytesIO()
    source = read_facts(
        io.BytesIO(GOOD + content + GOOD), on_error="skip", refused=refused
    )
    assert len(list(source)) == 2
    assert source.skipped == 1
    assert refused.getvalue() == content


@cases(REFUSED_RECORDS)
def test_a_record_of_csv_is_refused_with_its_reason(
    content: bytes, expected: str
) -> None:
    with pytest.raises(MalformedFact) as raised:
        list(read_facts(io.BytesIO(b"a,r,b\n" + content), format="csv"))
    assert str(raised.value) == f"<stream>:2: {expected}"


@cases({name: case for name, case in REFUSED_RECORDS.items() if "endless" not in name})
def test_a_record_of_csv_is_skipped_alone(content: bytes, expected: str) -> None:
    refused = io.BytesIO()
    source = read_facts(
        io.BytesIO(content + b"a,r,b\n"), format="csv", on_error="skip", refused=refused
    )
    assert list(source) == [("a", "r", "b")]
    assert source.skipped == 1
    assert refused.getvalue() == content


def test_lines_within_quotes_are_counted() -> None:
    reading = read_facts(io.BytesIO(b'"a\n\nb",r,c\n\nbad\n'), format="csv")
    with pytest.raises(MalformedFact) as raised:
        list(reading)
    problem = "the head has a tab or the end of a line in it"
    assert str(raised.value) == f"<stream>:1: {problem}: '\"a\\n\\nb\",r,c'"

    extra = b'e,subject,predicate,object\n"a\n\nb",c,r,d\n\nbad\n'
    with pytest.raises(MalformedFact) as raised:
        list(read_facts(io.BytesIO(extra), format="csv"))
    expected = "expected 4 fields, as in the header, found 1 field: 'bad'"
    assert str(raised.value) == f"<stream>:6: {expected}"


def test_a_quote_that_is_not_closed_takes_the_rest_with_it() -> None:
    refused = io.BytesIO()
    content = b'a,r,b\na,"r,b\nc,r,d\n'
    source = read_facts(
        io.BytesIO(content), format="csv", on_error="skip", refused=refused
    )
    assert list(source) == [("a", "r", "b")]
    assert source.skipped == 1
    assert refused.getvalue() == b'a,"r,b\nc,r,d\n'
    with pytest.raises(
        MalformedFact,
        match=r"^<stream>:2: found a carriage return or a quote out of place: ",
    ):
        list(read_facts(io.BytesIO(content), format="csv"))


@pytest.mark.parametrize("width", [2, 4, 5])
def test_with_columns_a_line_has_as_many_fields_as_the_header(width: int) -> None:
    content = b"h\tr\tt\n" + b"\t".join([b"x"] * width) + b"\n"
    with pytest.raises(MalformedFact) as raised:
        list(read_facts(io.BytesIO(content), columns=["t", "r", "h"]))
    shown = "\\t".join("x" * width)
    problem = f"expected 3 fields, as in the header, found {width} fields"
    assert str(raised.value) == f"<stream>:2: {problem}: '{shown}'"


@cases(ACCEPTED)
def test_an_odd_file_is_read_as_it_is(content: bytes, expected: list[Fact]) -> None:
    assert list(read_facts(io.BytesIO(content))) == expected


@cases(UNREADABLE)
@pytest.mark.parametrize("on_error", ["stop", "skip"])
def test_a_file_that_is_not_whole_text_is_an_error_either_way(
    tmp_path: Path, content: bytes, expected: str, on_error: Literal["stop", "skip"]
) -> None:
    (tmp_path / "facts.tsv").write_bytes(content)
    with pytest.raises(UnreadableFile) as raised:
        list(read_facts(tmp_path / "facts.tsv", on_error=on_error))
    assert str(raised.value) == f"{tmp_path / 'facts.tsv'}: {expected}"
    assert (tmp_path / "facts.tsv").read_bytes() == content


@pytest.mark.parametrize(
    "content", [b"", GOOD, b"PK\x03\x04"], ids=["empty", "plain", "zip"]
)
def test_a_file_named_gz_must_be_gzip(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "facts.gz").write_bytes(content)
    with pytest.raises(UnreadableFile) as raised:
        list(read_facts(tmp_path / "facts.gz"))
    problem = "is named .gz but is not gzip; rename it, or fetch it again"
    assert str(raised.value) == f"{tmp_path / 'facts.gz'}: {problem}"


def test_gzip_within_gzip_is_not_unpacked_twice() -> None:
    with pytest.raises(
        MalformedFact,
        match=r"expected UTF-8, found byte 0x8b at offset 1|found a NUL byte",
    ):
        list(read_facts(io.BytesIO(gzip.compress(gzip.compress(GOOD)))))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile) as raised:
        next(read_facts(tmp_path / "facts.tsv"))
    assert str(raised.value) == f"{tmp_path / 'facts.tsv'}: no such file or directory"


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile) as raised:
        next(read_facts(tmp_path))
    assert str(raised.value) == (
        f"{tmp_path}: is a folder, but neither a store nor a benchmark; name the files in it"
    )


@pytest.mark.skipif(
    not hasattr(os, "geteuid"), reason="this system has other permissions"
)
@pytest.mark.skipif(
    getattr(os, "geteuid", int)() == 0,
    reason="everything is permitted to the superuser",
)
def test_a_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "facts.tsv").write_bytes(GOOD)
    (tmp_path / "facts.tsv").chmod(0)
    with pytest.raises(UnreadableFile) as raised:
        next(read_facts(tmp_path / "facts.tsv"))
    assert str(raised.value) == f"{tmp_path / 'facts.tsv'}: permission denied"


def test_a_name_that_no_file_can_have_is_refused() -> None:
    with pytest.raises(UnreadableFile, match="embedded null byte"):
        next(read_facts("facts\0.tsv"))


class Failing(io.BytesIO):
    """A stream that gives one fact, then what it was made with."""

    def __init__(self, failure: Any) -> None:
        super().__init__(GOOD)
        self.failure = failure

    def read1(self, size: int | None = -1) -> bytes:
        if piece := super().read1(size):
            return piece
        if isinstance(self.failure, Exception):
            raise self.failure
        return self.failure  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("failure", "message"),
    [
        (PermissionError(13, "Permission denied"), "permission denied"),
        (OSError(5, "Input/output error"), "input/output error"),
        (OSError("unplugged"), "unplugged"),
        ("text", "gives str, not bytes; open it in mode 'rb'"),
        (None, "gives NoneType, not bytes; open it in mode 'rb'"),
    ],
    ids=["permission", "disk", "no number", "text", "not ready"],
)
def test_a_stream_that_fails_is_an_error_after_what_it_gave(
    failure: object, message: str
) -> None:
    source = read_facts(Failing(failure), on_error="skip")
    assert next(source) == ("a", "r", "b")
    with pytest.raises(UnreadableFile) as raised:
        next(source)
    assert str(raised.value) == f"<stream>: {message}"


def test_what_a_failing_refused_stream_says_is_not_taken_for_the_source() -> None:
    closed = io.BytesIO()
    closed.close()
    with pytest.raises(ValueError, match="closed file"):
        list(read_facts(io.BytesIO(b"bad\n"), on_error="skip", refused=closed))


def peak(statement: str, content: str) -> int:
    """How many MiB a process takes at most that reads what another one writes."""
    if not Path("/proc/self/status").exists():
        pytest.skip("the memory of a process is read from /proc")
    reader = (
        "from casegraph.formats.registry import read_facts\n"
        f"{statement}\n"
        "print(open('/proc/self/status').read())"
    )
    with subprocess.Popen(
        [sys.executable, "-c", f"import sys\n{content}"], stdout=subprocess.PIPE
    ) as source:
        result = subprocess.run(
            [sys.executable, "-c", reader],
            stdin=source.stdout,
            capture_output=True,
            check=True,
        )
    return int(result.stdout.split(b"VmHWM:")[1].split()[0]) // 1024


@pytest.mark.parametrize(
    ("count", "content"),
    [
        (
            2_000_000,
            "for _ in range(200): sys.stdout.write('durham\\trelation\\ttown\\n' * 10_000)",
        ),
        (
            1,
            "for _ in range(200): sys.stdout.write('x' * 1_000_000)\n"
            "sys.stdout.write('\\na\\tr\\tb\\n')",
        ),
    ],
    ids=["many facts", "endless line"],
)
def test_memory_stays_bounded(count: int, content: str) -> None:
    statement = f"assert sum(1 for _ in read_facts('-', on_error='skip')) == {count}"
    assert peak(statement, content) < 100


def test_a_gzip_bomb_is_read_in_bounded_memory(tmp_path: Path) -> None:
    packer = zlib.compressobj(9, wbits=31)
    packed = (
        b"".join(packer.compress(bytes(1 << 20)) for _ in range(300)) + packer.flush()
    )
    bomb = tmp_path / "bomb.gz"
    bomb.write_bytes(packed)
    statement = f"assert list(read_facts({str(bomb)!r}, on_error='skip')) == []"
    assert peak(statement, "") < 100


def test_a_device_without_end_is_refused() -> None:
    if not Path("/dev/zero").exists():
        pytest.skip("there is no /dev/zero")
    with pytest.raises(
        MalformedFact,
        match=r"^/dev/zero:1: expected one fact a line, found more than 16 MiB: ",
    ):
        next(read_facts("/dev/zero"))


@pytest.mark.parametrize("format", ["tsv", "csv"])
@pytest.mark.parametrize(
    "between", [b"", b"a\tr\n"], ids=["alone", "among malformed lines"]
)
def test_a_gzip_bomb_of_empty_lines_is_read_quickly(
    format: Literal["tsv", "csv"],  # noqa: A002
    between: bytes,
) -> None:
    packer = zlib.compressobj(9, wbits=31)
    piece = between + b"\n" * (1 << 20)
    packed = b"".join(packer.compress(piece) for _ in range(20)) + packer.flush()
    start = time.process_time()
    assert list(read_facts(io.BytesIO(packed), format=format, on_error="skip")) == []
    assert time.process_time() - start < 8  # one by one they take a minute


def test_lines_after_many_empty_ones_have_their_number() -> None:
    content = GOOD + b"\n" * 100_000 + b"\r\n" * 100_000 + GOOD + b"\n\r\n\n" + b"bad\n"
    source = read_facts(io.BytesIO(content))
    assert [next(source), next(source)] == [("a", "r", "b")] * 2
    with pytest.raises(MalformedFact, match=r"^<stream>:200006: "):
        next(source)
