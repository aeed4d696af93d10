"""
Search: the entities whose name or label contains some words, ignoring case and accents.

All names and labels are kept in one folded text (without case, accents and letter variants), one
per line. A search looks for a word in that text, which takes milliseconds for a million names.
Names that begin with the words come first, then those with the words at the beginning of a word,
then the rest; among equals, entities with more facts come first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from casegraph.graph.descriptions import folded, folded_all
from casegraph.graph.lookup import kinds_in

if TYPE_CHECKING:
    from casegraph.graph.descriptions import Descriptions
    from casegraph.graph.graph import Graph

# The rarest word is found by counting in this many characters of the text.
SAMPLE = 200_000
MOST_LOOKED_AT = 1_000  # at most this many lines with a word are looked at


class Hit(NamedTuple):
    """An entity that was found, and the number of its facts."""

    entity: str
    label: str
    types: tuple[str, ...]
    facts: int


class SearchText:
    """The folded names and labels of entities, one line each."""

    def __init__(self, graph: Graph, descriptions: Descriptions) -> None:
        self._graph = graph
        self._descriptions = descriptions
        self._degrees = graph.degrees()

        texts = graph.entities.names
        self._entities = list(range(len(texts)))  # the entity of each line
        for name, label, _ in descriptions:
            described = graph.entities.find(name)
            if label and described is not None:
                texts.append(label)
                self._entities.append(described)

        # A line end before each line and after the last; `_starts` says where each line begins.
        lines = folded_all(texts)
        self._text = "\n".join(["", *lines, ""])
        lengths = np.fromiter(map(len, lines), np.int64, count=len(lines))
        self._starts = np.concatenate([[1], 1 + np.cumsum(lengths + 1)])

    def find(self, words: str, top: int) -> list[Hit]:
        """The best entities that have all these words in their name or in their label."""
        wanted = folded(words)
        parts = wanted.split()
        if not parts:
            return []

        names = self._graph.entities
        # Of each entity found, the best first.
        rank_of: dict[int, tuple[int, int, str]] = {}
        for place in self._lines_to_look_at(wanted, parts):
            line = self._text[self._starts[place] : self._starts[place + 1] - 1]
            if not all(part in line for part in parts):
                continue
            entity = self._entities[place]
            rank = (_how_well(line, wanted), -int(self._degrees[entity]), names[entity])
            rank_of[entity] = min(rank, rank_of.get(entity, rank))
        best = sorted(rank_of, key=rank_of.__getitem__)
        return [self._hit(entity) for entity in best[:top]]

    def _lines_to_look_at(self, wanted: str, parts: list[str]) -> list[int]:
        """The numbers of lines that may have all parts of what is wanted, each once."""

        def frequency(part: str) -> tuple[int, int]:
            longest_first = -len(part)
            return self._text.count(part, 0, SAMPLE), longest_first

        rarest = min(parts, key=frequency)
        places = self._places_of(rarest)
        # There may be more, so look for the best as well.
        if len(places) == MOST_LOOKED_AT:
            with_prefix = self._places_of(f"\n{wanted}")
            with_phrase = self._places_of(wanted) if len(parts) > 1 else []
            places = [*with_prefix, *with_phrase, *places]
        return list(dict.fromkeys(places))

    def called(self, text: str) -> list[int]:
        """The entities with exactly this name or label, ignoring case and accents, by name.

        If there are none, those whose name is an IRI that ends in it.
        """
        wanted = folded(text)
        names = self._graph.entities
        if not wanted:
            return []
        for before in "\n/#":
            places = self._places_of(f"{before}{wanted}\n")
            if places:
                found = {self._entities[place] for place in places}
                return sorted(found, key=names.__getitem__)
        return []

    def _places_of(self, text: str) -> list[int]:
        """The numbers of the first `MOST_LOOKED_AT` lines in which a text is found.

        The text may begin with the line end before the line.
        """
        positions: list[int] = []  # one in each of these lines
        at = self._text.find(text)
        while at >= 0 and len(positions) < MOST_LOOKED_AT:
            within_line = at + 1 if text.startswith("\n") else at
            positions.append(within_line)
            line_end = self._text.find("\n", within_line)
            at = self._text.find(text, line_end)
        lines = np.searchsorted(self._starts, positions, side="right") - 1
        numbers: list[int] = lines.tolist()
        return numbers

    def _hit(self, entity: int) -> Hit:
        name = self._graph.entities[entity]
        description = self._descriptions.of(name)
        types = description.types or kinds_in(name)
        return Hit(name, description.label, types, facts=int(self._degrees[entity]))


def _how_well(line: str, wanted: str) -> int:
    """0 for an exact match, 1 for a prefix, 2 for the beginning of a word, 3 otherwise."""
    if line == wanted:
        return 0
    if line.startswith(wanted):
        return 1
    return 2 if f" {wanted}" in line else 3
