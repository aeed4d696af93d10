"""
Reliability: whether predicted probabilities match observed frequencies.

For every question, the first answer that is not in the graph is examined. There are two predicted
probabilities:

    right      that it is a fact in any file of the benchmark: `Answer.probability`
    asked for  that it is the very fact that was asked for. A right answer need not be, because the
               graph lacks other answers as well (see `tuning.calibration`)

The expected calibration error is the mean distance between predicted probability and observed
frequency, over ten bins of equal width, each weighted by its number of answers.
"""

from typing import NamedTuple

import numpy as np

from casegraph.answering.probability import probability
from casegraph.answering.query import answers
from casegraph.answering.ranking import Targets
from casegraph.answering.state import State
from casegraph.evaluation.plots import Bin, Panel, reliability_panel
from casegraph.graph.arrays import Flags, Floats
from casegraph.tuning.calibration import chance_to_be_asked_for

BINS = 10


class Reliability(NamedTuple):
    """First answers, as parallel arrays; questions without an answer are omitted.

    predicted        the predicted probability that the answer is right
    is_right         whether it is
    predicted_asked  the predicted probability that it is the one asked for
    is_asked         whether it is
    """

    predicted: Floats
    is_right: Flags
    predicted_asked: Floats
    is_asked: Flags

    @classmethod
    def joined(cls, parts: "list[Reliability]") -> "Reliability":
        """All parts, one after the other."""
        return cls(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    @property
    def errors(self) -> dict[str, float]:
        """The expected calibration errors."""
        return {
            "right": calibration_error(self.predicted, self.is_right),
            "asked_for": calibration_error(self.predicted_asked, self.is_asked),
        }

    def panel(self) -> Panel:
        """A diagram of observed frequency against predicted probability."""
        return reliability_panel(bins(self.predicted, self.is_right), self.errors["right"])


def first_answers(state: State, targets: Targets) -> Reliability:
    """The first answer to each question of a task that is not in the graph."""
    entities, targets_asked = targets.asked.T
    tuning = state.settings.tuning
    if targets.relation is None or tuning is None:
        return _reliability([])
    is_seen = entities < len(state.graph.entities)
    asked = np.where(is_seen, entities, -1).astype(np.int32)
    distinct, question_of = np.unique(asked, return_inverse=True)  # facts may share a question
    known_counts = np.array(
        [len(state.graph.answers(entity, targets.relation)) for entity in distinct.tolist()]
    )
    facts = {(entity, answer) for entity, answer in targets.known.tolist()}
    first = answers(state, targets.relation, distinct, top=1, new_only=True)

    chances = chance_to_be_asked_for(known_counts + 1, tuning.missing)
    rows = []
    for place, question in enumerate(question_of.tolist()):
        for answer, score in first[question].pairs():
            calibration = tuning.calibration_of(int(known_counts[question]))
            predicted = probability(calibration, score, is_first=True)
            is_right = (int(entities[place]), answer) in facts
            is_asked = answer == targets_asked[place]
            rows.append((predicted, is_right, predicted * chances[question], is_asked))
    return _reliability(rows)


def calibration_error(predicted: Floats, happened: Flags) -> float:
    """The expected calibration error; 0 if there are no answers."""
    error = 0.0
    for own in bins(predicted, happened):
        error += own.answers / len(predicted) * abs(own.predicted - own.observed)
    return error


def bins(predicted: Floats, happened: Flags) -> list[Bin]:
    """Ten bins of equal width by predicted probability; empty bins are left out."""
    number = np.minimum((predicted * BINS).astype(np.int64), BINS - 1)
    found = []
    for bin_number in np.unique(number).tolist():
        is_in = number == bin_number
        found.append(
            Bin(int(is_in.sum()), float(predicted[is_in].mean()), float(happened[is_in].mean()))
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
