"""Intervals by the bootstrap: how much a metric would change if other questions had been asked."""

from typing import NamedTuple

import numpy as np

from casegraph.graph.arrays import Floats

COVERED = 0.95  # of the draws lie in the interval


class Interval(NamedTuple):
    """A mean, and the interval in which the means of most draws lie."""

    mean: float
    low: float
    high: float


def bootstrap(values: Floats, draws: int, seed: int = 0) -> Interval:
    """The interval of the mean of some values, of each of which one question is the source.

    draws  how often as many values are drawn as there are, each any number of times
    """
    rng = np.random.default_rng(seed)
    means = np.empty(draws)
    for draw in range(draws):
        means[draw] = values[rng.integers(len(values), size=len(values))].mean()
    outside = (1 - COVERED) / 2
    low, high = np.quantile(means, [outside, 1 - outside]).tolist()
    return Interval(float(values.mean()), low, high)
