"""
Facts as names, and which names are allowed.

Names are opaque: nothing is stripped or normalised. But a name that is blank, or has a tab or the
end of a line in it, is nearly always an accident, and could not be written to a file of facts.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from casegraph.errors import MalformedFact, quoted, shortened

_TAB_OR_LINE_END = re.compile(r"[\t\n\r]")


class Fact(NamedTuple):
    """One fact, as names."""

    head: str
    relation: str
    tail: str


def columns_of(
    facts: Sequence[tuple[str, str, str]], first: int = 1
) -> list[tuple[str, ...]]:
    """The heads, the relations and the tails of facts; `MalformedFact` if one is not three names.

    first  the number of the first of these facts, for the message

    The names themselves are checked later, and only new ones (`check_names`).
    """
    columns: list[tuple[str, ...]]
    types: set[type] = set()
    try:
        columns = list(zip(*facts, strict=True))
        for column in columns:
            types.update(map(type, column))
    except (
        TypeError,
        ValueError,
    ):  # a fact is not iterable, or they have different lengths
        columns = []

    has_three_names_each = len(columns) == 3 and types == {str}
    has_strings_as_facts = str in set(map(type, facts))  # a string of three characters
    if not has_three_names_each or has_strings_as_facts:
        for number, fact in enumerate(facts, start=first):
            _check_fact(fact, number)
        # Such as NumPy's strings.
        columns = [tuple(map(str, column)) for column in columns]
    return columns or [(), (), ()]


def check_names(
    new: Iterable[str], facts: Sequence[tuple[str, str, str]], first: int = 1
) -> None:
    """Raise `MalformedFact` for the first fact that has a name that is not allowed.

    new    the names that these facts introduce; only they need checking
    first  the number of the first of these facts
    """
    names = list(new)

    # All names at once, without a loop in Python.
    is_one_blank = not all(map(str.strip, names))
    is_one_broken = _TAB_OR_LINE_END.search("\0".join(names)) is not None
    if not is_one_blank and not is_one_broken:
        return

    refused = {name for name in names if problem_of(name)}
    for number, fact in enumerate(facts, start=first):
        for part, name in zip(Fact._fields, fact, strict=True):
            if name in refused:
                problem = f"the {part} {problem_of(name)}"
                raise MalformedFact(
                    "facts", number, f"{problem}: {quoted(repr(tuple(fact)))}"
                )


def fits_utf8(name: str) -> bool:
    """Whether a name can be written in UTF-8."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def problem_of(name: str) -> str:
    """Why a text is not allowed as a name; empty if it is."""
    if not name.strip():
        return "is empty or only white space"
    if _TAB_OR_LINE_END.search(name):
        return "has a tab or the end of a line in it"
    return ""


def _check_fact(fact: object, number: int) -> None:
    is_text = isinstance(fact, str | bytes)
    parts = list(fact) if isinstance(fact, Iterable) and not is_text else []
    not_text = [part for part in parts if not isinstance(part, str)]
    if len(parts) == 3 and not not_text:
        return

    problem = "expected head, relation and tail"
    if not_text:
        found = shortened(repr(not_text[0]))
        problem = f"expected a name, which is text, found {found}"
    raise MalformedFact("facts", number, f"{problem}: {quoted(repr(fact))}")
