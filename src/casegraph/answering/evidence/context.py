"""What an evidence kind works from: a piece from the kernels, and the answer it supports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from casegraph.graph.directions import inverse
from casegraph.statistics.path_types import PathType, unpacked

if TYPE_CHECKING:
    from casegraph.answering.query import WalkLists
    from casegraph.answering.state import State
    from casegraph.graph.arrays import Floats, Ids
    from casegraph.graph.graph import Graph, Query


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of evidence, as the kernels give it.

    kind            its index in `kinds.KINDS`
    relation, tail  the shared fact, or -1
    place           of a path type: its index in the list that was walked
    count, of       as in `Reason`; of a path type, `count` is 1 if the slot of the answer is taken
    worth           as in `Reason`
    strength        −log(1 − worth), and more for a decisive path type
    """

    kind: int
    relation: int
    tail: int
    place: int
    count: int
    of: int
    worth: float
    strength: float


class Nearest(NamedTuple):
    """The entities most like the query entity that have the relation, most similar first.

    Empty if the settings use no evidence but path types.
    """

    entities: Ids
    similarities: Floats


@dataclass(frozen=True, slots=True)
class AnswerContext:
    """One answer to one query, and what its evidence is described from.

    found    the entity that is the answer
    hidden   a known answer that is treated as unknown, or -1
    nearest  the entities most like the query entity
    lists    the path types that were walked
    """

    state: State
    query: Query
    found: int
    hidden: int
    nearest: Nearest
    lists: WalkLists

    @property
    def graph(self) -> Graph:
        """The facts."""
        return self.state.graph

    def known_answers(self) -> Ids:
        """The answers of the query that are facts already."""
        return self.graph.answers(self.query.entity, self.query.relation)

    def with_answer(self) -> Ids:
        """The entities that have the answer."""
        return self.graph.answers(self.found, inverse(self.query.relation))

    def with_fact(self, piece: Piece) -> Ids:
        """The entities that have the fact of a piece of evidence."""
        return self.graph.answers(piece.tail, inverse(piece.relation))

    def path_type(self, piece: Piece) -> PathType:
        """The path type of a piece of evidence."""
        packed = int(self.lists.types[self.lists.walked[piece.place]])
        return unpacked(packed, self.state.settings.max_length)

    def fact_in_words(self, piece: Piece) -> str:
        """The fact of a piece of evidence: its relation and tail."""
        return fact_in_words(self.graph, piece.relation, piece.tail)

    def relation_in_words(self) -> str:
        """The query relation by name."""
        return self.graph.relation_name(self.query.relation)

    def names(self, entities: Ids) -> tuple[str, ...]:
        """These entities by name, sorted, without the query entity and the answer."""
        is_other = (entities != self.query.entity) & (entities != self.found)
        return sorted_names(self.graph, entities[is_other])


def fact_in_words(graph: Graph, relation: int, tail: int) -> str:
    """A fact without its head, which is known from the context: relation and tail."""
    return f"{graph.relation_name(relation)} {graph.entities[tail]}"


def sorted_names(graph: Graph, entities: Ids) -> tuple[str, ...]:
    """The names of entities, sorted."""
    names = [graph.entities[entity] for entity in entities.tolist()]
    return tuple(sorted(names))
