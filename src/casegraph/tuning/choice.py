"""
Choosing between settings by reciprocal ranks, and testing whether a difference is due to chance.

The same questions are ranked in several ways. Two ways are compared question by question, by the
mean difference of their reciprocal ranks and its standard error.

Among many equally good settings one looks best by chance, the more so the more there are. So
another setting is chosen only if it is significantly better, with a Bonferroni correction for the
number of comparisons: the probability of any false choice is `CHANCE`.
"""

from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import TypeVar

import numpy as np

from casegraph.graph.arrays import Floats

T = TypeVar("T")

CHANCE = 0.0228  # probability of seeming better by two standard errors by chance


def better(usual: Floats, others: Sequence[Floats], comparisons: int) -> int | None:
    """The place of the best of `others`, if it is surely better than the usual way; else None.

    usual, others  (questions,) each  reciprocal ranks
    comparisons    how many are made in all
    """
    needed = NormalDist().inv_cdf(1 - CHANCE / max(comparisons, 1))
    best = None
    best_gain = 0.0
    for place, other in enumerate(others):
        gain, error = gain_and_error(usual, other)
        is_surely_better = gain > needed * error
        if is_surely_better and gain > best_gain:
            best = place
            best_gain = gain
    return best


def better_so_far(usual: Floats, others: Mapping[T, Floats]) -> list[T]:
    """Which of the others are better in the mean."""
    usual_mean = usual.mean()
    return [name for name, other in others.items() if other.mean() > usual_mean]


def best_unless_by_chance(by_way: Sequence[Floats], usual: int) -> int:
    """The place of the best, or of the usual way if the best is better by one standard error only.

    by_way  (questions,) each  reciprocal ranks
    """
    means = [ranks.mean() for ranks in by_way]
    best = int(np.argmax(means))
    gain, error = gain_and_error(by_way[usual], by_way[best])
    return best if gain > error else usual


def gain_and_error(usual: Floats, other: Floats) -> tuple[float, float]:
    """By how much the other is better in the mean, and the standard error of that."""
    gain = other - usual
    degrees_of_freedom = max(len(gain) - 1, 1)
    error = gain.std() / np.sqrt(degrees_of_freedom)
    return float(gain.mean()), float(error)
