"""
Batches of facts that are being read: lists of names, or blocks of lines.

A text source yields its lines as blocks of bytes. A block can be read fact by fact, which creates a
string for each name of each fact; or, if its lines are plain, by a kernel that creates a string
only for each new name (`graph.rows`). Both give the same facts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from casegraph.graph.facts import Fact

Item = TypeVar("Item")

# Facts whose names are looked up together: as many as fit in the processor's cache.
BATCH_SIZE = 1 << 12


class Shape(NamedTuple):
    """The layout of a plain line: fields separated by one byte each, and an end.

    separator  the byte between two fields
    width      the number of fields
    places     the indices of head, relation and tail, from 0
    brackets   the required first and last byte of each of these; or empty
    end        the bytes between the last field and the line end
    """

    separator: bytes
    width: int
    places: tuple[int, int, int]
    brackets: bytes = b""
    end: bytes = b""


class LineSource(ABC):
    """How the lines of one source are read; shared by all its blocks."""

    @property
    @abstractmethod
    def shape(self) -> Shape:
        """The layout of its plain lines."""

    @abstractmethod
    def names(self, texts: list[str], *, are_relations: bool) -> Sequence[str]:
        """The name that each text (without brackets) stands for.

        Empty if the text needs full parsing; then no line that contains it is plain.
        """

    @abstractmethod
    def facts_of_block(self, block: Block) -> Iterator[Sequence[Fact]]:
        """The facts of a block, one by one in order; anything else is rejected."""

    def facts_of_lines(self, lines: list[bytes]) -> Sequence[Fact] | None:  # noqa: ARG002
        """The facts of some lines only; None if the whole block must be read."""
        return None


@dataclass
class Block:
    """Some consecutive lines of a source.

    content     the bytes of the lines
    source      where they come from
    first_line  the number of the first line
    taken       the number of facts read from the lines; set when they have been read
    """

    content: bytes
    source: LineSource
    first_line: int
    taken: int = 0

    def facts(self) -> Iterator[Sequence[Fact]]:
        """Its facts, one by one in order."""
        return self.source.facts_of_block(self)


Batch: TypeAlias = "Sequence[tuple[str, str, str]] | Block"


class Batched(Iterable["Fact"]):
    """Facts that come in batches; iterating yields them one by one."""

    def __init__(self, batches: Iterator[Batch]) -> None:
        self._batches = batches

    def __iter__(self) -> Iterator[Fact]:
        lists = lists_of(self._batches)
        return chain.from_iterable(lists)

    def batches(self) -> Iterator[Batch]:
        """The facts, batch by batch."""
        return self._batches


def batches_of(facts: Iterable[tuple[str, str, str]]) -> Iterator[Batch]:
    """Any facts as batches."""
    if isinstance(facts, Batched):
        yield from facts.batches()
        return
    yield from parts_of(facts, BATCH_SIZE)


def parts_of(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Items in lists of this size; the last may be shorter."""
    remaining = iter(items)
    while part := list(islice(remaining, size)):
        yield part


def lists_of(batches: Iterable[Batch]) -> Iterator[Sequence[Fact]]:
    """Batches as lists of facts; a block is read fact by fact."""
    for batch in batches:
        if isinstance(batch, Block):
            yield from batch.facts()
        else:
            yield batch  # type: ignore[misc]


def size_of(batch: Batch) -> int:
    """Roughly how many facts a batch has; good enough to report progress."""
    if isinstance(batch, Block):
        return batch.content.count(b"\n")
    return len(batch)
