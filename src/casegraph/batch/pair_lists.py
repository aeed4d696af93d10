"""
Lists of pairs: the new answers to all questions about a relation, in both directions, with belief.

A pair (head, tail) is found as an answer to (head, relation, ?), to (?, relation, tail), or to
both. Those that are probable enough are scored in both directions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from casegraph.answering.belief import probabilities
from casegraph.answering.pair_strengths import Pairs
from casegraph.answering.query import ALL, answers, scores_of_targets
from casegraph.batch.restrictions import AllowedAnswers, pair_numbers
from casegraph.graph.arrays import Counts, Flags, Floats, Ids, ids, is_run_start
from casegraph.graph.directions import inverse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from casegraph.answering.state import State
    from casegraph.execution.executor import Executor

QUESTIONS_AT_ONCE = 256
PAIRS_AT_ONCE = 1 << 14


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
    """

    asked: Ids
    found: Ids
    scores: Floats
    are_exact: Flags


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
    """A task: pairs of one relation, in its forward direction."""

    relation: int
    table: PairTable


NO_PAIRS = PairTable(ids(), ids(), np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.bool))


class ScoredPairs(NamedTuple):
    """Pairs with both scores, and how probable each is; None if the settings have no belief."""

    table: PairTable
    probability: Floats | None

    def at(self, places: Flags) -> ScoredPairs:
        """Some of the rows."""
        probability = None if self.probability is None else self.probability[places]
        return ScoredPairs(self.table.at(places), probability)


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
    return NewAnswerTable(
        asked[is_given],
        found[is_given],
        scores[is_given],
        are_exact[is_given],
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
    table = _joined(len(state.graph.entities), ahead, back)
    tasks = [PairTask(relation, part) for part in _parts(table)]
    parts = list(executor.each(state, believed_pairs, tasks))
    believed = _together(state, parts)
    if believed.probability is not None:
        believed = believed.at(_are_kept(believed.probability, least))
    tasks = [PairTask(relation, part) for part in _parts(believed.table)]
    columns = zip(NO_PAIRS, *executor.each(state, with_scores, tasks), strict=True)
    table = PairTable(*(np.concatenate(column) for column in columns))
    return ScoredPairs(table, believed.probability)


def believed_pairs(state: State, task: PairTask) -> ScoredPairs:
    """The pairs of a task, and how probable each is."""
    relation, table = task
    pairs = Pairs(relation, table.heads, table.tails)
    return ScoredPairs(table, probabilities(state, pairs))


def with_scores(state: State, task: PairTask) -> PairTable:
    """The pairs of a task, with the scores that were missing."""
    relation, table = task
    back = inverse(relation)
    return table._replace(
        tail_scores=_filled(
            state, relation, table.heads, table.tails, table.tail_scores
        ),
        head_scores=_filled(state, back, table.tails, table.heads, table.head_scores),
    )


def _are_kept(probability: Floats, least: Least) -> Flags:
    """Which pairs are probable enough; of those that are equally probable, all or none."""
    threshold = least.probability
    if least.best is not None and least.best < len(probability):
        others = len(probability) - least.best
        threshold = max(threshold, float(np.partition(probability, others)[others]))
    are_kept: Flags = probability >= threshold
    return are_kept


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
) -> PairTable:
    """Each pair once."""
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
    return table


def _concatenated(parts: Sequence[NewAnswerTable]) -> tuple[Ids, Ids, Floats, Flags]:
    asked = np.concatenate([ids(), *(part.asked for part in parts)])
    found = np.concatenate([ids(), *(part.found for part in parts)])
    scores = np.concatenate([np.zeros(0), *(part.scores for part in parts)])
    nothing = np.zeros(0, dtype=np.bool)
    are_exact = np.concatenate([nothing, *(part.are_exact for part in parts)])
    return asked, found, scores, are_exact


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


def _parts(table: PairTable) -> Iterator[PairTable]:
    """The pairs, some at a time; those with the same head are together."""
    for start in range(0, len(table.heads), PAIRS_AT_ONCE):
        yield table.at(slice(start, start + PAIRS_AT_ONCE))


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
