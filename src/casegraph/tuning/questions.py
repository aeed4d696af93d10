"""
The questions about a sample of facts, and their first answers.

Each fact gives two questions, for its tail and for its head. Of many facts that give the same
question, as all people of one country do, only `MOST_ALIKE` are asked for: they would take most of
the time, and say the same. Known answers are skipped.

A fact of the graph is hidden while it is asked for, and left out of the counts of path types.
Everything is in the order of the sample, which does not depend on ids.

Questions of one relation are asked together, as a task for an executor (`execution.executor`):
`first_answers` depends on the state and the task alone, so it can run anywhere.
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
AT_ONCE = 64  # questions per task: few, so that no worker waits long for another

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from casegraph.answering.state import State
    from casegraph.graph.arrays import Counts, Flags, Floats, Ids
    from casegraph.settings import Combination


class Batch(NamedTuple):
    """A task: questions about one direction, and the combination of evidence to answer them by.

    places    (questions,)  of the questions among all
    entities  (questions,)  which are asked about
    targets   (questions,)  the answers asked for
    in_graph  whether the graph has these answers, so that they are hidden
    """

    combination: Combination
    direction: int
    places: Counts
    entities: Ids
    targets: Ids
    in_graph: bool


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
    def joined(cls, parts: Iterable[FirstAnswers]) -> FirstAnswers:
        """All parts, one after the other."""
        columns = zip(*parts, strict=True)
        return cls(*map(np.concatenate, columns))


def first_answers(state: State, batch: Batch) -> FirstAnswers:
    """The first new answers to each question of a task."""
    results = answers(
        state,
        batch.direction,
        batch.entities,
        top=FIRST,
        hidden=batch.targets if batch.in_graph else None,
        new_only=True,
        combination=batch.combination,
    )
    sizes = [len(found.entities) for found in results]
    ranks = [np.arange(1, size + 1) for size in sizes]
    entities = np.concatenate([found.entities for found in results])
    return FirstAnswers(
        questions=np.repeat(batch.places, sizes),
        ranks=np.concatenate(ranks),
        scores=np.concatenate([found.scores for found in results]),
        is_asked=entities == np.repeat(batch.targets, sizes),
    )


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
        times_asked: dict[tuple[int, int], int] = {}
        rows = []
        for head, direction, tail in facts.tolist():
            for_tail = (direction, head, tail)
            for_head = (inverse(direction), tail, head)
            for question in (for_tail, for_head):
                about = question[:2]
                times = times_asked.get(about, 0)
                if times < MOST_ALIKE:
                    times_asked[about] = times + 1
                    rows.append(question)
        columns = np.array(rows, dtype=np.int32).reshape(-1, 3).T
        directions, entities, targets = columns.copy()
        return cls(state, in_graph, directions, entities, targets)

    def __len__(self) -> int:
        return len(self.targets)

    def tasks(self, combination: Combination, start: int, end: int) -> Iterator[Batch]:
        """The questions from place `start` to `end`, as tasks; by the name of what is asked for."""
        directions = self.directions[start:end]
        found = np.unique(directions).tolist()
        for direction in sorted(found, key=self.state.graph.relation_name):
            places = start + np.flatnonzero(directions == direction)
            for first in range(0, len(places), AT_ONCE):
                some = places[first : first + AT_ONCE]
                entities = self.entities[some]
                targets = self.targets[some]
                yield Batch(combination, direction, some, entities, targets, self.in_graph)

    def observed(self, given: FirstAnswers) -> Observed:
        """What calibration learns from: the answers that were given to these questions."""
        graph = self.state.graph
        known_counts = []
        entities = self.entities.tolist()
        directions = self.directions.tolist()
        for entity, direction in zip(entities, directions, strict=True):
            known = len(graph.answers(entity, direction))
            if not self.in_graph:
                known += 1  # the one that was held out
            known_counts.append(known)
        known_of_question = np.array(known_counts, dtype=np.int64)
        return Observed(
            directions=self.directions[given.questions].astype(np.int64),
            scores=given.scores,
            is_first=given.ranks == 1,
            is_asked=given.is_asked,
            known=known_of_question[given.questions],
        )

    def reciprocal_ranks(self, given: FirstAnswers) -> Floats:
        """Of each answer asked for; 0 if it is not among the first."""
        found = np.zeros(len(self))  # of all questions, even if only the first were answered
        questions = given.questions[given.is_asked]
        found[questions] = 1 / given.ranks[given.is_asked]
        return found
