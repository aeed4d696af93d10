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

SAMPLE = 200_000  # characters of the text, in which words are counted to find the rarest
MOST_LOOKED_AT = 1_000  # lines with a text, before they are sorted


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
        entities = list(range(len(graph.entities)))  # of each line
        texts = graph.entities.names
        for name, label, _ in descriptions:
            described = graph.entities.find(name)
            if label and described is not None:
                texts.append(label)
                entities.append(described)
        lines = folded_all(texts)
        self._entities = entities
        self._degrees = graph.degrees()
        self._text = "\n".join(["", *lines, ""])
        lengths = np.fromiter(map(len, lines), np.int64, count=len(lines))
        self._starts = np.concatenate([[1], 1 + np.cumsum(lengths + 1)])

    def find(self, words: str, top: int) -> list[Hit]:
        """The best entities that have all these words in their name or in their label."""
        wanted = folded(words)
        parts = wanted.split()
        if not parts:
            return []
        rarest = min(parts, key=lambda part: (self._text.count(part, 0, SAMPLE), -len(part)))
        places = self._places_of(rarest)
        if len(places) == MOST_LOOKED_AT:  # there may be more, so look for the best as well
            with_all = self._places_of(wanted) if len(parts) > 1 else []
            places = [*self._places_of(f"\n{wanted}"), *with_all, *places]

        names = self._graph.entities
        found: dict[int, tuple[int, int, str]] = {}
        for place in dict.fromkeys(places):
            line = self._text[self._starts[place] : self._starts[place + 1] - 1]
            entity = self._entities[place]
            if all(part in line for part in parts):
                rank = (_how_well(line, wanted), -int(self._degrees[entity]), names[entity])
                found[entity] = min(rank, found.get(entity, rank))
        best = sorted(found, key=found.__getitem__)[:top]
        return [self._hit(entity) for entity in best]

    def called(self, text: str) -> list[str]:
        """The entities with exactly this name or label, ignoring case and accents, sorted.

        If there are none, those whose name is an IRI that ends in it.
        """
        wanted = folded(text)
        names = self._graph.entities
        for before in "\n/#":
            places = self._places_of(f"{before}{wanted}\n")
            if wanted and places:
                return sorted({names[self._entities[place]] for place in places})
        return []

    def _places_of(self, text: str) -> list[int]:
        """The numbers of the first `MOST_LOOKED_AT` lines in which a text is found."""
        found: list[int] = []
        at = self._text.find(text)
        while at >= 0 and len(found) < MOST_LOOKED_AT:
            within_line = at + text.startswith("\n")
            found.append(within_line)
            line_end = self._text.find("\n", within_line)
            at = self._text.find(text, line_end)
        places: list[int] = (np.searchsorted(self._starts, found, side="right") - 1).tolist()
        return places

    def _hit(self, entity: int) -> Hit:
        name = self._graph.entities[entity]
        said = self._descriptions.of(name)
        return Hit(name, said.label, said.types or kinds_in(name), int(self._degrees[entity]))


def _how_well(line: str, wanted: str) -> int:
    """0 for an exact match, 1 for a prefix, 2 for the beginning of a word, 3 otherwise."""
    if line == wanted:
        return 0
    if line.startswith(wanted):
        return 1
    return 2 if f" {wanted}" in line else 3
