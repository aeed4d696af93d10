"""
Calibration: how often answers with a given score are right.

The questions of a sample are answered, and it is recorded which answers are the held-out ones. Of
two answers with the same score, a first answer is right more often, because no other has more
support; so first answers have a separate curve. Of two questions, the one with more known answers
has more evidence for right and for wrong answers alike; so there are separate curves for questions
with few and with many known answers.

An answer other than the held-out one can be right as well, if the graph lacks it too. The more
answers a question has, the more of them are missing. Let the graph lack `missing` answers for each
that it has. Then a question with k answers lacks a number of others that is Poisson distributed
with the mean λ = missing · k, and of an answer that is right, the chance to be the held-out one is

    E[1 / (1 + others)]  =  (1 - exp(-λ)) / λ

(see `chance_to_be_asked_for`). So for answers of score s, with right(s) for the probability that
is wanted:

    P(held out | s, k)  =  right(s) · (1 - exp(-λ)) / λ

`right` never falls (isotonic regression), and `missing` is the number under which the first answers
of the sample are most likely. This is learning from positive and unlabelled examples (Elkan and
Noto 2008), with a chance to be labelled that depends on k.
"""

from math import inf
from typing import NamedTuple

import numpy as np

from casegraph.graph.arrays import Counts, Flags, Floats
from casegraph.settings import Calibration, Curve, KnownCalibration

POINTS = 20  # of a curve, at scores that answers have equally often
KNOWN = (
    0,
    1,
    4,
    11,
    31,
    101,
)  # questions with at least this many known answers have a curve
TRUST = 5.0  # pseudo-count: weight of the overall curve in each of these, in answers
# Questions of a relation that has a separate curve in the estimate of `missing`.
ENOUGH = 60
MISSING = (0, *(round(0.01 * 1.1**step, 4) for step in range(48)))  # to try: up to 0.88
MOST = 0.99  # the largest probability: a sample cannot justify more
DIGITS = 6
NEARLY = 1e-4  # likelihoods are kept between this and 1 minus this


class Observed(NamedTuple):
    """Answers that were given to the questions of a sample, as parallel arrays.

    directions  (answers,)  of the relation that was asked about
    scores      (answers,)
    is_first    (answers,)  whether the answer is the best that the whole graph does not have
    is_asked    (answers,)  whether it is the one that was held out
    known       (answers,)  how many answers of the question the whole graph has: the held-out one
                            and those that are known when it is asked for
    """

    directions: Counts
    scores: Floats
    is_first: Flags
    is_asked: Flags
    known: Counts

    def only(self, chosen: Flags) -> "Observed":
        """Some of them."""
        return Observed(
            self.directions[chosen],
            self.scores[chosen],
            self.is_first[chosen],
            self.is_asked[chosen],
            self.known[chosen],
        )


class Calibrated(NamedTuple):
    """Curves by the number of known answers, and how many answers the graph lacks."""

    by_known: tuple[KnownCalibration, ...]
    missing: float


def calibrated(observed: Observed) -> Calibrated | None:
    """Curves from observed answers; None if there are none."""
    first = observed.only(observed.is_first)
    others = observed.only(~observed.is_first)
    if not len(first.scores):
        return None
    if not len(others.scores):
        others = first
    bins_of_first = _Bins(first)
    bins_of_others = _Bins(others)
    missing = max(MISSING, key=bins_of_first.likelihood)

    by_known = []
    limits = [*KNOWN[1:], inf]
    for least, limit in zip(KNOWN, limits, strict=True):
        calibration = Calibration(
            first=bins_of_first.of_known(least, limit, missing),
            others=bins_of_others.of_known(least, limit, missing),
        )
        by_known.append(KnownCalibration(least=least, calibration=calibration))
    return Calibrated(tuple(by_known), missing)


def chance_to_be_asked_for(known: Counts | Floats, missing: float) -> Floats:
    """Of right answers: the chance to be the one that was held out, as above.

    known  how many answers of each question the whole graph has
    """
    others = np.maximum(missing * known, 1e-9)
    return np.asarray(-np.expm1(-others) / others)


def isotonic(values: Floats, weights: Floats) -> Floats:
    """The nearest values that never fall, by weighted squares (pool adjacent violators).

    Values are taken in from left to right. One that is below the last is pooled with it: both
    become their mean, which may be below the one before, and so on.
    """
    means: list[float] = []
    masses: list[float] = []
    sizes: list[int] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        mean = value
        mass = weight
        size = 1
        while means and means[-1] >= mean:
            moment = means.pop() * masses[-1] + mean * mass
            mass += masses.pop()
            mean = moment / mass
            size += sizes.pop()
        means.append(mean)
        masses.append(mass)
        sizes.append(size)
    return np.repeat(means, sizes)


class _Bins:
    """Observed answers of similar scores together; the bins are those of all questions."""

    def __init__(self, observed: Observed) -> None:
        self._observed = observed
        scores = observed.scores
        shares = np.linspace(0, 1, POINTS + 1)
        edges = np.unique(np.quantile(scores, shares[1:-1]))
        bins = np.searchsorted(edges, scores)
        # Without bins that are empty.
        _, self._of_answer = np.unique(bins, return_inverse=True)

        sizes = self._sums(np.ones(len(scores)))
        means = self._sums(scores) / sizes
        self._scores = np.round(means, DIGITS)

    def overall(self, missing: float) -> Floats:
        """The probability that an answer of each bin is right."""
        asked, chances = self._asked_and_chances(missing)
        return np.minimum(isotonic(asked / chances, chances), MOST)

    def of_some(self, chosen: Flags, missing: float) -> Floats:
        """The same for some of the answers; where these are few, nearly as for all."""
        asked, chances = self._asked_and_chances(missing, chosen)
        weights = chances + TRUST
        values = (asked + TRUST * self.overall(missing)) / weights
        return np.minimum(isotonic(values, weights), MOST)

    def of_known(self, least: int, limit: float, missing: float) -> Curve:
        """The curve of questions with at least so many other known answers, and below a limit."""
        others_known = self._observed.known - 1
        chosen = (others_known >= least) & (others_known < limit)
        return self._curve(self.of_some(chosen, missing))

    def likelihood(self, missing: float) -> float:
        """The logarithm of how likely it is that just these answers were held out.

        Each direction of a relation that has enough questions has a curve of its own here: what
        its questions have in common must not pass for an effect of their known answers.
        """
        observed = self._observed
        right = self.overall(missing)[self._of_answer]
        directions, questions = np.unique(observed.directions, return_counts=True)
        for direction in directions[questions >= ENOUGH].tolist():
            is_own = observed.directions == direction
            own_curve = self.of_some(is_own, missing)
            right[is_own] = own_curve[self._of_answer[is_own]]

        chances = chance_to_be_asked_for(observed.known, missing)
        asked = np.clip(right * chances, NEARLY, 1 - NEARLY)
        likelihoods = np.where(observed.is_asked, asked, 1 - asked)
        return float(np.log(likelihoods).sum())

    def _curve(self, probabilities: Floats) -> Curve:
        """A curve through the bins; where rounding makes scores equal, the last counts."""
        points = dict(zip(self._scores.tolist(), probabilities.tolist(), strict=True))
        rounded = [round(probability, DIGITS) for probability in points.values()]
        return Curve(scores=tuple(points), probabilities=tuple(rounded))

    def _asked_and_chances(
        self, missing: float, chosen: Flags | None = None
    ) -> tuple[Floats, Floats]:
        """For each bin how many answers were held out, and how many if all of them were right."""
        is_asked = self._observed.is_asked.astype(np.float64)
        chances = chance_to_be_asked_for(self._observed.known, missing)
        if chosen is not None:
            is_asked = is_asked * chosen
            chances = chances * chosen
        return self._sums(is_asked), self._sums(chances)

    def _sums(self, values: Floats) -> Floats:
        return np.bincount(self._of_answer, weights=values).astype(np.float64)
