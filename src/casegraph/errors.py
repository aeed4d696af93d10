"""
All exceptions that casegraph raises on purpose, listed in one place.

CasegraphError        base class of every error raised on purpose
├─ UnknownName       a query names an entity or relation the graph has never seen
├─ NotReached        nothing leads from the entity asked about to the entity named as an answer
├─ AmbiguousName     several entities or relations have the label that a query names
├─ MalformedFact     a line of input is not head TAB relation TAB tail, or a fact is not three names
├─ UnreadableFile    a file cannot be opened, read to its end, or written
├─ IncompatibleFile  a saved case base or a file of counts has another format version, or is damaged
├─ InvalidArgument   an argument or a setting is out of its range, or of a wrong type
├─ NotABenchmark     a folder does not hold the files of a benchmark
├─ StoreInUse        a store is being written by another process, or already by this one
├─ ReadOnlyStore     a store was opened for reading, or writing to it failed
├─ Stopped           another thread no longer wants what this one computes (`running`)
├─ Refused           the service does not take a request, whatever it asks (`service.problems`)
├─ Problem           what the service says went wrong, where its client raises it (`client`)
└─ DamagedStore      a file of a store is not as it was written

A message is one sentence in lower case: what happened, where, and what to do next.
"""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from heapq import nlargest
from importlib import import_module
from itertools import chain, islice
from typing import Any

# Among more names than this, or for a longer name, a suggestion may differ in spelling only.
MAX_SEARCHED_NAMES = 200_000
MAX_SEARCHED_LENGTH = 200

MAX_COMPARED_NAMES = 500  # letter by letter, which takes some 40 µs each
MAX_LISTED_NAMES = 5  # of several that are meant by one label
MAX_QUOTED_LENGTH = 80  # characters of what was given that a message repeats


class CasegraphError(Exception):
    """Every error that casegraph raises on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        # How to copy an error, or send it to another process. The default is to call its class
        # with the message alone, but our classes take other arguments.
        return CasegraphError.__new__, (type(self), *self.args), self.__dict__


class UnknownName(CasegraphError):
    """A query names an entity or relation the graph has never seen."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        message = f"no {kind} is named {quoted(name)}"
        suggestions = close_names(name, known)
        if suggestions:
            message += f"; did you mean {' or '.join(map(quoted, suggestions))}?"
        super().__init__(message)
        self.kind = kind
        self.name = name


class NotReached(CasegraphError):
    """No evidence leads from the entity asked about to the entity that was named as an answer."""

    def __init__(self, name: str, question: str) -> None:
        problem = f"{quoted(name)} was not reached by {question}"
        super().__init__(f"{problem}: no path type or precedent leads there")
        self.name = name
        self.question = question


class AmbiguousName(CasegraphError):
    """Several entities or relations have the label that a query names."""

    def __init__(self, kind: str, label: str, names: Sequence[str]) -> None:
        shown = ", ".join(map(quoted, names[:MAX_LISTED_NAMES]))
        more = (
            f" and {len(names) - MAX_LISTED_NAMES:,} more"
            if names[MAX_LISTED_NAMES:]
            else ""
        )
        count = f"{several(len(names), kind)} are called {quoted(label)}"
        super().__init__(f"{count}: {shown}{more}; ask for one of them by its name")
        self.kind = kind
        self.label = label
        self.names = list(names)


class MalformedFact(CasegraphError):
    """A line of input is not head TAB relation TAB tail, or a fact is not three names."""

    def __init__(self, source: str, line: int, problem: str) -> None:
        super().__init__(f"{source}:{line}: {problem}")
        self.source = source
        self.line = line
        self.problem = problem


class UnreadableFile(CasegraphError):
    """A file cannot be opened, read to its end, or written."""

    def __init__(self, source: str, problem: str) -> None:
        super().__init__(f"{source}: {problem}")
        self.source = source
        self.problem = problem


class IncompatibleFile(CasegraphError):
    """A saved case base or a file of counts has another format version, or is damaged."""

    def __init__(self, source: str, problem: str) -> None:
        super().__init__(f"{source}: {problem}")
        self.source = source
        self.problem = problem


class InvalidArgument(CasegraphError, ValueError):
    """An argument or a setting is out of its range, or of a wrong type."""

    def __init__(self, name: str, value: object, expected: str) -> None:
        super().__init__(f"{name} is {shortened(repr(value))}; expected {expected}")
        self.name = name
        self.value = value
        self.expected = expected


class NotABenchmark(CasegraphError):
    """A folder does not hold the files of a benchmark."""

    def __init__(self, folder: str, problem: str) -> None:
        super().__init__(f"{folder}: {problem}")
        self.folder = folder
        self.problem = problem


class StoreInUse(CasegraphError):
    """A store is being written by another process, or already by this one."""

    def __init__(self, folder: str, writer: str, *, is_here: bool = False) -> None:
        problem = f"is being written by {shortened(writer)}; wait for it or stop it"
        if is_here:
            problem = "is already open for writing in this process; close it first"
        super().__init__(f"{folder}: {problem}")
        self.folder = folder
        self.writer = writer
        self.is_here = is_here


class ReadOnlyStore(CasegraphError):
    """A store was opened for reading, or writing to it failed."""

    def __init__(self, folder: str, problem: str) -> None:
        super().__init__(f"{folder}: {problem}")
        self.folder = folder
        self.problem = problem


class DamagedStore(CasegraphError):
    """A file of a store is not as it was written, from `offset` on."""

    def __init__(self, file: str, offset: int, problem: str) -> None:
        place = f"{file}: is damaged at byte {offset:,}"
        super().__init__(f"{place}: {problem}; run 'casegraph check' on the folder")
        self.file = file
        self.offset = offset
        self.problem = problem


def close_names(name: str, known: Iterable[str]) -> list[str]:
    """At most three of the `known` names that `name` may have been meant for, most similar first.

    Among very many names, or for a very long name, only names that differ in case, white space or
    underscores are suggested: this looks at each name once, and takes little time for each.
    """
    names = iter(known)
    first_names = list(islice(names, MAX_SEARCHED_NAMES + 1))
    are_few = len(first_names) <= MAX_SEARCHED_NAMES
    if are_few and len(name) <= MAX_SEARCHED_LENGTH:
        return get_close_matches(name, _likely(name, first_names), n=3)

    folded = _folded(name)
    all_names = chain(first_names, names)
    same_letters = (other for other in all_names if _folded(other) == folded)
    return list(islice(same_letters, 3))


def quoted(text: str) -> str:
    """`text` in quotes on one line, cut where it becomes too long to read."""
    return repr(shortened(text))


def several(number: int, noun: str) -> str:
    """A number with what it counts: 1 fact, 2 facts, 1,000 entities."""
    if number == 1:
        return f"1 {noun}"
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {plural}"


def shortened(text: str, most: int = MAX_QUOTED_LENGTH) -> str:
    """`text`, or its beginning and an ellipsis."""
    return text if len(text) <= most else text[:most] + "…"


def optional_module(name: str, needs: str, extra: str) -> Any:  # noqa: ANN401
    """A module of an optional library; an error that says what to install if it is missing.

    needs  the beginning of the message, such as "pictures need Matplotlib"
    extra  of casegraph, which installs the library
    """
    try:
        return import_module(name)
    except ImportError as error:
        advice = f"install it with \"pip install 'casegraph[{extra}]'\""
        raise CasegraphError(f"{needs}; {advice}") from error


def _likely(name: str, known: list[str]) -> list[str]:
    """The names worth comparing letter by letter: those that share most pairs of letters."""
    if len(known) <= MAX_COMPARED_NAMES:
        return known
    pairs = sorted({name[place : place + 2] for place in range(len(name))})

    def shared_pairs(other: str) -> int:
        return sum([pair in other for pair in pairs])

    return nlargest(MAX_COMPARED_NAMES, known, key=shared_pairs)


def _folded(name: str) -> str:
    """A name without case, white space and underscores."""
    return "".join(name.casefold().replace("_", " ").split())
