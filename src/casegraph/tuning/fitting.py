"""
Fitting belief: from facts and open pairs, how probable an open pair is a fact that is missing.

A pair is described by the numbers of `answering.belief.features`. Let it be a fact, known or not,
with the probability σ(η), where η is linear in these numbers, and let the graph have the share c of
all facts, whichever they are. Then

    P(the graph has it)  =  c σ(η)

Even of the pairs that are surely facts, the graph lacks some. So c shows in the best supported
pairs: of those with at least the support of the best quarter of the facts, how many are known?
The coefficients are those under which known facts, each described as if it were missing, and open
pairs are most likely.

This is learning from positive and unlabelled examples (Elkan and Noto 2008), fitted by expectation
maximisation (Ward et al. 2009): an open pair is a fact with its present probability; a logistic
regression is fitted to that; and so on. The coefficients are drawn towards the usual ones, as a few
facts would draw them, so that a small graph keeps what most graphs have in common.
"""

from typing import NamedTuple

import numpy as np

from casegraph.graph.arrays import Flags, Floats
from casegraph.settings import USUAL_COEFFICIENTS, USUALLY_MISSING, Belief

ROUNDS = 200
CLOSE_ENOUGH = 1e-6  # change of a coefficient in the last round
LARGEST_STEP = 2.0  # of a coefficient in one step of Newton's method
PRECISION = 8.0  # how strongly a coefficient is drawn to the usual one
BEST = 0.25  # share of the facts whose support is taken to be sure
SETTLED = 50  # rounds after which the estimate of `missing` stays
FACTS_OF_PRIOR = 10.0  # as many as `USUALLY_MISSING` counts for in this estimate
MOST_MISSING = 1.0
DIGITS = 4


class Examples(NamedTuple):
    """Pairs to learn from, as parallel arrays.

    features  (pairs, numbers)
    is_fact   (pairs,)  whether the graph has it
    weights   (pairs,)  how many pairs of the graph each stands for
    """

    features: Floats
    is_fact: Flags
    weights: Floats


def fitted(examples: Examples) -> Belief:
    """The belief under which the examples are most likely."""
    numbers = np.insert(examples.features, 0, 1.0, axis=1)
    facts = np.count_nonzero(examples.is_fact)
    # A fact of the sample counts once, however many it stands for: that is what is known.
    mean_weight = examples.weights[examples.is_fact].sum() / max(facts, 1)
    weights = examples.weights / max(mean_weight, 1e-9)
    usual = np.array(USUAL_COEFFICIENTS)
    coefficients = usual
    missing = USUALLY_MISSING
    for number in range(ROUNDS):
        support = numbers @ coefficients
        if number < SETTLED:
            missing = _missing(support, examples.is_fact, weights)
        share = 1 / (1 + missing)
        is_true = _sigmoid(support)
        expected = is_true * (1 - share) / (1 - share * is_true)
        expected[examples.is_fact] = 1.0

        before = coefficients
        coefficients = _newton(numbers, expected, weights, coefficients, usual)
        if np.abs(coefficients - before).max() < CLOSE_ENOUGH:
            break
    rounded = np.round(coefficients, DIGITS).tolist()
    return Belief(coefficients=tuple(rounded), missing=round(missing, DIGITS))


def _missing(support: Floats, is_fact: Flags, weights: Floats) -> float:
    """How many facts are missing for each known one, among the best supported pairs."""
    if not is_fact.any():
        return USUALLY_MISSING
    best_first = np.argsort(-support[is_fact], kind="stable")
    so_far = weights[is_fact][best_first].cumsum()
    last = np.searchsorted(so_far, BEST * so_far[-1])
    least = support[is_fact][best_first[last]]
    known_facts = float(weights[is_fact & (support >= least)].sum())
    open_pairs = float(weights[~is_fact & (support >= least)].sum())
    missing = (open_pairs + FACTS_OF_PRIOR * USUALLY_MISSING) / (
        known_facts + FACTS_OF_PRIOR
    )
    return min(missing, MOST_MISSING)


def _newton(
    numbers: Floats, expected: Floats, weights: Floats, start: Floats, usual: Floats
) -> Floats:
    """One step of a logistic regression of `expected`, with a normal prior around the usual."""
    probable = _sigmoid(numbers @ start)
    gradient = numbers.T @ (weights * (probable - expected))
    gradient += PRECISION * (start - usual)
    curvature = (numbers * (weights * probable * (1 - probable))[:, None]).T @ numbers
    curvature += PRECISION * np.eye(len(start))
    step = np.linalg.solve(curvature, gradient)
    largest = np.abs(step).max()
    moved: Floats = start - step * min(1.0, LARGEST_STEP / max(largest, 1e-12))
    return moved


def _sigmoid(exponents: Floats) -> Floats:
    sigmoid: Floats = 1 / (1 + np.exp(-np.clip(exponents, -30, 30)))
    return sigmoid
