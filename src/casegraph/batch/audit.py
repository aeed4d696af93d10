"""
An audit: score every fact that is there as if it were missing, and list the least supported.

The fact is not walked and is no precedent, though the counts that weigh path types include it. A fact that nothing
supports may still be right: a country that has its own currency has no precedent. So facts are listed by doubt, the
probability that the fact is wrong times that of the best other answer: first what has little support where something
else has much.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import nsmallest
from itertools import chain
from typing import NamedTuple

import numpy as np

from casegraph.answering.query import Found, Standings, answers, standings
from casegraph.answering.results import Answer
from casegraph.answering.state import State
from casegraph.batch.completion import directions_of, first_reasons, probability
from casegraph.casebase import CaseBase
from casegraph.errors import InvalidSettings
from casegraph.execution.executor import HERE, Executor
from casegraph.graph.arrays import Ids
from casegraph.running import Show, quiet

AT_ONCE = 256  # facts that are one task
REASONS = 3  # that are given for an answer


@dataclass(frozen=True, slots=True)
class Finding:
    """A fact as if it were missing.

    score    what it would score as an answer to (head, relation, ?), with its probability (see `probability`)
    rank     one more than the answers that score more, other facts aside; none if it was not reached
    instead  the best other answer, if there is one, with its score, and whether the graph has it, too
    doubt    the probability of the other answer times that of the fact being wrong; where the settings give no
             probability, by how much the other scores more
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
    """Facts of one relation as ids, and how many of them to list."""

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
    """The `top` least supported facts of these relations, of all if none are named; the most doubtful first."""
    if top < 1:
        raise InvalidSettings("top", top, "at least 1")
    state, chosen = case_base.state, directions_of(case_base.graph, relations)
    executor.count(state, chosen, show)
    tasks = [task for relation in chosen for task in _tasks(state, relation, top)]
    found = _watched(executor.each(state, findings, tasks), tasks, show)
    return nsmallest(top, chain.from_iterable(found), key=_order)


def because(case_base: CaseBase, found: Finding) -> tuple[list[str], list[str]]:
    """The first reasons for a fact and for the other answer, both as if the fact were missing."""
    graph, asked = case_base.graph, (found.head, found.relation, False)
    tail = graph.entities.find(found.tail)
    for_fact, for_other = (
        first_reasons(case_base.state, Answer(*asked, entity, score, 0, known=True), tail, REASONS) if score else []
        for entity, score in ((found.tail, found.score), (found.instead or "", found.instead_score))
    )
    return for_fact, for_other


def findings(state: State, facts: Facts) -> list[Finding]:
    """The least supported of some facts."""
    graph, (relation, heads, tails, top) = state.graph, facts
    known, standing = [graph.answers(head, relation) for head in heads.tolist()], _standings(state, facts)
    best = answers(state, relation, heads, top=2, hidden=tails)
    rows = zip(heads.tolist(), tails.tolist(), standing.score.tolist(), standing.better.tolist(), strict=True)
    found = list[Finding]()
    for (head, tail, score, better), own, others in zip(rows, known, best, strict=True):
        instead, other = _other(others, tail)
        found.append(
            Finding(
                graph.entities[head], graph.relations[relation >> 1], graph.entities[tail], score,
                probability(state.settings, score), better + 1 if score else None,
                None if instead is None else graph.entities[instead], other, instead in own,
                _doubt(state, score, other),
            )
        )  # fmt: skip
    return nsmallest(top, found, key=_order)


def _other(best: Found, tail: int) -> tuple[int | None, float]:
    """The best answer but the fact's own."""
    others = zip(best.entities.tolist(), best.scores.tolist(), strict=True)
    return next((one for one in others if one[0] != tail), (None, 0.0))


def _doubt(state: State, score: float, other: float) -> float:
    own, instead = probability(state.settings, score), probability(state.settings, other)
    return other - score if own is None or instead is None else (1 - own) * instead


def _order(one: Finding) -> tuple[float, str, str, str]:
    return -one.doubt, one.relation, one.head, one.tail


def _standings(state: State, facts: Facts) -> Standings:
    """How each fact stands among the answers if it is missing, other facts passed over."""
    relation, heads, tails, _ = facts
    known = [state.graph.answers(head, relation) for head in heads.tolist()]
    passed = np.cumsum([0, *map(len, known)], dtype=np.int64), np.concatenate(known)
    return standings(state, (relation, heads), (np.arange(len(heads) + 1), tails), passed, hidden=tails)


def _tasks(state: State, relation: int, top: int) -> Iterator[Facts]:
    rows = state.graph.rows(relation)
    for start in range(0, len(rows), AT_ONCE):
        part = rows[start : start + AT_ONCE]
        yield Facts(relation, part[:, 0].copy(), part[:, 2].copy(), top)


def _watched(found: Iterator[list[Finding]], tasks: list[Facts], show: Show) -> Iterator[list[Finding]]:
    done, total = 0, sum(len(task.heads) for task in tasks)
    for task, part in zip(tasks, found, strict=True):
        done += len(task.heads)
        show("scoring facts", done, total)
        yield part
