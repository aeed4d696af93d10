"""
Facts on their way in, many at a time: as lists of names, or as blocks of lines.

A source of text gives its lines as bytes, in blocks. A block can be read fact by fact, which needs
a string for each name of each fact; or, where its lines are plain, by a kernel that needs a string
only for a name that is new (`graph.rows`). Both ways give the same facts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from casegraph.graph.facts import Fact

# Facts whose names are looked up together: as many as fit the processor's cache.
BATCH_SIZE = 1 << 12


class Shape(NamedTuple):
    """What a plain line is made of: fields, one byte between each two, and an end.

    separator  the byte between two fields
    width      how many fields there are
    places     which of them are head, relation and tail, from 0
    brackets   what the first and the last byte of each of these must be; or empty
    end        what follows the last field, before the line end
    """

    separator: bytes
    width: int
    places: tuple[int, int, int]
    brackets: bytes = b""
    end: bytes = b""


class LineSource(ABC):
    """What the blocks of one source have in common: how their lines are to be read."""

    @property
    @abstractmethod
    def shape(self) -> Shape:
        """What its plain lines are made of."""

    @abstractmethod
    def names(self, texts: list[str], *, are_relations: bool) -> Sequence[str]:
        """The name that each text between the brackets stands for.

        It is empty if that text needs a closer look; then no line that has it is plain.
        """

    @abstractmethod
    def facts_of_block(self, block: Block) -> Iterator[Sequence[Fact]]:
        """The facts of a block, one by one and in their order; what is no fact is refused."""

    def facts_of_lines(self, lines: list[bytes]) -> Sequence[Fact] | None:  # noqa: ARG002
        """The facts of some lines apart from the others; None if the whole block must be read."""
        return None


@dataclass
class Block:
    """Some lines of a source.

    content     their bytes
    source      what they are lines of
    first_line  the number of the first
    taken       how many facts were made of them, when that is done
    """

    content: bytes
    source: LineSource
    first_line: int
    taken: int = 0

    def facts(self) -> Iterator[Sequence[Fact]]:
        """Its facts, one by one and in their order."""
        return self.source.facts_of_block(self)


Batch: TypeAlias = "Sequence[tuple[str, str, str]] | Block"


class Batched(Iterable["Fact"]):
    """Facts that come in batches; whoever iterates has them one by one."""

    def __init__(self, batches: Iterator[Batch]) -> None:
        self._batches = batches

    def __iter__(self) -> Iterator[Fact]:
        return chain.from_iterable(lists_of(self._batches))

    def batches(self) -> Iterator[Batch]:
        """The facts as they come."""
        return self._batches


def batches_of(facts: Iterable[tuple[str, str, str]]) -> Iterator[Batch]:
    """Facts in batches, however they come."""
    if isinstance(facts, Batched):
        yield from facts.batches()
        return
    remaining = iter(facts)
    while batch := list(islice(remaining, BATCH_SIZE)):
        yield batch


def lists_of(batches: Iterable[Batch]) -> Iterator[Sequence[Fact]]:
    """Batches as lists of facts: what is a block is read fact by fact."""
    for batch in batches:
        if isinstance(batch, Block):
            yield from batch.facts()
        else:
            yield batch  # type: ignore[misc]


def size_of(batch: Batch) -> int:
    """About how many facts a batch has; what matters little may go by it, such as progress."""
    return batch.content.count(b"\n") if isinstance(batch, Block) else len(batch)
