"""Bootstrap intervals: how much a metric would vary with other questions of the same kind."""

from typing import NamedTuple

import numpy as np

from casegraph.graph.arrays import Floats

COVERED = 0.95  # share of the draws inside the interval


class Interval(NamedTuple):
    """A mean and its interval."""

    mean: float
    low: float
    high: float


def bootstrap(values: Floats, draws: int, seed: int = 0) -> Interval:
    """The interval of the mean of some values, one per question.

    draws  how many samples are drawn with replacement, each as large as the values
    """
    rng = np.random.default_rng(seed)
    means = np.empty(draws)
    for draw in range(draws):
        places = rng.integers(len(values), size=len(values))
        means[draw] = values[places].mean()
    outside = (1 - COVERED) / 2
    low, high = np.quantile(means, [outside, 1 - outside]).tolist()
    return Interval(float(values.mean()), low, high)
