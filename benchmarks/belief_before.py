"""The probability of pairs by commit 300861d, for `bench_belief`; run by Python of its checkout.

Run: CHECKOUT/.venv/bin/python benchmarks/belief_before.py FOLDER

FOLDER has train.txt, and pairs.txt, which are not in train. Writes stated.npy: of each pair, the
higher of the probabilities that this version stated for the two directions, and its score there.
"""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from casegraph import CaseBase, read_facts
from casegraph.graph.arrays import Floats, Ids

AT_ONCE = 256
# What only that version has.
calibration_of: Any = import_module("casegraph.answering.query").calibration_of
probability: Any = import_module("casegraph.answering.probability").probability
query: Any = import_module("casegraph.answering.query")


def main() -> None:
    """State a probability for each pair."""
    folder = Path(sys.argv[1])
    cases = CaseBase()
    cases.update(add=read_facts(folder / "train.txt"))
    cases.tune()
    graph = cases.graph
    rows = []
    for head, relation, tail in read_facts(folder / "pairs.txt"):
        ends = (graph.entities.find(head), graph.entities.find(tail))
        rows.append((ends[0], graph.relations.find(relation), ends[1]))
    pairs = np.array(rows, dtype=np.int32)
    found = np.zeros((2, len(pairs)))
    for relation in np.unique(pairs[:, 1]).tolist():
        places = np.flatnonzero(pairs[:, 1] == relation)
        heads, _, tails = pairs[places].T
        ahead = one_way(cases.state, 2 * relation, heads, tails)
        back = one_way(cases.state, 2 * relation + 1, tails, heads)
        is_ahead = (ahead[0] > back[0]) | ((ahead[0] == back[0]) & (ahead[1] > back[1]))
        found[:, places] = np.where(is_ahead, ahead, back)
    np.save(folder / "stated.npy", found)


def one_way(state: Any, direction: int, entities: Ids, targets: Ids) -> Floats:  # noqa: ANN401
    """The probability and score of each target as an answer to (entity, direction, ?)."""
    found = np.zeros((2, len(entities)))
    order = np.lexsort((targets, entities))
    asked, starts = np.unique(entities[order], return_index=True)
    bounds = np.append(starts, len(order))
    for first in range(0, len(asked), AT_ONCE):
        some = asked[first : first + AT_ONCE]
        own_bounds = bounds[first : first + len(some) + 1]
        places = order[own_bounds[0] : own_bounds[-1]]
        found[:, places] = of_some(
            state, direction, some, own_bounds - own_bounds[0], targets[places]
        )
    return found


def of_some(
    state: Any,  # noqa: ANN401
    direction: int,
    entities: Ids,
    offsets: Any,  # noqa: ANN401
    targets: Ids,
) -> tuple[list[float], list[float]]:
    """The same for some questions; the targets of question i are between offsets i and i + 1."""
    nothing = (np.zeros(len(entities) + 1, dtype=np.int64), np.zeros(0, dtype=np.int32))
    wanted = (offsets, targets)
    standing = query.standings(state, (direction, entities), wanted, nothing)
    best = query.answers(state, direction, entities, top=1, new_only=True)
    probable = []
    for place, entity in enumerate(entities.tolist()):
        known = len(state.graph.answers(entity, direction))
        calibration = calibration_of(state, known)
        first_answer = best[place].entities[:1].tolist()
        for row in range(offsets[place], offsets[place + 1]):
            score = float(standing.score[row])
            is_first = [int(targets[row])] == first_answer
            as_stated = probability(calibration, score, is_first=is_first)
            probable.append(as_stated if score > 0 else 0.0)
    return probable, standing.score.tolist()


if __name__ == "__main__":
    main()
