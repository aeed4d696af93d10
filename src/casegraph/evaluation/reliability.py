"""
Reliability: whether what is said to be probable happens that often.

For every question, the first answer that the graph does not have is looked at. Two things can be
said about it with a probability:

    right      that it is a fact of some file of the benchmark: `Answer.probability`
    asked for  that it is just the fact of the split that was asked for. A right answer need not be,
               since other answers are missing in the graph as well (see `tuning.calibration`)

The expected calibration error is the mean distance between the two sides of "said" and "happened",
over ten bins of equal width by what is said, each bin with the weight of its answers.
"""

from typing import NamedTuple

import numpy as np

from casegraph.answering.probability import probability
from casegraph.answering.query import new_answers
from casegraph.answering.ranking import Targets
from casegraph.answering.state import State
from casegraph.evaluation.plots import Bin, Panel, reliability_panel
from casegraph.graph.arrays import Flags, Floats
from casegraph.tuning.calibration import chance_to_be_asked_for

BINS = 10


class Reliability(NamedTuple):
    """First answers, as parallel arrays; questions without an answer are not among them.

    said        how probable it was said to be that the answer is right
    is_right    whether it is
    said_asked  how probable it was said to be that it is the one asked for
    is_asked    whether it is
    """

    said: Floats
    is_right: Flags
    said_asked: Floats
    is_asked: Flags

    @classmethod
    def joined(cls, parts: "list[Reliability]") -> "Reliability":
        """All parts, one after the other."""
        return cls(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    @property
    def errors(self) -> dict[str, float]:
        """The expected calibration errors."""
        return {
            "right": calibration_error(self.said, self.is_right),
            "asked_for": calibration_error(self.said_asked, self.is_asked),
        }

    def panel(self) -> Panel:
        """A diagram: what is said to the right, how often it happens upwards."""
        return reliability_panel(bins(self.said, self.is_right), self.errors["right"])


def first_answers(state: State, targets: Targets) -> Reliability:
    """The first answer to each question of a task that the graph does not have."""
    entities, targets_asked = targets.asked.T
    tuning = state.settings.tuning
    if targets.relation is None or tuning is None:
        return _reliability([])
    is_seen = entities < len(state.graph.entities)
    asked = np.where(is_seen, entities, -1).astype(np.int32)
    distinct, question_of = np.unique(asked, return_inverse=True)  # many facts, one question
    known = [set(state.graph.answers(entity, targets.relation).tolist()) for entity in distinct]
    facts = {(entity, answer) for entity, answer in targets.known.tolist()}
    new = new_answers(state, (targets.relation, distinct), known, first=1)

    known_counts = np.array([len(answers) for answers in known], dtype=np.int64)
    chances = chance_to_be_asked_for(known_counts + 1, tuning.missing)
    rows = []
    for place, question in enumerate(question_of.tolist()):
        for answer, score in new[question]:
            calibration = tuning.calibration_of(len(known[question]))
            said = probability(calibration, score, is_first=True)
            is_right = (int(entities[place]), answer) in facts
            is_asked = answer == targets_asked[place]
            rows.append((said, is_right, said * chances[question], is_asked))
    return _reliability(rows)


def calibration_error(said: Floats, happened: Flags) -> float:
    """The expected calibration error; 0 if there is nothing."""
    total = sum(one.answers for one in bins(said, happened))
    error = 0.0
    for one in bins(said, happened):
        error += one.answers / total * abs(one.said - one.happened)
    return error


def bins(said: Floats, happened: Flags) -> list[Bin]:
    """Ten bins of equal width by what is said; those without answers are left out."""
    number = np.minimum((said * BINS).astype(np.int64), BINS - 1)
    found = []
    for one in np.unique(number).tolist():
        is_in = number == one
        found.append(
            Bin(int(is_in.sum()), float(said[is_in].mean()), float(happened[is_in].mean()))
        )
    return found


def _reliability(rows: list[tuple[float, bool, float, bool]]) -> Reliability:
    columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
    return Reliability(
        np.array(columns[0], dtype=np.float64),
        np.array(columns[1], dtype=np.bool),
        np.array(columns[2], dtype=np.float64),
        np.array(columns[3], dtype=np.bool),
    )
