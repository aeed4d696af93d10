"""
A source while it is being read: its facts, rejected lines, and descriptions of entities.

A format is a function that turns a source into lists of facts, and reports everything else to the
`Reading`: descriptions of entities, rejected lines, and content that it skips on purpose.
"""

from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from io import TextIOBase
from operator import length_hint
from typing import IO, Any, NamedTuple, NoReturn

from casegraph.errors import MalformedFact, quoted, several
from casegraph.graph.batches import Batch, Batched, Block, lists_of
from casegraph.graph.descriptions import Description
from casegraph.graph.facts import Fact

Batches = Generator[list[Fact] | Block, None, None]


class Options(NamedTuple):
    """How to read a source.

    header    whether the first line names the columns; None to detect it
    columns   the names, or the numbers from 1, of the columns with head, relation and tail
    literals  whether the literals of RDF become entities
    encoding  of the text; None for UTF-8, or for UTF-16 if its first bytes say so
    """

    header: bool | None = None
    columns: Sequence[str] | None = None
    literals: bool = False
    encoding: str | None = None


@dataclass
class Reading:
    """The progress of reading a source.

    source     its name
    is_strict  whether a line that is not a fact stops reading
    refused    where such lines are written otherwise
    skipped    how many there were
    described  descriptions of entities in the source
    left_out   what was skipped on purpose, in words, and how often
    columns    how the columns of a table are interpreted, in words; empty for other sources
    """

    source: str
    is_strict: bool = True
    refused: IO[Any] | None = None
    skipped: int = 0
    described: list[Description] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    columns: str = ""

    def refuse(self, line: int, problem: str, raw: bytes) -> None:
        """Stop at a line that is not a fact, or skip it."""
        if self.is_strict:
            shown = raw[:1000].decode(errors="replace")
            without_end = shown.removesuffix("\n").removesuffix("\r")
            self.stop(line, f"{problem}: {quoted(without_end)}")
        self.skipped += 1
        self.write_refused(raw)

    def stop(self, line: int, problem: str) -> NoReturn:
        """Stop at a line, whether or not lines are skipped."""
        raise MalformedFact(self.source, line, problem) from None

    def write_refused(self, raw: bytes) -> None:
        """Keep the bytes of a line that was refused."""
        if self.refused is None:
            return
        if isinstance(self.refused, TextIOBase):
            self.refused.write(raw.decode(errors="surrogateescape"))
        else:
            self.refused.write(raw)


class Facts(Batched, Iterator[Fact]):
    """The facts of a source, as they are read.

    source     the name of the source
    read       how many facts were taken so far
    skipped    how many lines, or records of CSV, were refused so far
    described  descriptions of entities read so far
    left_out   what was skipped on purpose so far, and how often
    columns    how the columns of a table are interpreted, in words
    """

    def __init__(self, reading: Reading, batches: Batches) -> None:
        self.source = reading.source
        self._reading = reading
        # Facts of all batches so far, including the rest of the last batch.
        self._parsed = 0
        self._batch = iter(list[Fact]())  # the rest of the last batch
        self._source_batches = batches
        self._lists = lists_of(batches)
        self._is_begun = False  # whether facts were taken one by one
        self._facts = self._each()

    def __repr__(self) -> str:
        return f"<Facts of {self.source}: {several(self.read, 'fact')} taken so far>"

    def __iter__(self) -> Iterator[Fact]:
        return self._facts

    def __next__(self) -> Fact:
        return next(self._facts)

    @property
    def read(self) -> int:
        """The number of facts taken so far."""
        return self._parsed - length_hint(self._batch)

    @property
    def skipped(self) -> int:
        """The number of lines refused so far."""
        return self._reading.skipped

    @property
    def described(self) -> list[Description]:
        """The descriptions of entities read so far; it grows while facts are read."""
        return self._reading.described

    @property
    def left_out(self) -> Counter[str]:
        """What was skipped on purpose so far."""
        return self._reading.left_out

    @property
    def columns(self) -> str:
        """How the columns of a table are interpreted; empty before it is read."""
        return self._reading.columns

    def batches(self) -> Iterator[Batch]:
        """The facts that were not taken yet, in batches."""
        try:
            if self._is_begun:
                yield list(self._batch)
                for facts in self._lists:
                    self._parsed += len(facts)
                    yield facts
            for batch in self._source_batches:
                yield batch
                self._parsed += batch.taken if isinstance(batch, Block) else len(batch)
        finally:
            self._source_batches.close()

    def _each(self) -> Iterator[Fact]:
        self._is_begun = True
        try:
            for batch in self._lists:
                self._parsed += len(batch)
                self._batch = iter(batch)
                yield from self._batch
        finally:
            self._source_batches.close()
