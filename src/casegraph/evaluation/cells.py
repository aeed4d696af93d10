"""
Where questions are hard: by what the graph already knows of the entity and of the answer.

Four cells: whether the entity asked about has the relation in the graph, and whether the answer has
been an answer of the relation. And groups by the number of answers that are known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from casegraph.graph.arrays import Counts, Flags, Floats, Ids
    from casegraph.graph.graph import Graph

# Groups by the number of known answers: the least of each.
FEWEST_KNOWN = (0, 1, 2, 4, 11, 31)


class Cell(NamedTuple):
    """Some questions, how many they are, and their mean reciprocal rank; 0 if there are none."""

    name: str
    questions: int
    mrr: float


class KnownBefore(NamedTuple):
    """What the graph knows of each question.

    answers     how many answers are known
    is_familiar whether the target has been an answer of the relation
    """

    answers: Counts
    is_familiar: Flags


def known_before(
    graph: Graph, rows: Ids, ids_of_relations: dict[int, int | None]
) -> KnownBefore:
    """What a graph knows of the questions (direction, entity, target) in each row.

    Directions are given an id in the graph by `ids_of_relations`; entities that the graph does not
    have come after those that it has.
    """
    answers = np.zeros(len(rows), dtype=np.int64)
    is_familiar = np.zeros(len(rows), dtype=np.bool_)
    directions, entities, targets = rows.T
    for asked, direction in ids_of_relations.items():
        if direction is None:
            continue
        is_asked = directions == asked
        heads, _, tails = graph.rows(direction).T
        most = max(int(rows[:, 1:].max(initial=0)), len(graph.entities)) + 1
        answers[is_asked] = np.bincount(heads, minlength=most)[entities[is_asked]]
        times_answer = np.bincount(tails, minlength=most)[targets[is_asked]]
        is_familiar[is_asked] = times_answer > 0
    return KnownBefore(answers, is_familiar)


def cells(known: KnownBefore, ranks: Floats) -> list[Cell]:
    """The mean reciprocal rank of each cell, and by the number of known answers."""
    return [
        Cell(name, int(np.count_nonzero(chosen)), _mrr(ranks[chosen]))
        for name, chosen in _groups(known)
    ]


def _groups(known: KnownBefore) -> Iterator[tuple[str, Flags]]:
    has_relation = known.answers > 0
    for has_it, of_entity in (
        (True, "has the relation"),
        (False, "lacks the relation"),
    ):
        for is_old, of_answer in ((True, "familiar answer"), (False, "new answer")):
            chosen = (has_relation == has_it) & (known.is_familiar == is_old)
            yield f"{of_entity}, {of_answer}", chosen
    for place, fewest in enumerate(FEWEST_KNOWN):
        if place + 1 == len(FEWEST_KNOWN):
            yield f"{fewest} known answers or more", known.answers >= fewest
            continue
        last = FEWEST_KNOWN[place + 1] - 1
        is_in = (known.answers >= fewest) & (known.answers <= last)
        yield (
            f"{fewest if fewest == last else f'{fewest} to {last}'} known answers",
            is_in,
        )


def _mrr(ranks: Floats) -> float:
    return float(np.mean(1 / ranks)) if len(ranks) else 0.0
