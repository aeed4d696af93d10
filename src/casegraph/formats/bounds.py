"""
Bounds on RDF before it is parsed, so that no file makes the parser take much memory or time.

The parser keeps every open bracket of Turtle and every open element of RDF/XML, whatever is between
two tags, and replaces entities. Here the same bytes are looked at first, and passed on in parts. A
file beyond a bound is refused with its line.
"""

import re
from collections.abc import Callable, Iterator
from typing import NoReturn

from casegraph.formats.sources import MAX_RECORD_BYTES

Stop = Callable[[int, str], NoReturn]  # stops at a line because of a problem

MAX_NESTING = 1000  # brackets of Turtle, or elements of RDF/XML, within each other
MAX_ATTRIBUTES = 1000  # of an element
LONGEST_DECLARATION = 1 << 16  # bytes
MAX_MEBIBYTES = MAX_RECORD_BYTES >> 20
ONLY_ABBREVIATIONS = (
    "a document type declaration may only have entities of up to 1,000 characters "
    "that do not refer to others"
)
DEEP = f"there are more than {MAX_NESTING:,} {{}} within each other"

# What has no bracket: names, IRIs, strings of one line.
_PLAIN_TURTLE = re.compile(
    rb"""(?:[^"'#<\\\[\](){}]++|\\.|<[^<>"\s]*+>|"[^"\\\n]*+"(?!")|'[^'\\\n]*+'(?!'))*+""",
    re.DOTALL,
)
_ENDS_OF_TURTLE = {  # of strings and comments; after a backslash nothing ends
    b'"""': re.compile(rb'(?:[^"\\]++|\\.|"(?!""))*+"""', re.DOTALL),
    b"'''": re.compile(rb"(?:[^'\\]++|\\.|'(?!''))*+'''", re.DOTALL),
    b'"': re.compile(rb'(?:[^"\\]++|\\.)*+"', re.DOTALL),
    b"'": re.compile(rb"(?:[^'\\]++|\\.)*+'", re.DOTALL),
    b"#": re.compile(rb"[^\n]*\n"),
}
_BEGINNINGS_OF_TURTLE = sorted(_ENDS_OF_TURTLE, key=len, reverse=True)

# A text, and the markup after it. Of document type declarations, only those that abbreviate IRIs,
# as ontology editors write them.
_MARKUP = re.compile(
    rb"""[^<]*+(?:
        <!--.*?--> | <!\[CDATA\[.*?\]\]> | <\?.*?\?>
        | (?P<type> <!DOCTYPE\s+[^\s\[\]<>"']+\s* (?:\[ (?:\s |
            <!ENTITY\s+[^\s%&"'<>]+\s+(?:"[^"&%<]{0,1000}"|'[^'&%<]{0,1000}')\s*>
          )*+ \]\s* )? > )
        | (?P<end> </[^>]*+> )
        | (?P<start> <[^!?/](?:[^>"']++|"[^"]*+"|'[^']*+')*+> )
    )""",
    re.DOTALL | re.VERBOSE,
)
_ENTITY_VALUE = re.compile(rb""""[^"]*"|'[^']*'""")
_DECLARATION = re.compile(rb"[^<]*+<!(?!--|\[CDATA\[)")
_ATTRIBUTE = re.compile(rb"""=\s*["']""")


def bounded_lines(pieces: Iterator[bytes], stop: Stop) -> Iterator[bytes]:
    """Pieces joined and cut so that each block ends where a line ends, of bounded length."""
    line = 1
    held: list[bytes] = []  # the beginning of a line whose end is not read yet
    held_bytes = 0
    for piece in pieces:
        end = piece.rfind(b"\n") + 1
        if held_bytes + (end or len(piece)) > MAX_RECORD_BYTES:
            stop(line, f"a line has more than {MAX_MEBIBYTES} MiB")
        if end:
            block = b"".join([*held, piece[:end]])
            yield block
            line += block.count(b"\n")
            held = []
            held_bytes = 0
        held.append(piece[end:])
        held_bytes += len(piece) - end
    yield b"".join(held)


def bounded_turtle(pieces: Iterator[bytes], stop: Stop) -> Iterator[bytes]:
    """Turtle or TriG in blocks of lines, in which brackets are not nested too deeply."""
    line = 1
    nesting = 0
    inside = (
        b""  # the sign that began a string or comment that goes on in the next block
    )
    bytes_inside = 0
    for block in bounded_lines(pieces, stop):
        at = 0
        while at < len(block):
            if inside:
                end = _ENDS_OF_TURTLE[inside].match(block, at)
                if end is None:
                    bytes_inside += len(block) - at
                    if bytes_inside > MAX_RECORD_BYTES:
                        stop(line, f"a string has more than {MAX_MEBIBYTES} MiB")
                    break
                at = end.end()
                inside = b""
            plain = _PLAIN_TURTLE.match(block, at)
            at = at if plain is None else plain.end()
            sign = block[at : at + 1]
            if sign in (b'"', b"'", b"#"):
                inside = next(
                    beginning
                    for beginning in _BEGINNINGS_OF_TURTLE
                    if block.startswith(beginning, at)
                )
                bytes_inside = 0
                at += len(inside)
                continue
            nesting += (sign in b"[({") - (sign in b"])}") if sign else 0
            if nesting > MAX_NESTING:
                stop(line + block.count(b"\n", 0, at), DEEP.format("brackets"))
            at += 1
        yield block
        line += block.count(b"\n")


def bounded_xml(pieces: Iterator[bytes], stop: Stop) -> Iterator[bytes]:
    """RDF/XML, cut after a tag: nesting, tags, texts and what entities become are bounded."""
    document = _Xml(stop)
    held: list[bytes] = []  # what follows the last whole tag
    held_bytes = 0
    enough = 0  # bytes, before it is worth looking for the next tag
    for piece in pieces:
        held.append(piece)
        held_bytes += len(piece)
        if held_bytes < enough:
            continue
        content = b"".join(held)
        size = document.read(content)
        yield content[:size]
        held = [content[size:]]
        held_bytes = len(content) - size
        enough = 2 * held_bytes
    content = b"".join(held)
    document.read(content, is_last=True)
    yield content


class _Xml:
    """What was read of a document, as far as bounds depend on it."""

    def __init__(self, stop: Stop) -> None:
        self._stop = stop
        self._line = 1
        self._nesting = 0
        self._longest_entity = 0

    def read(self, content: bytes, *, is_last: bool = False) -> int:
        """Check content; returns where its last whole tag ends."""
        if b"\0" in content:
            self._refuse("found a NUL byte", content)
        at = 0
        while (markup := _MARKUP.match(content, at)) is not None:
            self._check_size(markup[0])
            if markup["type"] is not None:
                values = [len(value) for value in _ENTITY_VALUE.findall(markup["type"])]
                self._longest_entity = max(values, default=0)
            elif markup["start"] is not None:
                self._read_start(markup["start"], markup[0])
            elif markup["end"] is not None:
                self._nesting -= 1
            self._line += markup[0].count(b"\n")
            at = markup.end()

        rest = content[at:]
        self._check_size(rest)
        is_declaration = _DECLARATION.match(rest) is not None
        if is_declaration and (is_last or len(rest) > LONGEST_DECLARATION):
            self._refuse(ONLY_ABBREVIATIONS, rest)
        return at

    def _check_size(self, content: bytes) -> None:
        size = len(content) + content.count(b"&") * self._longest_entity
        if size > MAX_RECORD_BYTES:
            problem = f"a tag, a comment or a text has more than {MAX_MEBIBYTES} MiB"
            self._refuse(problem, content)

    def _read_start(self, tag: bytes, content: bytes) -> None:
        if len(tag) > MAX_ATTRIBUTES and len(_ATTRIBUTE.findall(tag)) > MAX_ATTRIBUTES:
            problem = f"an element has more than {MAX_ATTRIBUTES:,} attributes"
            self._refuse(problem, content)
        if not tag.endswith(b"/>"):
            self._nesting += 1
        if self._nesting > MAX_NESTING:
            self._refuse(DEEP.format("elements"), content)

    def _refuse(self, problem: str, content: bytes) -> NoReturn:
        text_before = content.partition(b"<")[0]
        self._stop(self._line + text_before.count(b"\n"), problem)
