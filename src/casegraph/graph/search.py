"""
Searching names: the entities whose name or label has some words in it, however they are spelled.

All names and labels are kept in one text, folded (without case, accents and variants of letters),
with a line for each. To search is then to look for a word in that text, which takes milliseconds
for a million names. What begins with the words comes first, then what has them at the beginning of
a word, then the rest; among equals, entities with more facts.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from casegraph.graph.descriptions import folded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from casegraph.graph.descriptions import Descriptions
    from casegraph.graph.graph import Graph

MOST_LOOKED_AT = 10_000  # lines with the rarest word, before they are sorted


class Hit(NamedTuple):
    """An entity that was found, and how many facts it has."""

    entity: str
    label: str
    types: tuple[str, ...]
    facts: int


class SearchText:
    """The folded names and labels of entities, one line each."""

    def __init__(self, graph: Graph, descriptions: Descriptions) -> None:
        self._graph = graph
        self._descriptions = descriptions
        lines = []
        self._entities: list[int] = []  # of each line
        for entity, name in enumerate(graph.entities.names):
            lines.append(folded(name))
            self._entities.append(entity)
        if len(descriptions):
            for name, label, _ in descriptions:
                described = graph.entities.find(name)
                if label and described is not None:
                    lines.append(folded(label))
                    self._entities.append(described)
        self._text = "\n".join(["", *lines, ""])
        self._starts = list(accumulate((len(line) + 1 for line in lines), initial=1))

    def find(self, words: str, top: int) -> list[Hit]:
        """The best of the entities that have all these words in their name or in their label."""
        wanted = folded(words)
        parts = sorted(wanted.split(), key=len, reverse=True)
        if not parts:
            return []
        prominence = self._graph.prominence()
        found: dict[int, tuple[int, int]] = {}
        for line, entity in self._lines_with(parts[0]):
            if all(part in line for part in parts):
                rank = (_how_well(line, wanted), int(prominence[entity]))
                found[entity] = min(rank, found.get(entity, rank))
        best = sorted(found, key=found.__getitem__)[:top]
        return [self._hit(entity) for entity in best]

    def _lines_with(self, word: str) -> Iterator[tuple[str, int]]:
        """The lines that have a word, those that begin with it first, and their entities."""
        seen = set()
        for pattern in (f"\n{word}", word):
            for match in re.finditer(re.escape(pattern), self._text):
                at = max(match.start(), 1) if pattern == word else match.start() + 1
                place = bisect_right(self._starts, at) - 1
                if place in seen or place >= len(self._entities):
                    continue
                seen.add(place)
                line = self._text[self._starts[place] : self._starts[place + 1] - 1]
                yield line, self._entities[place]
                if len(seen) == MOST_LOOKED_AT:
                    return

    def _hit(self, entity: int) -> Hit:
        graph = self._graph
        facts = sum(len(graph.answers(entity, direction)) for direction in range(graph.directions))
        name = graph.entities[entity]
        said = self._descriptions.of(name)
        return Hit(name, said.label, said.types, facts)


def _how_well(line: str, wanted: str) -> int:
    """0 for the very text, 1 for its beginning, 2 for the beginning of a word, 3 for the rest."""
    if line == wanted:
        return 0
    if line.startswith(wanted):
        return 1
    return 2 if f" {wanted}" in line else 3
