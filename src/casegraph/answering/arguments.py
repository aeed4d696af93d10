"""Checks of what a caller of the Python API passes: a wrong type is named in one sentence."""

from __future__ import annotations

from collections.abc import Iterable
from operator import index
from typing import Any

from casegraph.answering.query import ALL
from casegraph.answering.results.answer import Answer
from casegraph.errors import InvalidArgument
from casegraph.settings import check_count

AnyQuestion = tuple[str, str] | tuple[str, str, None] | tuple[None, str, str]


def checked_count(name: str, value: int, *, all_if_negative: bool = False) -> int:
    """A number from the user as a Python integer.

    Raises `InvalidArgument` unless it is a whole number of up to 64 bits.
    """
    has_index = hasattr(value, "__index__")  # NumPy's integers do as well
    count: Any = index(value) if has_index else value
    if all_if_negative and isinstance(count, int) and count < 0:
        return ALL
    check_count(name, count, 0)
    return int(count)


def checked_text(name: str, value: str) -> str:
    """A text from the user."""
    if not isinstance(value, str):
        raise InvalidArgument(name, value, "text")
    return value


def several_of(name: str, values: Iterable[Any], expected: str) -> Iterable[Any]:
    """Several things from the user; a text is a single one.

    expected  what they should be, for the error
    """
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InvalidArgument(name, values, expected)
    return values


def checked_rows(name: str, rows: Iterable[Any], columns: tuple[str, ...]) -> list[Any]:
    """Rows from the user, with a value for each of these columns."""
    expected = f"a list of rows ({', '.join(columns)})"
    checked = []
    for row in several_of(name, rows, expected):
        values = tuple(several_of(f"a row of {name}", row, f"({', '.join(columns)})"))
        if len(values) != len(columns):
            raise InvalidArgument(f"a row of {name}", row, f"({', '.join(columns)})")
        checked.append(values)
    return checked


def checked_questions(questions: Iterable[Any]) -> list[Any]:
    """Questions from the user, each with None for what is asked for."""
    expected = "(head, relation, None), (None, relation, tail) or (head, relation)"
    checked = []
    for row in several_of("questions", questions, f"a list of {expected}"):
        match tuple(several_of("a row of questions", row, expected)):
            case (head, relation) | (head, relation, None):
                checked.append((head, relation, None))
            case (None, relation, tail):
                checked.append((None, relation, tail))
            case _:
                raise InvalidArgument("a row of questions", row, expected)
    return checked


def checked_answer(value: object) -> Answer:
    """An answer from the user."""
    if not isinstance(value, Answer):
        raise InvalidArgument(
            "answer", value, "one of the answers that a question was given"
        )
    return value
