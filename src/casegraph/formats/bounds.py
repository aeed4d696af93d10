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
SMALL = (
    MAX_ATTRIBUTES * 3
)  # bytes of a tag that cannot have so many attributes, as in a=""
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
        | (?P<start> <[^!?/](?:[^>"']++|"[^"]*+"|'[^']*+')*+(?<!/)> )
        | <[^!?/](?:[^>"']++|"[^"]*+"|'[^']*+')*+>
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
            self._refuse("found a NUL byte", content, 0)
        at = 0
        while (markup := _MARKUP.match(content, at)) is not None:
            end = markup.end()
            if end - at > SMALL:
                self._check_size(content, at, end)
            kind = markup.lastgroup
            if kind == "start":
                self._nesting += 1
                if self._nesting > MAX_NESTING:
                    self._refuse(DEEP.format("elements"), content, at)
            elif kind == "end":
                self._nesting -= 1
            elif kind == "type":
                values = _ENTITY_VALUE.findall(markup["type"])
                self._longest_entity = max(map(len, values), default=0)
            at = end

        self._check_size(content, at, len(content))
        is_declaration = _DECLARATION.match(content, at) is not None
        if is_declaration and (is_last or len(content) - at > LONGEST_DECLARATION):
            self._refuse(ONLY_ABBREVIATIONS, content, at)
        self._line += content.count(b"\n", 0, at)
        return at

    def _check_size(self, content: bytes, start: int, end: int) -> None:
        """Refuse a text and the tag after it if they are large, or have many attributes."""
        entities = content.count(b"&", start, end)
        if end - start + entities * self._longest_entity > MAX_RECORD_BYTES:
            problem = f"a tag, a comment or a text has more than {MAX_MEBIBYTES} MiB"
            self._refuse(problem, content, start)
        tag = content.find(b"<", start, end)
        is_tag = tag >= 0 and content[tag + 1 : tag + 2] not in b"!?/"
        if is_tag and len(_ATTRIBUTE.findall(content, tag, end)) > MAX_ATTRIBUTES:
            problem = f"an element has more than {MAX_ATTRIBUTES:,} attributes"
            self._refuse(problem, content, start)

    def _refuse(self, problem: str, content: bytes, at: int) -> NoReturn:
        """Stop at the line of the tag after a place."""
        tag = max(at, content.find(b"<", at))
        self._stop(self._line + content.count(b"\n", 0, tag), problem)
