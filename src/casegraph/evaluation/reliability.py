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
from casegraph.answering.query import UNKNOWN, answers
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
        columns = zip(*parts, strict=True)
        return cls(*map(np.concatenate, columns))

    @property
    def errors(self) -> dict[str, float]:
        """The expected calibration errors."""
        return {
            "right": calibration_error(self.predicted, self.is_right),
            "asked_for": calibration_error(self.predicted_asked, self.is_asked),
        }

    def panel(self) -> Panel:
        """A diagram of observed frequency against predicted probability."""
        by_probability = bins(self.predicted, self.is_right)
        return reliability_panel(by_probability, self.errors["right"])


def first_answers(state: State, targets: Targets) -> Reliability:
    """The first answer that is not in the graph, to each question of a task."""
    relation = targets.relation
    tuning = state.settings.tuning
    if relation is None or tuning is None:
        return _reliability([])

    # Several rows (entity, target) may belong to one question.
    entities = targets.asked[:, 0]
    is_in_graph = entities < len(state.graph.entities)
    about = np.where(is_in_graph, entities, UNKNOWN).astype(np.int32)
    questions, question_of = np.unique(about, return_inverse=True)
    first = answers(state, relation, questions, top=1, new_only=True)
    known = [
        len(state.graph.answers(entity, relation)) for entity in questions.tolist()
    ]
    chances = chance_to_be_asked_for(np.array(known) + 1, tuning.missing)
    facts = {(entity, answer) for entity, answer in targets.known.tolist()}

    rows = []
    for (entity, target), question in zip(
        targets.asked.tolist(), question_of.tolist(), strict=True
    ):
        for answer, score in first[question].pairs():
            calibration = tuning.calibration_of(known[question])
            predicted = probability(calibration, score, is_first=True)
            predicted_asked = predicted * chances[question]
            is_right = (entity, answer) in facts
            rows.append((predicted, is_right, predicted_asked, answer == target))
    return _reliability(rows)


def calibration_error(predicted: Floats, happened: Flags) -> float:
    """The expected calibration error; 0 if there are no answers."""
    error = 0.0
    for own in bins(predicted, happened):
        weight = own.answers / len(predicted)
        error += weight * abs(own.predicted - own.observed)
    return error


def bins(predicted: Floats, happened: Flags) -> list[Bin]:
    """Ten bins of equal width by predicted probability; empty bins are left out."""
    bin_of_each = (predicted * BINS).astype(np.int64)
    # A probability of 1 is in the last bin.
    bin_of_each = np.minimum(bin_of_each, BINS - 1)
    found = []
    for number in np.unique(bin_of_each).tolist():
        is_in = bin_of_each == number
        mean_predicted = float(predicted[is_in].mean())
        observed = float(happened[is_in].mean())
        found.append(Bin(int(is_in.sum()), mean_predicted, observed))
    return found


def _reliability(rows: list[tuple[float, bool, float, bool]]) -> Reliability:
    columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
    return Reliability(
        np.array(columns[0], dtype=np.float64),
        np.array(columns[1], dtype=np.bool),
        np.array(columns[2], dtype=np.float64),
        np.array(columns[3], dtype=np.bool),
    )
