"""
Lists of pairs: the new answers to all questions about a relation, in both directions, with belief.

A pair (head, tail) is found as an answer to (head, relation, ?), to (?, relation, tail), or to
both. Belief needs both scores. A pair that was found in one direction only has a score of 0 in the
other if all answers to that question are known; otherwise at most the score of the last answer that
was given. So most pairs cannot be probable enough, and only the others are scored again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from casegraph.answering.belief import (
    DIGITS,
    SOME_SCORE,
    Pairs,
    features,
    log_odds,
    probabilities,
)
from casegraph.answering.query import ALL, answers, scores_of_targets
from casegraph.batch.restrictions import AllowedAnswers, pair_numbers
from casegraph.graph.arrays import Counts, Flags, Floats, Ids, ids, is_run_start
from casegraph.graph.directions import inverse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from casegraph.answering.state import State
    from casegraph.execution.executor import Executor
    from casegraph.settings import Belief

QUESTIONS_AT_ONCE = 256
PAIRS_AT_ONCE = 1 << 14
LARGE_SCORE = 1e6  # no score is larger
ROUNDING = 2 * 10**-DIGITS  # more than rounding adds to a probability


class AskTask(NamedTuple):
    """A task: the questions (entity, direction, ?).

    top     how many new answers to give to each, or `ALL`
    limits  which answers may be given
    """

    direction: int
    entities: Ids
    top: int
    limits: AllowedAnswers


class NewAnswerTable(NamedTuple):
    """New answers to questions of one direction, grouped by question, the best first.

    asked, found, scores, are_exact  (answers,)
    entities, largest                (questions,)  who was asked about, and the largest score that
                                     an answer which is not given can have; 0 if all are given
    """

    asked: Ids
    found: Ids
    scores: Floats
    are_exact: Flags
    entities: Ids
    largest: Floats


class PairTable(NamedTuple):
    """Pairs of one relation, as parallel arrays.

    tail_scores, head_scores  of the tail and of the head as an answer; NaN if not known
    are_exact                 whether the questions they answer were answered within the budgets
    """

    heads: Ids
    tails: Ids
    tail_scores: Floats
    head_scores: Floats
    are_exact: Flags

    def at(self, places: Counts | Flags | slice) -> PairTable:
        """Some of the rows."""
        return PairTable(
            self.heads[places],
            self.tails[places],
            self.tail_scores[places],
            self.head_scores[places],
            self.are_exact[places],
        )


class PairTask(NamedTuple):
    """A task: pairs of one relation.

    relation   its forward direction
    largest    (pairs,)  how large a score that is not known can be
    threshold  how probable a pair must be to be kept
    """

    relation: int
    table: PairTable
    largest: Floats
    threshold: float


NO_PAIRS = PairTable(ids(), ids(), np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.bool))


class ScoredPairs(NamedTuple):
    """Pairs with both scores, and how probable each is; None if the settings have no belief."""

    table: PairTable
    probability: Floats | None


class Least(NamedTuple):
    """What makes a pair worth keeping: its probability, and a place among the first `best`."""

    probability: float
    best: int | None


def questions_about(
    state: State, direction: int, entities: Ids, top: int, limits: AllowedAnswers
) -> Iterator[AskTask]:
    """Tasks for the questions about these entities, in the order of their names."""
    count = len(state.graph.entities)
    in_name_order = entities[np.argsort(state.graph.entities.ranks()[entities])]
    for start in range(0, len(in_name_order), QUESTIONS_AT_ONCE):
        some = in_name_order[start : start + QUESTIONS_AT_ONCE]
        yield AskTask(direction, some, top, limits.about(some, count))


def new_answers(state: State, questions: AskTask) -> NewAnswerTable:
    """The first new answers to each question that may be given."""
    direction, entities, top, limits = questions
    count = len(state.graph.entities)
    enough = ALL
    if top != ALL and not limits.are_selective:
        enough = top + limits.most_excluded(count)
    results = answers(state, direction, entities, top=enough, new_only=True)

    sizes = [len(result.entities) for result in results]
    asked = np.repeat(entities, sizes)
    found = np.concatenate([ids(), *(result.entities for result in results)])
    scores = np.concatenate([np.zeros(0), *(result.scores for result in results)])
    are_exact = np.repeat(np.array([found.exact for found in results], bool), sizes)

    is_allowed = limits.allow(asked, found, count)
    question_of_each = np.repeat(np.arange(len(entities)), sizes)
    is_given = is_allowed & (_places(question_of_each, is_allowed) < _number(top))
    is_left_out = is_allowed & ~is_given
    largest = np.zeros(len(entities))
    np.maximum.at(largest, question_of_each[is_left_out], scores[is_left_out])
    if enough != ALL:  # there may be answers beyond these
        is_cut = np.array(sizes) >= enough
        last = np.cumsum(sizes)[is_cut] - 1
        largest[is_cut] = np.maximum(largest[is_cut], scores[last])
    return NewAnswerTable(
        asked[is_given],
        found[is_given],
        scores[is_given],
        are_exact[is_given],
        entities,
        largest,
    )


def scored_pairs(
    state: State,
    relation: int,
    ahead: Sequence[NewAnswerTable],
    back: Sequence[NewAnswerTable],
    least: Least,
    executor: Executor,
) -> ScoredPairs:
    """The pairs found in either direction that are worth keeping, with their probabilities.

    ahead, back  the answers to (head, relation, ?) and to (?, relation, tail)
    """
    table, largest = _joined(len(state.graph.entities), ahead, back)
    is_open = np.isnan(table.tail_scores) | np.isnan(table.head_scores)
    whole = PairTask(relation, table, largest, least.probability)
    known = _together(state, executor.each(state, scored, _tasks(whole, ~is_open)))
    whole = whole._replace(threshold=_threshold(known, least))
    others = executor.each(state, scored, _tasks(whole, is_open))
    return _together(state, [known, *others])


def scored(state: State, task: PairTask) -> ScoredPairs:
    """The pairs that are probable enough, with the scores that were missing."""
    relation, table, _, threshold = task
    if threshold > 0:
        table = table.at(_can_be_probable(state, task))
    tail_scores = _filled(state, relation, table.heads, table.tails, table.tail_scores)
    head_scores = _filled(
        state, inverse(relation), table.tails, table.heads, table.head_scores
    )
    table = table._replace(tail_scores=tail_scores, head_scores=head_scores)
    probability = probabilities(
        state,
        Pairs(relation, table.heads, table.tails),
        tail_scores=tail_scores,
        head_scores=head_scores,
    )
    if probability is None:
        return ScoredPairs(table, None)
    is_kept = probability >= threshold
    return ScoredPairs(table.at(is_kept), probability[is_kept])


def best_first(state: State, pairs: ScoredPairs) -> Counts:
    """The places of the pairs, the most believed first, ties by name.

    Without belief, the pair whose higher score is the highest comes first.
    """
    table = pairs.table
    ranks = state.graph.entities.ranks()
    worth = pairs.probability
    if worth is None:
        worth = np.maximum(table.tail_scores, table.head_scores)
    order: Counts = np.lexsort((ranks[table.tails], ranks[table.heads], -worth))
    return order


def at_most_per_entity(heads: Iterable[int], tails: Iterable[int], most: int) -> Flags:
    """Which pairs to keep, from the first on, so that no entity is in more than `most` of them."""
    used: dict[int, int] = {}
    is_kept = []
    for head, tail in zip(heads, tails, strict=True):
        is_free = used.get(head, 0) < most and used.get(tail, 0) < most
        if is_free:
            for entity in {head, tail}:
                used[entity] = used.get(entity, 0) + 1
        is_kept.append(is_free)
    return np.array(is_kept, dtype=np.bool)


def _number(top: int) -> float:
    return np.inf if top == ALL else top


def _places(groups: Counts, is_counted: Flags) -> Counts:
    """For each row, how many rows before it in its group are counted; groups are contiguous."""
    before: Counts = np.cumsum(is_counted) - is_counted
    starts = np.flatnonzero(is_run_start(groups))
    sizes = np.diff(np.append(starts, len(groups)))
    places: Counts = before - np.repeat(before[starts], sizes)
    return places


def _joined(
    count: int, ahead: Sequence[NewAnswerTable], back: Sequence[NewAnswerTable]
) -> tuple[PairTable, Floats]:
    """Each pair once; and the largest value that its unknown score can have.

    A score that must be 0 is known. If the question was not asked, it may have any value (∞).
    """
    heads, tails, tail_scores, heads_exact = _concatenated(ahead)
    tails_back, heads_back, head_scores, tails_exact = _concatenated(back)
    numbers_ahead = pair_numbers(heads, tails, count)
    numbers_back = pair_numbers(heads_back, tails_back, count)
    numbers = np.unique(np.concatenate([numbers_ahead, numbers_back]))

    table = PairTable(
        heads=(numbers // max(count, 1)).astype(np.int32),
        tails=(numbers % max(count, 1)).astype(np.int32),
        tail_scores=np.full(len(numbers), np.nan),
        head_scores=np.full(len(numbers), np.nan),
        are_exact=np.ones(len(numbers), dtype=np.bool),
    )
    places_ahead = np.searchsorted(numbers, numbers_ahead)
    places_back = np.searchsorted(numbers, numbers_back)
    table.tail_scores[places_ahead] = tail_scores
    table.head_scores[places_back] = head_scores
    table.are_exact[places_ahead] &= heads_exact
    table.are_exact[places_back] &= tails_exact

    most_ahead = _largest_by_entity(count, ahead)[table.heads]
    most_back = _largest_by_entity(count, back)[table.tails]
    has_no_tail_score = np.isnan(table.tail_scores)
    has_no_head_score = np.isnan(table.head_scores)
    table.tail_scores[has_no_tail_score & (most_ahead == 0)] = 0.0
    table.head_scores[has_no_head_score & (most_back == 0)] = 0.0
    return table, np.where(has_no_tail_score, most_ahead, most_back)


def _concatenated(parts: Sequence[NewAnswerTable]) -> tuple[Ids, Ids, Floats, Flags]:
    asked = np.concatenate([ids(), *(part.asked for part in parts)])
    found = np.concatenate([ids(), *(part.found for part in parts)])
    scores = np.concatenate([np.zeros(0), *(part.scores for part in parts)])
    nothing = np.zeros(0, dtype=np.bool)
    are_exact = np.concatenate([nothing, *(part.are_exact for part in parts)])
    return asked, found, scores, are_exact


def _largest_by_entity(count: int, parts: Sequence[NewAnswerTable]) -> Floats:
    """For each entity, the largest score of an answer that was not given; ∞ if not asked about."""
    largest = np.full(count, np.inf)
    for part in parts:
        largest[part.entities] = part.largest
    return largest


def _together(state: State, parts: Iterable[ScoredPairs]) -> ScoredPairs:
    tables = []
    probabilities_of_parts = [np.zeros(0)]
    for part in parts:
        tables.append(part.table)
        if part.probability is not None:
            probabilities_of_parts.append(part.probability)
    columns = zip(NO_PAIRS, *tables, strict=True)
    table = PairTable(*(np.concatenate(column) for column in columns))
    if state.settings.belief is None:
        return ScoredPairs(table, None)
    return ScoredPairs(table, np.concatenate(probabilities_of_parts))


def _threshold(known: ScoredPairs, least: Least) -> float:
    """How probable another pair must be to be kept, beside those that are known."""
    if known.probability is None or least.best is None:
        return least.probability
    others = len(known.probability) - least.best
    if others < 0:
        return least.probability
    last_kept = float(np.partition(known.probability, others)[others])
    return max(least.probability, last_kept)


def _can_be_probable(state: State, task: PairTask) -> Flags:
    """Whether each pair can be as probable as the threshold, whatever the score it lacks."""
    table = task.table
    lacks_score = np.isnan(table.tail_scores) | np.isnan(table.head_scores)
    belief = state.settings.belief
    if belief is None or not lacks_score.any():
        return np.ones(len(table.heads), dtype=np.bool)
    odds = np.exp(_highest_log_odds(state, belief, task))
    can_be: Flags = odds / (1 + odds) >= task.threshold - ROUNDING
    return can_be | ~lacks_score | np.isinf(task.largest)


def _highest_log_odds(state: State, belief: Belief, task: PairTask) -> Floats:
    """The largest log-odds that each pair can have.

    They are a quadratic function of the logarithm of a score, so three points determine it. Its
    maximum is at the lowest score, at the highest, or where it is flat.
    """
    table = task.table
    low = np.log(SOME_SCORE)
    width = np.log(np.minimum(task.largest, LARGE_SCORE) + SOME_SCORE) - low

    def at(share: float) -> Floats:
        score = np.exp(low + share * width) - SOME_SCORE
        numbers = features(
            state,
            Pairs(task.relation, table.heads, table.tails),
            tail_scores=np.where(np.isnan(table.tail_scores), score, table.tail_scores),
            head_scores=np.where(np.isnan(table.head_scores), score, table.head_scores),
        )
        return log_odds(belief, numbers)

    first = at(0.0)
    last = at(1.0)
    curvature = 2 * (first + last) - 4 * at(0.5)
    slope = last - first - curvature
    flat_at = np.clip(-slope / np.where(curvature < 0, 2 * curvature, 1.0), 0, 1)
    where_flat = first + slope * flat_at + curvature * flat_at**2
    highest: Floats = np.max([first, last, where_flat], axis=0)
    return highest


def _tasks(whole: PairTask, is_chosen: Flags) -> Iterator[PairTask]:
    """The chosen pairs, some at a time; those that one question scores are together."""
    chosen = np.flatnonzero(is_chosen)
    table = whole.table.at(chosen)
    lacks_tail_score = np.isnan(table.tail_scores)
    asked = np.where(lacks_tail_score, table.heads, table.tails)
    order = chosen[np.lexsort((asked, lacks_tail_score))]
    for start in range(0, len(order), PAIRS_AT_ONCE):
        places = order[start : start + PAIRS_AT_ONCE]
        yield whole._replace(
            table=whole.table.at(places), largest=whole.largest[places]
        )


def _filled(
    state: State, direction: int, entities: Ids, targets: Ids, scores: Floats
) -> Floats:
    """The scores of targets as answers; those that are NaN are computed."""
    is_unknown = np.isnan(scores)
    if not is_unknown.any():
        return scores
    filled = scores.copy()
    filled[is_unknown] = scores_of_targets(
        state, direction, entities[is_unknown], targets[is_unknown]
    )
    return filled
