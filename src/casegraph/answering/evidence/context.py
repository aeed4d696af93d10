"""What an evidence kind works from: a piece from the kernels, and the answer it supports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from casegraph.graph.directions import inverse
from casegraph.statistics.path_types import PathType, unpacked

if TYPE_CHECKING:
    from collections.abc import Iterable

    from casegraph import kernels
    from casegraph.answering.query import WalkLists
    from casegraph.answering.state import State
    from casegraph.graph.arrays import Floats, Ids
    from casegraph.graph.directions import PathStep
    from casegraph.graph.graph import Graph, Query


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of evidence, as the kernels give it.

    kind       its index in `kinds.KINDS`
    place      of a path type: its index in the list that was walked
    count, of  as in `Reason`; of a path type, `count` is 1 if the slot of the answer is taken
    worth      as in `Reason`
    strength   −log(1 − worth), and more for a decisive path type; of resemblance, `worth` times
               `Settings.precedent_weight`
    """

    kind: int
    place: int
    count: int
    of: int
    worth: float
    strength: float


class Weighted(NamedTuple):
    """Entities and how much each counts, largest weight first; a weight may be negative."""

    entities: Ids
    weights: Floats


@dataclass(frozen=True, slots=True)
class AnswerContext:
    """One answer to one query, and what its evidence is described from.

    found    the entity that is the answer
    hidden   a known answer that is treated as unknown, or -1
    nearest  the entities most like the query entity that have the relation; none if the settings
             use no evidence but path types
    lists    the path types that were walked
    kernel   their form in the kernels
    """

    state: State
    query: Query
    found: int
    hidden: int
    nearest: Weighted
    lists: WalkLists
    kernel: kernels.RelationQuery

    @property
    def graph(self) -> Graph:
        """The facts."""
        return self.state.graph

    @property
    def kernel_arguments(
        self,
    ) -> tuple[kernels.RelationQuery, int, int, int, kernels.Workspaces]:
        """What kernels take that look at one answer."""
        entity = self.query.entity
        return self.kernel, entity, self.hidden, self.found, self.state.workspaces

    def known_answers(self) -> Ids:
        """The answers of the query that are facts already."""
        return self.graph.answers(self.query.entity, self.query.relation)

    def with_answer(self) -> Ids:
        """The entities that have the answer."""
        return self.graph.answers(self.found, inverse(self.query.relation))

    def path_type(self, piece: Piece) -> PathType:
        """The path type of a piece of evidence."""
        packed = int(self.lists.types[self.lists.walked[piece.place]])
        return unpacked(packed, self.state.settings.max_length)

    def names(self, entities: Iterable[int]) -> tuple[str, ...]:
        """Entities by name, in their order."""
        return tuple(self.graph.entities[entity] for entity in entities)

    def steps(self, path_type: PathType) -> tuple[PathStep, ...]:
        """A path type by name."""
        return tuple(self.graph.step(direction) for direction in path_type)


def sorted_names(graph: Graph, entities: Ids) -> tuple[str, ...]:
    """The names of entities, sorted."""
    names = [graph.entities[entity] for entity in entities.tolist()]
    return tuple(sorted(names))
