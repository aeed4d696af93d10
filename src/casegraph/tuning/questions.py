"""
The questions about a sample of facts, and their first answers.

Each fact gives two questions, for its tail and for its head. Of many facts that give the same
question, as all people of one country do, only `MOST_ALIKE` are asked for: they would take most of
the time, and say the same. Known answers are skipped.

A fact of the graph is hidden while it is asked for, and left out of the counts of path types.
Everything is in the order of the sample, which does not depend on ids.

Some questions and a combination of evidence are a task for an executor (`execution.executor`):
`first_answers` depends on the state and the task alone, so it can run anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from casegraph.answering.query import answers
from casegraph.graph.directions import inverse

FIRST = 10  # answers of a question that are looked at
MOST_ALIKE = 3  # how often the same question is asked, each time for another answer
AT_ONCE = 64  # questions per task: few, so that no worker waits long for the last one

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from casegraph.answering.state import State
    from casegraph.graph.arrays import Counts, Flags, Floats, Ids
    from casegraph.graph.graph import Graph
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
    def joined(cls, parts: Iterable[FirstAnswers]) -> FirstAnswers:
        """All parts, one after the other."""
        columns = zip(*parts, strict=True)
        return cls(*map(np.concatenate, columns))


@dataclass(frozen=True, slots=True)
class Questions:
    """Questions (entity, direction, ?) about facts, and the answers asked for; parallel arrays.

    in_graph   whether the graph has the facts, so that they are hidden
    places     (questions,)  of each among all questions
    """

    in_graph: bool
    places: Counts
    directions: Ids
    entities: Ids
    targets: Ids

    @classmethod
    def of(cls, facts: Ids, *, in_graph: bool) -> Questions:
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
        return cls(in_graph, np.arange(len(rows)), directions, entities, targets)

    def __len__(self) -> int:
        return len(self.targets)

    def at(self, rows: Counts) -> Questions:
        """Some of the questions, in this order."""
        return Questions(
            self.in_graph,
            self.places[rows],
            self.directions[rows],
            self.entities[rows],
            self.targets[rows],
        )

    def about(self, direction: int) -> Questions:
        """The questions about one direction."""
        return self.at(np.flatnonzero(self.directions == direction))

    def in_parts(self, graph: Graph, start: int, end: int) -> Iterator[Questions]:
        """The questions from place `start` to `end`, some at a time.

        Questions about one direction follow each other, directions in the order of names: what all
        of them need is prepared once for each part.
        """
        asked = self.at(np.arange(start, end))
        directions = np.unique(asked.directions).tolist()
        by_name = sorted(directions, key=graph.relation_name)
        places = [asked.about(direction).places for direction in by_name]
        ordered = self.at(np.concatenate(places))
        for first in range(0, len(ordered), AT_ONCE):
            last = min(first + AT_ONCE, len(ordered))
            yield ordered.at(np.arange(first, last))

    def reciprocal_ranks(self, given: FirstAnswers) -> Floats:
        """Of each answer asked for; 0 if it is not among the first."""
        # Of all questions, even if only the first were answered.
        found = np.zeros(len(self))
        questions = given.questions[given.is_asked]
        found[questions] = 1 / given.ranks[given.is_asked]
        return found


class Task(NamedTuple):
    """Questions, and the combination of evidence to answer them by."""

    combination: Combination
    questions: Questions


def first_answers(state: State, task: Task) -> FirstAnswers:
    """The first new answers to each question of a task."""
    directions = dict.fromkeys(task.questions.directions.tolist())  # in their order
    parts = []
    for direction in directions:
        asked = task.questions.about(direction)
        parts.append(_first_answers_about(state, direction, asked, task.combination))
    return FirstAnswers.joined(parts)


def _first_answers_about(
    state: State, direction: int, asked: Questions, combination: Combination
) -> FirstAnswers:
    """The first new answers to questions that are all about one direction."""
    results = answers(
        state,
        direction,
        asked.entities,
        top=FIRST,
        hidden=asked.targets if asked.in_graph else None,
        new_only=True,
        combination=combination,
    )
    sizes = [len(found.entities) for found in results]
    ranks = [np.arange(1, size + 1) for size in sizes]
    entities = np.concatenate([found.entities for found in results])
    return FirstAnswers(
        questions=np.repeat(asked.places, sizes),
        ranks=np.concatenate(ranks),
        scores=np.concatenate([found.scores for found in results]),
        is_asked=entities == np.repeat(asked.targets, sizes),
    )
