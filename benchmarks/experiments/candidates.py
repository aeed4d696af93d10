"""
Ranks among some candidates only: those that a protocol defines, or a sample of them.

`answering.ranking` ranks among all entities without listing them. In other protocols only some
entities are candidates, and not the same for every question; here every entity gets its score, and
the rank is counted.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from casegraph.answering.query import ALL, UNKNOWN, answers
from casegraph.answering.state import State
from casegraph.graph.arrays import Counts, Flags, Floats, Ids, rows_with, run_bounds

ASKED_AT_ONCE = 256  # the scores of this many questions are held in memory
HITS = (1, 3, 10)


class Scored(NamedTuple):
    """A question, and the score of every entity as its answer.

    targets  the answers to rank
    scores   (entities,)  0 for an entity that was not reached
    known    all answers that count as known, the targets included
    """

    entity: int
    targets: Ids
    scores: Floats
    known: Ids

    def rank(self, target: int, rivals: Ids | Counts | Flags) -> float:
        """The realistic rank of a target among rivals: in the middle of those with its score."""
        own = self.scores[target]
        others = self.scores[rivals]
        better = np.count_nonzero(others > own)
        equal = np.count_nonzero(others == own)
        return 1 + better + equal / 2

    def unknown_among(self, candidates: Flags) -> Flags:
        """Which of the candidates are not known to be answers."""
        rivals = candidates.copy()
        rivals[self.known] = False
        return rivals


def scored(
    state: State, relation: int | None, asked: Ids, known: Ids, entities: int
) -> Iterator[Scored]:
    """The questions of one relation, each with all scores.

    relation  the direction that is asked about; None if the graph does not have it
    asked     rows (entity, target) of ids, sorted; rows with the same entity are one question
    known     rows (entity, target) of ids, sorted: those of `asked` included
    entities  the number of entities; those that are not in the graph have ids beyond its own
    """
    # The first row of each, and its end.
    questions = list(pairwise(run_bounds(asked[:, 0])))
    for first in range(0, len(questions), ASKED_AT_ONCE):
        some = questions[first : first + ASKED_AT_ONCE]
        about = asked[[start for start, _ in some], 0]
        all_scores = _scores(state, relation, about, entities)
        for (start, end), scores in zip(some, all_scores, strict=True):
            entity = int(asked[start, 0])
            targets = asked[start:end, 1]
            yield Scored(entity, targets, scores, known=answers_in(known, entity))


def answers_in(known: Ids, entity: int) -> Ids:
    """The targets of an entity in sorted rows (entity, target)."""
    rows = rows_with(entity, known[:, 0])
    return known[rows, 1]


def mrr_and_hits(ranks: Floats) -> dict[str, float]:
    """The mean reciprocal rank, and hits at 1, 3 and 10: the share of ranks up to each of these."""
    found = {"mrr": float(np.mean(1 / ranks))}
    for k in HITS:
        found[f"hits_at_{k}"] = float(np.mean(ranks <= k))
    return found


def _scores(state: State, relation: int | None, about: Ids, entities: int) -> Floats:
    """The score of every entity for each question: (questions, entities).

    about  (questions,)  the entity that each question is about
    """
    scores = np.zeros((len(about), entities))
    if relation is None:
        return scores
    is_in_graph = about < len(state.graph.entities)
    about_or_unknown = np.where(is_in_graph, about, UNKNOWN).astype(np.int32)
    for row, found in enumerate(answers(state, relation, about_or_unknown, top=ALL)):
        scores[row, found.entities] = found.scores
    return scores
