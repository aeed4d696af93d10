"""
Ranks among some candidates only: those that a protocol defines, or a sample of them.

`answering.ranking` ranks among all entities without listing them. Other protocols let only some
entities compete, and not the same for every question; here every entity gets its score, and the
rank is counted.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from casegraph.answering.query import UNKNOWN, answers
from casegraph.answering.state import State
from casegraph.graph.arrays import Counts, Flags, Floats, Ids, rows_with, run_bounds

ASKED_AT_ONCE = 256  # questions whose scores are held together
ALL = -1  # answers
HITS = (1, 3, 10)


class Scored(NamedTuple):
    """A question, and what every entity scores as its answer.

    targets  the answers to rank
    scores   (entities,)  0 for an entity that was not reached
    known    all answers that count as known, the targets included
    """

    entity: int
    targets: Ids
    scores: Floats
    known: Ids

    def rank(self, target: int, rivals: Ids | Counts | Flags) -> float:
        """The rank of a target among rivals, those with the same score in the middle of them."""
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

    relation  its id, a direction; None if the graph does not have it
    asked     rows (entity, target) of ids, sorted
    known     rows (entity, target) of ids, sorted: those of `asked` included
    entities  how many there are; those that the graph has not seen have ids beyond its own
    """
    bounds = run_bounds(asked[:, 0])
    for some in _parts(list(pairwise(bounds)), ASKED_AT_ONCE):
        of_questions = np.array([asked[start, 0] for start, _ in some], dtype=np.int32)
        all_scores = _scores(state, relation, of_questions, entities)
        asked_about = zip(some, of_questions.tolist(), all_scores, strict=True)
        for (start, end), entity, scores in asked_about:
            its_known = known[rows_with(entity, known[:, 0]), 1]
            yield Scored(entity, asked[start:end, 1], scores, its_known)


def mrr_and_hits(ranks: Floats) -> dict[str, float]:
    """The mean reciprocal rank, and how many ranks are among the first."""
    hits = {f"hits_at_{k}": float(np.mean(ranks <= k)) for k in HITS}
    return {"mrr": float(np.mean(1 / ranks)), **hits}


def _scores(state: State, relation: int | None, of_questions: Ids, entities: int) -> Floats:
    """What every entity scores for each question, a row each.

    of_questions  the entity that each question is about
    """
    scores = np.zeros((len(of_questions), entities))
    if relation is None:
        return scores
    is_seen = of_questions < len(state.graph.entities)
    seen = np.where(is_seen, of_questions, UNKNOWN).astype(np.int32)
    for row, found in enumerate(answers(state, relation, seen, top=ALL)):
        scores[row, found.entities] = found.scores
    return scores


def _parts(items: list[tuple[int, int]], size: int) -> Iterator[list[tuple[int, int]]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
