"""
From facts to rows of ids.

A *row* of a fact is three ids: head, relation, tail. `Graph.apply` turns it into edges in both
directions. Facts given as names are looked up name by name. In a block of lines, a kernel numbers
the distinct texts in the order of their first occurrence (`kernels.Interner`); the name of a text
is looked up once and cached by its number. So the time depends on the number of names, not of
facts. Lines that are not plain are read fact by fact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from casegraph import kernels
from casegraph.graph.arrays import Counts, Ids, ids
from casegraph.graph.batches import BATCH_SIZE, Block, LineSource, batches_of
from casegraph.graph.change import NO_ROWS
from casegraph.graph.facts import check_names, columns_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from casegraph.graph.names import Names

# Rows per batch. Their edges are sorted once, but all rows of a batch are held in memory, and the
# same fact may occur any number of times.
ROWS_TOGETHER = 1 << 22

UNCLEAR = -1  # the id of a text that needs full parsing
WAITING = -2  # the id of a text that no row has needed yet


class RowReader:
    """Turns facts into rows; its names grow as facts introduce new ones."""

    def __init__(self, entities: Names, relations: Names) -> None:
        self.entities = entities
        self.relations = relations
        self._taken = 0  # facts, so far
        self._source: LineSource | None = None  # of the last block
        self._entity_texts = _Texts()
        self._relation_texts = _Texts()

    def rows(self, facts: Iterable[tuple[str, str, str]]) -> Iterator[Ids]:
        """Facts as rows, with ids for new names, in large batches of bounded size."""
        made: list[Ids] = []  # rows not yielded yet
        facts_left: list[tuple[str, str, str]] = []  # facts not yet turned into rows
        yielded = 0
        for batch in batches_of(facts):
            if isinstance(batch, Block):
                made.append(self._take_block(batch))
            else:
                facts_left += batch
                if len(facts_left) >= BATCH_SIZE:
                    made += self._rows_of_names(facts_left)
                    facts_left = []
            if self._taken - yielded >= ROWS_TOGETHER:
                yield np.concatenate(made)
                made = []
                yielded = self._taken
        made += self._rows_of_names(facts_left)
        if made:
            yield np.concatenate(made)

    def _take_block(self, block: Block) -> Ids:
        taken_before = self._taken
        plain_rows, other_facts = self._read_block(block)
        self._taken += len(plain_rows)
        parts = [plain_rows]
        for facts in other_facts:
            parts += self._rows_of_names(facts)
        block.taken = self._taken - taken_before
        return plain_rows if len(parts) == 1 else np.concatenate(parts)

    def _rows_of_names(self, facts: Sequence[tuple[str, str, str]]) -> list[Ids]:
        parts = []
        for start in range(0, len(facts), BATCH_SIZE):
            parts.append(self._batch_rows(facts[start : start + BATCH_SIZE]))
        return parts

    def _batch_rows(self, batch: Sequence[tuple[str, str, str]]) -> Ids:
        """The rows of some facts; `MalformedFact` if one is not three allowed names."""
        first = self._taken + 1
        head_names, relation_names, tail_names = columns_of(batch, first)
        known_entities = len(self.entities)
        known_relations = len(self.relations)
        self.entities, entities = self.entities.extended(head_names + tail_names)
        self.relations, relations = self.relations.extended(relation_names)
        check_names(self.entities.names_from(known_entities), batch, first)
        check_names(self.relations.names_from(known_relations), batch, first)
        self._taken += len(batch)
        heads = entities[: len(batch)]
        tails = entities[len(batch) :]
        return np.stack([heads, relations, tails], axis=1)

    def _read_block(
        self, block: Block
    ) -> tuple[Ids, Iterable[Sequence[tuple[str, str, str]]]]:
        """The rows of the plain lines of a block, and the facts of its other lines."""
        content = block.content
        if b"\r" in content:  # much faster to find out than to replace nothing
            content = content.replace(b"\r\n", b"\n")
        if not _is_text(content):
            return NO_ROWS, block.facts()

        numbers, starts, other_starts = self._numbered_texts(content, block.source)
        is_unclear = self._entity_texts.are_unclear(numbers[:, 0])
        is_unclear |= self._relation_texts.are_unclear(numbers[:, 1])
        is_unclear |= self._entity_texts.are_unclear(numbers[:, 2])
        if not len(other_starts) and not is_unclear.any():
            return self._rows_of_texts(numbers), []

        starts_in_order = np.sort(np.append(other_starts, starts[is_unclear]))
        other_lines = _lines_at(content, starts_in_order)
        other_facts = block.source.facts_of_lines(other_lines)
        if other_facts is None:
            return NO_ROWS, block.facts()
        return self._rows_of_texts(numbers[~is_unclear]), [other_facts]

    def _numbered_texts(
        self, content: bytes, source: LineSource
    ) -> tuple[Ids, Counts, Counts]:
        """The texts in the plain lines of a block, as numbers of `_Texts`; and where lines begin.

        numbers       (plain lines, 3)  the texts of head, relation and tail of each plain line
        starts        (plain lines,)    where each plain line begins in the content
        other_starts  (other lines,)    where each other line begins
        """
        # In another source the same text may stand for another name.
        if source is not self._source:
            self._source = source
            self._entity_texts = _Texts()
            self._relation_texts = _Texts()
        shape = source.shape
        numbers, starts, other_starts = kernels.interned_lines(
            content,
            shape.separator,
            shape.brackets,
            shape.end,
            shape.width,
            shape.places,
            self._entity_texts.interner,
            self._relation_texts.interner,
        )
        self._entity_texts.name_new(source, are_relations=False)
        self._relation_texts.name_new(source, are_relations=True)
        return numbers.reshape(-1, 3), starts, other_starts

    def _rows_of_texts(self, numbers: Ids) -> Ids:
        """The rows of facts given as numbers of texts; both arrays are (facts, 3)."""
        heads, relations, tails = numbers.T
        self.entities = self._entity_texts.learn(self.entities, heads, tails)
        self.relations = self._relation_texts.learn(self.relations, relations)
        rows = np.empty_like(numbers)
        rows[:, 0] = self._entity_texts.ids[heads]
        rows[:, 1] = self._relation_texts.ids[relations]
        rows[:, 2] = self._entity_texts.ids[tails]
        return rows


class _Texts:
    """The texts of a source, and the ids of the names that they stand for.

    ids  by the number of a text; `WAITING` if no row has needed the text yet (a name must not be
         created without a fact), or `UNCLEAR`
    """

    def __init__(self) -> None:
        self.interner = kernels.Interner()
        self.ids = ids()
        self._known = 0  # the number of texts; the array of ids may have room for more
        self._unclear = 0  # the number of texts that need full parsing
        self._waiting: dict[int, str] = {}  # the names of waiting texts, by number

    def name_new(self, source: LineSource, *, are_relations: bool) -> None:
        """Ask the source for the names of new texts."""
        first = self._known
        self._known = self.interner.size
        if self._known == first:
            return
        if self._known > len(self.ids):
            more = np.empty(self._known, dtype=np.int32)  # about double the capacity
            self.ids = np.append(self.ids, more)
        self.ids[first : self._known] = WAITING
        texts = self.interner.texts_from(first).decode().split("\n")
        names = source.names(texts, are_relations=are_relations)
        for number, name in enumerate(names, first):
            if name:
                self._waiting[number] = name
            else:
                self.ids[number] = UNCLEAR
                self._unclear += 1

    def are_unclear(self, numbers: Ids) -> np.ndarray[tuple[int], np.dtype[np.bool]]:
        """Whether each of these texts needs full parsing."""
        if not self._unclear:
            return np.zeros(len(numbers), dtype=np.bool)
        return self.ids[numbers] == UNCLEAR  # type: ignore[no-any-return]

    def learn(self, names: Names, *columns: Ids) -> Names:
        """Give ids to the names of the texts in some columns of numbers.

        Returns the names, extended by the new ones.
        """
        if not self._waiting:
            return names
        waiting = [column[self.ids[column] == WAITING] for column in columns]
        new = np.unique(np.concatenate(waiting))
        new_names = [self._waiting.pop(number) for number in new.tolist()]
        names, found = names.extended(new_names)
        self.ids[new] = found
        return names


def _is_text(content: bytes) -> bool:
    if content.isascii():  # much faster than decoding
        return True
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _lines_at(content: bytes, starts: Counts) -> list[bytes]:
    """The lines that begin at these places."""
    lines = []
    for start in starts.tolist():
        end = content.find(b"\n", start)
        lines.append(content[start:] if end < 0 else content[start : end + 1])
    return lines
