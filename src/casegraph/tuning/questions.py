"""
The questions about a sample of facts, two for each fact, and how well they are answered.

The answers come from the graph without the sample. Ranks are filtered by all facts of the whole
graph. Everything is in the order of the sample, which does not depend on ids.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from casegraph.answering.query import new_answers
from casegraph.answering.ranking import Targets, filtered_ranks
from casegraph.graph.directions import inverse
from casegraph.tuning.calibration import Observed

FIRST = 10  # answers per question that calibration learns from

if TYPE_CHECKING:
    from collections.abc import Iterator

    from casegraph.answering.state import State
    from casegraph.graph.arrays import Counts, Floats, Ids
    from casegraph.graph.graph import Graph
    from casegraph.settings import Combination


@dataclass(frozen=True, slots=True)
class Questions:
    """Questions (entity, direction, ?) with the answer that was held out; parallel arrays.

    graph  the whole graph
    """

    graph: Graph
    directions: Ids
    entities: Ids
    targets: Ids

    @classmethod
    def of(cls, graph: Graph, facts: Ids) -> Questions:
        """For each fact (head, relation, tail), the question for its tail and that for its head."""
        heads, directions, tails = facts.T
        return cls(
            graph,
            directions=np.stack([directions, inverse(directions)], axis=1).ravel(),
            entities=np.stack([heads, tails], axis=1).ravel(),
            targets=np.stack([tails, heads], axis=1).ravel(),
        )

    def __len__(self) -> int:
        return len(self.targets)

    def first(self, count: int) -> Questions:
        """The first questions."""
        return Questions(
            self.graph, self.directions[:count], self.entities[:count], self.targets[:count]
        )

    def by_direction(self) -> Iterator[tuple[int, Counts]]:
        """Each direction, in the order of names, and the places of its questions."""
        found = np.unique(self.directions).tolist()
        for direction in sorted(found, key=self.graph.relation_name):
            yield direction, np.flatnonzero(self.directions == direction)

    def reciprocal_ranks(self, state: State, combination: Combination) -> Floats:
        """The reciprocal rank of each held-out answer, for one combination of evidence."""
        found = np.zeros(len(self))
        for direction, places in self.by_direction():
            asked = np.stack([self.entities[places], self.targets[places]], axis=1)
            known = self.graph.rows(direction)[:, [0, 2]]
            targets = Targets(direction, asked, known, among=state.living)
            found[places] = 1 / filtered_ranks(state, targets, combination).realistic
        return found

    def observed(self, state: State, combination: Combination) -> Observed:
        """The first answers to each question that are not facts, or that were held out."""
        rows: list[tuple[int, float, bool, bool, int]] = []
        for direction, places in self.by_direction():
            rows += self._observed(state, direction, places, combination)
        columns = zip(*rows, strict=True) if rows else [()] * len(Observed._fields)
        directions, scores, is_first, is_asked, known = map(np.array, columns)
        return Observed(
            directions.astype(np.int64),
            scores.astype(np.float64),
            is_first.astype(np.bool),
            is_asked.astype(np.bool),
            known.astype(np.int64),
        )

    def _observed(
        self, state: State, direction: int, places: Counts, combination: Combination
    ) -> Iterator[tuple[int, float, bool, bool, int]]:
        targets = self.targets[places].tolist()
        asked = self.entities[places]
        known = [set(self.graph.answers(entity, direction).tolist()) for entity in asked.tolist()]
        others = [answers - {target} for answers, target in zip(known, targets, strict=True)]
        new = new_answers(state, (direction, asked), others, FIRST, combination)
        for target, its_known, its_new in zip(targets, known, new, strict=True):
            for rank, (entity, score) in enumerate(its_new):
                yield direction, score, rank == 0, entity == target, len(its_known)
