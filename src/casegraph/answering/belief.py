"""
Belief: how probable it is that a pair of entities is a fact, although the graph does not have it.

A pair (head, tail) of a relation has the same belief whichever way one asks. It follows from a few
numbers about the pair:

    how strongly the evidence supports it, from the head and from the tail (`pair_strengths`)
    how many tails the head already has, and how many heads the tail
    of the heads that have this many tails, how many have more; and likewise for the tail

Let η be a weighted sum of these numbers (`features`), and σ(η) = 1 / (1 + exp(-η)) the probability
that the pair is a fact, known or not. Of all facts, the graph has the share c. So a pair that the
graph does not have is a fact with the probability

    σ (1 - c) / (1 - c σ),        which has the odds  exp(η) · (1 - c)

The weights and c are fitted to a graph when it is tuned (`tuning.fitting`). Nothing here depends on
the rank of an answer: accepting one answer changes the belief in another only by what it adds to
the evidence and to the counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from casegraph.answering.cache import PerState
from casegraph.answering.pair_strengths import Pairs, PairStrengths, pair_strengths
from casegraph.answering.query import UNKNOWN
from casegraph.graph.directions import inverse, is_inverse

if TYPE_CHECKING:
    from casegraph.answering.state import State
    from casegraph.graph.arrays import Counts, Floats, Ids
    from casegraph.settings import Belief

SOME_STRENGTH = 0.01  # added to strengths, so that a strength of 0 has a logarithm
SOME_ENTITIES = 5  # pseudo-count: of the share of entities with one answer fewer
MOST_COUNTED = 1_000  # answers of an entity; whoever has more, has more
DIGITS = 6  # of a probability
ALMOST_NONE = 1e-100  # missing facts: then every probability is rounded to 0


def probabilities(state: State, pairs: Pairs) -> Floats | None:
    """How probable it is that each pair is a fact; None if these settings have no belief."""
    belief = state.settings.belief
    return None if belief is None else believed(belief, features(state, pairs))


def answer_probabilities(
    state: State, direction: int, asked: Ids, found: Ids
) -> Floats | None:
    """The same for answers that were found in one direction of a relation.

    asked, found  the entity that each question is about, and the answer
    """
    return probabilities(state, pairs_of(direction, asked, found))


def pairs_of(direction: int, asked: Ids, found: Ids) -> Pairs:
    """The pairs of questions and their answers."""
    if is_inverse(direction):
        return Pairs(inverse(direction), found, asked)
    return Pairs(direction, asked, found)


def believed(belief: Belief, numbers: Floats) -> Floats:
    """The probability of each pair, from its features."""
    odds = np.exp(log_odds(belief, numbers))
    probability: Floats = np.round(odds / (1 + odds), DIGITS)
    return probability


def log_odds(belief: Belief, numbers: Floats) -> Floats:
    """The logarithm of the odds that each pair is a fact, from its features."""
    intercept, *weights = belief.coefficients
    support = intercept + numbers @ np.array(weights)
    missing = max(belief.missing, ALMOST_NONE)
    logarithms: Floats = np.clip(support, -50, 50) + np.log(missing / (1 + missing))
    return logarithms


def features(state: State, pairs: Pairs) -> Floats:
    """The numbers that the belief in each pair depends on: a row for each pair."""
    return features_of(state, pairs, pair_strengths(state, pairs))


def features_of(state: State, pairs: Pairs, strengths: PairStrengths) -> Floats:
    """The same if it is known how strongly the evidence supports each pair."""
    tail_paths, head_paths, precedents, answers = strengths
    resemblance = precedents + answers
    ahead = pairs.relation
    back = inverse(ahead)
    tails_known = known_counts(state, ahead, pairs.heads) - pairs.are_facts
    heads_known = known_counts(state, back, pairs.tails) - pairs.are_facts
    columns = [
        _logarithm(tail_paths + resemblance),
        _logarithm(head_paths + resemblance),
        _logarithm(tail_paths),
        _logarithm(head_paths),
        _logarithm(precedents),
        _logarithm(answers),
        precedents,
        answers,
        np.log1p(tails_known),
        np.log1p(heads_known),
        tails_known == 0,
        heads_known == 0,
        _share_with_more(state, ahead, tails_known, left_out=pairs.are_facts),
        _share_with_more(state, back, heads_known, left_out=pairs.are_facts),
    ]
    return np.stack(columns, axis=1).astype(np.float64)


def _logarithm(strengths: Floats) -> Floats:
    logarithms: Floats = np.log(np.maximum(strengths, 0) + SOME_STRENGTH)
    return logarithms


def known_counts(state: State, direction: int, entities: Ids) -> Counts:
    """How many answers each entity has."""
    counts = _answer_counts(state, direction)
    return np.where(entities == UNKNOWN, 0, counts[entities])


@PerState
def _answer_counts(state: State, direction: int) -> Counts:
    """How many answers every entity has."""
    heads, _, _ = state.graph.rows(direction).T
    return np.bincount(heads, minlength=len(state.graph.entities))


def _share_with_more(
    state: State, direction: int, known: Counts, *, left_out: bool
) -> Floats:
    """The share of the other entities with at least this many answers that has more; its logarithm.

    0 for an entity without answers: whether it has the relation at all is another matter.

    left_out  whether a fact of each entity was left out

    Where few entities have that many answers, the share is nearly that of one answer fewer. It is a
    share of the others, so that it does not change when the entity itself gets an answer more.
    """
    at_least, of_others = _by_answers(state, direction)
    most = len(of_others)
    count = np.clip(known, 1, most)
    with_more = np.maximum(at_least[count + 1] - left_out, 0)
    with_so_many = np.maximum(at_least[count] - 1, 0)
    fewer = of_others[count - 1]
    share = (with_more + SOME_ENTITIES * fewer) / (with_so_many + SOME_ENTITIES)
    return np.where(known == 0, 0.0, np.log(share))


@PerState
def _by_answers(state: State, direction: int) -> tuple[Counts, Floats]:
    """How many entities have at least k answers; and of them but for one, the share that has more.

    The share for k = 0 is that of any number of answers.
    """
    counts = np.minimum(_answer_counts(state, direction), MOST_COUNTED)
    exactly = np.bincount(counts[counts > 0], minlength=2)
    at_least = np.append(exactly[::-1].cumsum()[::-1], [0, 0])
    shares = [(at_least[2:].sum() + 0.5) / (at_least[1:].sum() + 1)]
    for number in range(1, len(exactly) - 1):
        others = max(int(at_least[number]) - 1, 0)
        with_more = max(int(at_least[number + 1]) - 1, 0)
        pseudo = SOME_ENTITIES * shares[-1]
        shares.append((with_more + pseudo) / (others + SOME_ENTITIES))
    return at_least, np.array(shares)
