"""
Audit: score every fact as if it were missing, and list those with the least support.

While a fact is scored it is hidden: no path uses it, it is not a precedent, and it is left out of
the counts of path types (by the settings of the paper and of CBR, these still include it).

A fact without support may well be right: a currency used by a single country has no precedent. So
facts are ranked by doubt: the probability that the fact is wrong times the probability of the best
other answer. Facts with little support come first if another answer has much.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import nsmallest
from itertools import chain
from typing import NamedTuple

import numpy as np

from casegraph.answering.probability import probability
from casegraph.answering.query import (
    Found,
    Standings,
    answers,
    calibration_of,
    standings,
)
from casegraph.answering.results import Answer
from casegraph.answering.state import State
from casegraph.batch.completion import (
    NOTHING_HIDDEN,
    chosen_directions,
    first_reasons,
    uncalibrated_probability,
)
from casegraph.casebase import CaseBase
from casegraph.errors import InvalidSettings
from casegraph.execution.executor import HERE, Executor
from casegraph.graph.arrays import Ids
from casegraph.graph.directions import relation_of
from casegraph.running import Show, quiet

AT_ONCE = 256  # facts per task
REASONS = 3  # per answer


@dataclass(frozen=True, slots=True)
class Finding:
    """How a fact scores while it is hidden.

    score          the score of the tail as an answer to (head, relation, ?)
    probability    that the fact is right: calibrated if tuned, else derived from the score (see
                   `completion.uncalibrated_probability`)
    rank           one more than the number of answers that score more, without other known facts;
                   None if the fact is not found as an answer
    instead        the best other answer, if there is one
    instead_score  the score of the best other answer
    instead_known  whether the best other answer is also a fact
    doubt          the probability that the fact is wrong times the probability of the other answer;
                   without probabilities, by how much the other answer outscores the fact
    """

    head: str
    relation: str
    tail: str
    score: float
    probability: float | None
    rank: int | None
    instead: str | None
    instead_score: float
    instead_known: bool
    doubt: float


class Facts(NamedTuple):
    """A task: facts of one relation, as ids, and how many of them to list."""

    relation: int
    heads: Ids
    tails: Ids
    top: int


def audit(
    case_base: CaseBase,
    *,
    relations: tuple[str, ...] = (),
    top: int = 20,
    executor: Executor = HERE,
    show: Show = quiet,
) -> list[Finding]:
    """The `top` most doubtful facts, of these relations or of all; the most doubtful first."""
    if top < 1:
        raise InvalidSettings("top", top, "at least 1")
    state = case_base.state
    chosen = chosen_directions(case_base.graph, relations)
    executor.count(state, chosen, show)

    tasks: list[Facts] = []
    for relation in chosen:
        tasks += _tasks(state, relation, top)
    found = _with_progress(executor.each(state, findings, tasks), tasks, show)
    return nsmallest(top, chain.from_iterable(found), key=_order)


def because(case_base: CaseBase, found: Finding) -> tuple[list[str], list[str]]:
    """The first reasons for the fact and for the other answer, both while the fact is hidden."""
    for_fact = _reasons_for(case_base, found, found.tail, found.score)
    for_other = _reasons_for(case_base, found, found.instead or "", found.instead_score)
    return for_fact, for_other


def findings(state: State, facts: Facts) -> list[Finding]:
    """The most doubtful facts of a task."""
    known = _known_answers(state, facts)
    standing = _standings(state, facts, known)
    best = answers(state, facts.relation, facts.heads, top=2, hidden=facts.tails)
    heads = facts.heads.tolist()
    tails = facts.tails.tolist()
    scores = standing.score.tolist()
    better = standing.better.tolist()

    found = []
    for place, tail in enumerate(tails):
        finding = _finding(
            state,
            fact=(heads[place], facts.relation, tail),
            score=scores[place],
            better=better[place],
            other=_best_other(best[place], tail),
            known=known[place],
        )
        found.append(finding)
    return nsmallest(facts.top, found, key=_order)


class _Scored(NamedTuple):
    """An answer and its score; None and 0 if there is no answer."""

    entity: int | None
    score: float


def _finding(
    state: State,
    *,
    fact: tuple[int, int, int],
    score: float,
    better: int,
    other: _Scored,
    known: Ids,
) -> Finding:
    """The finding for a fact (head, relation, tail); `better` is how many answers score more."""
    head, relation, tail = fact
    entities = state.graph.entities
    others_known = len(known) - 1  # the fact itself is hidden
    right = _probability(state, others_known, score, is_first=score >= other.score)
    other_right = _probability(
        state, others_known, other.score, is_first=other.score >= score
    )
    if right is None or other_right is None:
        doubt = other.score - score
    else:
        doubt = (1 - right) * other_right
    return Finding(
        head=entities[head],
        relation=state.graph.relations[relation_of(relation)],
        tail=entities[tail],
        score=score,
        probability=right,
        rank=better + 1 if score else None,
        instead=None if other.entity is None else entities[other.entity],
        instead_score=other.score,
        instead_known=other.entity in known,
        doubt=doubt,
    )


def _best_other(best: Found, tail: int) -> _Scored:
    """The best answer that is not the fact itself."""
    for entity, score in best.pairs():
        if entity != tail:
            return _Scored(entity, score)
    return _Scored(None, 0.0)


def _probability(
    state: State, known: int, score: float, *, is_first: bool
) -> float | None:
    """The probability of an answer; 0 if it was not found.

    known     the number of known answers to the question
    is_first  whether no other answer scores more
    """
    calibration = calibration_of(state, known)
    if calibration is None:
        return uncalibrated_probability(state.settings, score)
    return probability(calibration, score, is_first=is_first) if score else 0.0


def _order(found: Finding) -> tuple[float, str, str, str]:
    """The sort key of findings: the most doubtful first, then by name."""
    return -found.doubt, found.relation, found.head, found.tail


def _known_answers(state: State, facts: Facts) -> list[Ids]:
    """For each fact, all answers to (head, relation, ?) that are facts."""
    return [state.graph.answers(head, facts.relation) for head in facts.heads.tolist()]


def _standings(state: State, facts: Facts, known: list[Ids]) -> Standings:
    """How each fact ranks among the answers while it is hidden, without other known facts."""
    query = (facts.relation, facts.heads)
    one_each = np.arange(len(facts.heads) + 1)
    targets = (one_each, facts.tails)
    lengths = [len(answers) for answers in known]
    known_offsets = np.cumsum([0, *lengths], dtype=np.int64)
    filtered = (known_offsets, np.concatenate(known))
    return standings(state, query, targets, filtered, hidden=facts.tails)


def _reasons_for(
    case_base: CaseBase, found: Finding, entity: str, score: float
) -> list[str]:
    """The first reasons for an answer to the question of a finding, while its fact is hidden."""
    if not score:
        return []
    answer = Answer(
        asked=found.head,
        relation=found.relation,
        inverse=False,
        entity=entity,
        score=score,
        rank=0,
        known=True,
    )
    tail = case_base.graph.entities.find(found.tail)
    hidden = NOTHING_HIDDEN if tail is None else tail
    return first_reasons(case_base.state, answer, hidden, REASONS)


def _tasks(state: State, relation: int, top: int) -> Iterator[Facts]:
    rows = state.graph.rows(relation)
    for start in range(0, len(rows), AT_ONCE):
        heads, _, tails = rows[start : start + AT_ONCE].T
        yield Facts(relation, heads.copy(), tails.copy(), top)


def _with_progress(
    found: Iterable[list[Finding]],
    tasks: list[Facts],
    show: Show,
) -> Iterator[list[Finding]]:
    total = sum(len(task.heads) for task in tasks)
    done = 0
    for task, of_task in zip(tasks, found, strict=True):
        done += len(task.heads)
        show("scoring facts", done, total)
        yield of_task
