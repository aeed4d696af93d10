"""
What can go wrong, in one place.

CasegraphError        base class of every error raised on purpose
├─ UnknownName       a query names an entity or relation the graph has never seen
├─ MalformedFact     a line of input is not head TAB relation TAB tail, or a fact is not three names
├─ UnreadableFile    a file cannot be opened, or cannot be read to its end
├─ IncompatibleFile  a saved case base or a file of counts has another format version, or is damaged
├─ InvalidSettings   a setting is out of its range
├─ NotABenchmark     a folder does not hold the files of a benchmark
├─ StoreInUse        a store is being written by another process, or already by this one
├─ ReadOnlyStore     a store was opened for reading, or writing to it failed
└─ DamagedStore      a file of a store is not as it was written

A message is one sentence in lower case: what happened, where, and what to do next.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from heapq import nlargest
from itertools import chain, islice
from typing import Any

SEARCHED = 200_000  # names; among more, only another spelling of the same letters is looked for
SEARCHED_LENGTH = 200  # characters of a name, likewise
COMPARED = 500  # names that are compared letter by letter, which takes some 40 µs each
SHOWN = 80  # characters of what was given that a message repeats


class CasegraphError(Exception):
    """Every error that casegraph raises on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        # By default an error is copied, or sent to another process, by calling its class with its message alone.
        return CasegraphError.__new__, (type(self), *self.args), self.__dict__


class UnknownName(CasegraphError):
    """A query names an entity or relation the graph has never seen."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        close = close_names(name, known)
        hint = f"; did you mean {' or '.join(map(quoted, close))}?" if close else ""
        super().__init__(f"no {kind} is named {quoted(name)}{hint}")
        self.kind, self.name = kind, name


class MalformedFact(CasegraphError):
    """A line of input is not head TAB relation TAB tail, or a fact is not three names."""

    def __init__(self, source: str, line: int, problem: str) -> None:
        super().__init__(f"{source}:{line}: {problem}")
        self.source, self.line, self.problem = source, line, problem


class UnreadableFile(CasegraphError):
    """A file cannot be opened, or cannot be read to its end."""

    def __init__(self, source: str, problem: str) -> None:
        super().__init__(f"{source}: {problem}")
        self.source, self.problem = source, problem


class IncompatibleFile(CasegraphError):
    """A saved case base or a file of counts has another format version, or is damaged."""

    def __init__(self, source: str, problem: str) -> None:
        super().__init__(f"{source}: {problem}")
        self.source, self.problem = source, problem


class InvalidSettings(CasegraphError):
    """A setting is out of its range."""

    def __init__(self, setting: str, value: object, expected: str) -> None:
        super().__init__(f"{setting} is {shortened(repr(value))}; expected {expected}")
        self.setting, self.value, self.expected = setting, value, expected


class NotABenchmark(CasegraphError):
    """A folder does not hold the files of a benchmark."""

    def __init__(self, folder: str, problem: str) -> None:
        super().__init__(f"{folder}: {problem}")
        self.folder, self.problem = folder, problem


class StoreInUse(CasegraphError):
    """A store is being written by another process, or already by this one."""

    def __init__(self, folder: str, writer: str, *, is_here: bool = False) -> None:
        problem = f"is being written by {shortened(writer)}; wait for it or stop it"
        if is_here:
            problem = "is already open for writing in this process; close it first"
        super().__init__(f"{folder}: {problem}")
        self.folder, self.writer, self.is_here = folder, writer, is_here


class ReadOnlyStore(CasegraphError):
    """A store was opened for reading, or writing to it failed."""

    def __init__(self, folder: str, problem: str) -> None:
        super().__init__(f"{folder}: {problem}")
        self.folder, self.problem = folder, problem


class DamagedStore(CasegraphError):
    """A file of a store is not as it was written, from `offset` on."""

    def __init__(self, file: str, offset: int, problem: str) -> None:
        super().__init__(f"{file}: is damaged at byte {offset:,}: {problem}; run 'casegraph check' on the folder")
        self.file, self.offset, self.problem = file, offset, problem


def close_names(name: str, known: Iterable[str]) -> list[str]:
    """At most three of the `known` names that `name` may have been meant for, the most similar first.

    Among very many names, or for a very long one, only those that differ in case, white space or underscores:
    the work stays linear in the number of names, and small for each.
    """
    names = iter(known)
    first = list(islice(names, SEARCHED + 1))
    if len(first) <= SEARCHED and len(name) <= SEARCHED_LENGTH:
        return get_close_matches(name, _likely(name, first), n=3)
    folded = _folded(name)
    return list(islice((other for other in chain(first, names) if _folded(other) == folded), 3))


def quoted(text: str) -> str:
    """`text` in quotes on one line, cut where it becomes too long to read."""
    return repr(shortened(text))


def shortened(text: str) -> str:
    """`text`, or its beginning and an ellipsis."""
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"


def _likely(name: str, known: list[str]) -> list[str]:
    """The names worth comparing letter by letter: those that share most pairs of letters with `name`."""
    if len(known) <= COMPARED:
        return known
    pairs = sorted({name[place : place + 2] for place in range(len(name))})
    return nlargest(COMPARED, known, key=lambda other: sum([pair in other for pair in pairs]))


def _folded(name: str) -> str:
    return "".join(name.casefold().replace("_", " ").split())
