"""From scores to probabilities, by the calibration curves of a tuning."""

import numpy as np

from casegraph.settings import Calibration, Curve


def probability(calibration: Calibration, score: float, *, is_first: bool) -> float:
    """How probable it is that an answer with this score is right.

    is_first  whether it is the best answer that is not a fact yet

    Among the answers to one question, a higher score never has a lower probability.
    """
    as_first = _at(calibration.first, score)
    return as_first if is_first else min(as_first, _at(calibration.others, score))


def _at(curve: Curve, score: float) -> float:
    return float(np.interp(score, curve.scores, curve.probabilities))
