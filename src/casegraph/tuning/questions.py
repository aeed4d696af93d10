"""
The questions about a sample of facts, and their first answers.

Each fact gives two questions, for its tail and for its head. Of many facts that give the same
question, as all people of one country do, only `MOST_ALIKE` are asked for: they would take most of
the time, and say the same. Known answers are skipped.

A fact of the graph is hidden while it is asked for, and left out of the counts of path types.
Everything is in the order of the sample, which does not depend on ids.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from casegraph.answering.query import answers
from casegraph.graph.directions import inverse
from casegraph.tuning.calibration import Observed

FIRST = 10  # answers of a question that are looked at
MOST_ALIKE = 3  # how often the same question is asked, each time for another answer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from casegraph.answering.state import State
    from casegraph.graph.arrays import Counts, Flags, Floats, Ids
    from casegraph.settings import Combination


class FirstAnswers(NamedTuple):
    """The first answers to some questions, as parallel arrays, best first for each question.

    questions  (answers,)  the place of the question
    ranks      (answers,)  1 for the best answer of a question
    scores     (answers,)
    is_asked   (answers,)  whether it is the answer that was asked for
    """

    questions: Counts
    ranks: Counts
    scores: Floats
    is_asked: Flags

    @classmethod
    def joined(cls, parts: Sequence[FirstAnswers]) -> FirstAnswers:
        """All parts, one after the other."""
        return cls(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def moved(self, places: int) -> FirstAnswers:
        """The same for questions that are so many places further on."""
        return self._replace(questions=self.questions + places)


@dataclass(frozen=True, slots=True)
class Questions:
    """Questions (entity, direction, ?) about facts, and the answers asked for; parallel arrays.

    state      answers them
    in_graph   whether its graph has the facts, so that they are hidden
    """

    state: State
    in_graph: bool
    directions: Ids
    entities: Ids
    targets: Ids

    @classmethod
    def of(cls, state: State, facts: Ids, *, in_graph: bool) -> Questions:
        """The questions about facts, which are rows (head, relation, tail) of ids."""
        asked: dict[tuple[int, int], int] = {}
        rows = []
        for head, direction, tail in facts.tolist():
            for question in (direction, head, tail), (inverse(direction), tail, head):
                times = asked.get(question[:2], 0)
                if times < MOST_ALIKE:
                    asked[question[:2]] = times + 1
                    rows.append(question)
        directions, entities, targets = np.array(rows, dtype=np.int32).reshape(-1, 3).T.copy()
        return cls(state, in_graph, directions, entities, targets)

    def __len__(self) -> int:
        return len(self.targets)

    def part(self, start: int, end: int) -> Questions:
        """Some of the questions."""
        part = slice(start, end)
        return Questions(
            self.state,
            self.in_graph,
            self.directions[part],
            self.entities[part],
            self.targets[part],
        )

    def first_answers(self, combination: Combination) -> FirstAnswers:
        """The first new answers to each question, by one combination of evidence."""
        found: list[FirstAnswers] = []
        for direction, places in self._by_direction():
            targets = self.targets[places]
            results = answers(
                self.state,
                direction,
                self.entities[places],
                top=FIRST,
                hidden=targets if self.in_graph else None,
                new_only=True,
                combination=combination,
            )
            sizes = [len(one.entities) for one in results]
            entities = np.concatenate([one.entities for one in results])
            ranks = np.concatenate([np.arange(1, size + 1) for size in sizes])
            scores = np.concatenate([one.scores for one in results])
            is_asked = entities == np.repeat(targets, sizes)
            found.append(FirstAnswers(np.repeat(places, sizes), ranks, scores, is_asked))
        return FirstAnswers.joined(found)

    def observed(self, given: FirstAnswers) -> Observed:
        """What calibration learns from: the answers that were given to these questions."""
        known = np.array(
            [
                len(self.state.graph.answers(entity, direction)) + (not self.in_graph)
                for entity, direction in zip(
                    self.entities.tolist(), self.directions.tolist(), strict=True
                )
            ],
            dtype=np.int64,
        )
        return Observed(
            directions=self.directions[given.questions].astype(np.int64),
            scores=given.scores,
            is_first=given.ranks == 1,
            is_asked=given.is_asked,
            known=known[given.questions],
        )

    def reciprocal_ranks(self, given: FirstAnswers) -> Floats:
        """Of each answer asked for; 0 if it is not among the first."""
        found = np.zeros(len(self))  # of all questions, even if only the first were answered
        found[given.questions[given.is_asked]] = 1 / given.ranks[given.is_asked]
        return found

    def _by_direction(self) -> Iterator[tuple[int, Counts]]:
        """Each direction, in the order of names, and the places of its questions."""
        found = np.unique(self.directions).tolist()
        for direction in sorted(found, key=self.state.graph.relation_name):
            yield direction, np.flatnonzero(self.directions == direction)
