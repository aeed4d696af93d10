"""
Audit: how probable is each fact, if the graph did not have it? List the least probable first.

While a fact is scored it is hidden: no path uses it, it is not a precedent, and it is left out of
the counts of path types (by the settings of the paper and of CBR, these still include it).

Doubt is one minus the belief in the fact (see `answering.belief`). That another known answer ranks
higher is no reason for doubt: a country has many neighbours, and one of them comes first.

A fact without support may well be right: a currency used by a single country has no precedent.
"""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from heapq import nsmallest
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np

from casegraph.answering.belief import believed, features, log_odds
from casegraph.answering.pair_strengths import Pairs
from casegraph.answering.query import (
    Found,
    Standings,
    answers,
    scores_of_targets,
    standings,
)
from casegraph.answering.reasons import reasons
from casegraph.answering.results.answer import Answer
from casegraph.answering.state import State
from casegraph.batch.completion import chosen_directions
from casegraph.casebase import CaseBase
from casegraph.errors import InvalidArgument
from casegraph.execution.executor import HERE, Executor
from casegraph.graph.arrays import Floats, Ids
from casegraph.graph.directions import backward, forward, inverse, relation_of
from casegraph.graph.graph import Query
from casegraph.running import Show, quiet

AT_ONCE = 256  # facts per task
MAX_REASONS = 3  # for a fact, and for the other answer
NO_REASON = "nothing speaks for it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """How probable a fact is while it is hidden.

    *_label          what people call the names; None if the graph has no labels
    doubt            one minus the probability; if the settings have no belief, by how much
                     `instead` outscores the fact
    probability      that the fact is true, by everything but itself; None without belief
    tail_score       the score of the tail as an answer to (head, relation, ?)
    head_score       the score of the head as an answer to (?, relation, tail)
    rank             the rank of the tail among the new answers; None if it is not found
    instead          the best new answer to (head, relation, ?) but the fact itself; None if there
                     is no other
    reasons          what speaks for the fact, in words; `NO_REASON` if nothing does
    instead_reasons  what speaks for `instead`; None if not asked for
    """

    head: str
    relation: str
    tail: str
    head_label: str | None = None
    relation_label: str | None = None
    tail_label: str | None = None
    doubt: float
    probability: float | None
    tail_score: float
    head_score: float
    rank: int | None
    instead: str | None
    instead_label: str | None = None
    reasons: tuple[str, ...] = ()
    instead_reasons: tuple[str, ...] | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for tables and JSON; without labels and reasons that are not there."""
        values = asdict(self)
        left_out = ["instead_reasons"] if self.instead_reasons is None else []
        if self.head_label is None:
            left_out += LABELS
        return {name: value for name, value in values.items() if name not in left_out}


LABELS = tuple(field.name for field in fields(Finding) if field.name.endswith("_label"))


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
    explain: bool = False,
    executor: Executor = HERE,
    show: Show = quiet,
) -> list[Finding]:
    """The `top` most doubtful facts, of these relations or of all; the most doubtful first.

    explain  whether to give up to three reasons for each fact and for `instead`, not one for the
             fact alone
    """
    if top < 1:
        raise InvalidArgument("top", top, "at least 1")
    state = case_base.state
    chosen = chosen_directions(case_base.graph, relations)
    both_ways = [way for relation in chosen for way in (relation, inverse(relation))]
    executor.count(state, both_ways, show)

    tasks: list[Facts] = []
    for relation in chosen:
        tasks += _tasks(state, relation, top)
    found = _with_progress(executor.each(state, findings, tasks), tasks, show)
    doubtful = nsmallest(top, chain.from_iterable(found), key=_order)
    explained = []
    for _, finding in doubtful:
        explained.append(_labelled(state, _explained(state, finding, explain=explain)))
        show("explaining", len(explained), len(doubtful))
    return explained


class Doubtful(NamedTuple):
    """A finding without labels and reasons, and how strongly the evidence speaks for the fact.

    log_odds  of the fact: they still differ where doubt, which is rounded, is 1
    """

    log_odds: float
    finding: Finding


def findings(state: State, facts: Facts) -> list[Doubtful]:
    """The most doubtful facts of a task."""
    relation, heads, tails, top = facts
    standing = _standings(state, facts)
    tail_scores = standing.score
    head_scores = scores_of_targets(
        state, inverse(relation), tails, heads, hidden=heads
    )
    probable, log_odds = _belief(state, facts)
    best_new = answers(state, relation, heads, top=2, new_only=True, hidden=tails)

    found = []
    for place, (head, tail) in enumerate(
        zip(heads.tolist(), tails.tolist(), strict=True)
    ):
        finding = _finding(
            state,
            (head, relation, tail),
            probability=None if probable is None else float(probable[place]),
            tail_score=float(tail_scores[place]),
            head_score=float(head_scores[place]),
            better=int(standing.better[place]),
            other=_best_other(best_new[place], tail),
        )
        strength = -finding.doubt if log_odds is None else float(log_odds[place])
        found.append(Doubtful(strength, finding))
    return nsmallest(top, found, key=_order)


def _belief(state: State, facts: Facts) -> tuple[Floats, Floats] | tuple[None, None]:
    """The probability of each fact and its log-odds, as if the graph did not have it."""
    belief = state.settings.belief
    if belief is None:
        return None, None
    pairs = Pairs(facts.relation, facts.heads, facts.tails, are_facts=True)
    numbers = features(state, pairs)
    return believed(belief, numbers), log_odds(belief, numbers)


class _Scored(NamedTuple):
    """An answer and its score; None and 0 if there is no answer."""

    entity: int | None
    score: float


def _finding(
    state: State,
    fact: tuple[int, int, int],
    *,
    probability: float | None,
    tail_score: float,
    head_score: float,
    better: int,
    other: _Scored,
) -> Finding:
    """The finding for a fact (head, relation, tail).

    better  how many new answers score more than the tail
    """
    head, relation, tail = fact
    entities = state.graph.entities
    doubt = other.score - tail_score if probability is None else 1 - probability
    return Finding(
        head=entities[head],
        relation=state.graph.relations[relation_of(relation)],
        tail=entities[tail],
        doubt=doubt,
        probability=probability,
        tail_score=tail_score,
        head_score=head_score,
        rank=better + 1 if tail_score else None,
        instead=None if other.entity is None else entities[other.entity],
    )


def _best_other(best: Found, tail: int) -> _Scored:
    """The best answer that is not the fact itself."""
    for entity, score in best.pairs():
        if entity != tail:
            return _Scored(entity, score)
    return _Scored(None, 0.0)


def _order(doubtful: Doubtful) -> tuple[float, float, str, str, str]:
    """The sort key of findings: the most doubtful first; then by evidence, and by name."""
    found = doubtful.finding
    evidence = found.tail_score + found.head_score
    return doubtful.log_odds, evidence, found.relation, found.head, found.tail


def _standings(state: State, facts: Facts) -> Standings:
    """How each tail ranks among the new answers while the fact is hidden."""
    relation, heads, tails, _ = facts
    known = [np.sort(state.graph.answers(head, relation)) for head in heads.tolist()]
    known_offsets = np.cumsum([0, *map(len, known)], dtype=np.int64)
    one_each = np.arange(len(tails) + 1)
    return standings(
        state,
        (relation, heads),
        (one_each, tails),
        (known_offsets, np.concatenate(known)),
        hidden=tails,
    )


def _explained(state: State, found: Finding, *, explain: bool) -> Finding:
    """The finding with reasons."""
    most = MAX_REASONS if explain else 1
    for_fact: list[str] = []
    if found.tail_score:
        for_fact = _reasons(state, found, found.tail, most)
    elif found.head_score:
        for_fact = _reasons_for_head(state, found, most)
    for_other = None
    if explain:
        is_other = found.instead is not None
        for_other = (
            _reasons(state, found, found.instead or "", most) if is_other else []
        )
    return replace(
        found,
        reasons=tuple(for_fact or [NO_REASON]),
        instead_reasons=None if for_other is None else tuple(for_other),
    )


def _reasons(state: State, found: Finding, entity: str, most: int) -> list[str]:
    """The first reasons for an answer to (head, relation, ?), while the fact is hidden."""
    answer = _answer(found, found.head, entity, inverse=False)
    return _first_reasons(state, answer, hidden=found.tail, most=most)


def _reasons_for_head(state: State, found: Finding, most: int) -> list[str]:
    """The first reasons for the head, as an answer to (?, relation, tail)."""
    answer = _answer(found, found.tail, found.head, inverse=True)
    return _first_reasons(state, answer, hidden=found.head, most=most)


def _answer(found: Finding, asked: str, entity: str, *, inverse: bool) -> Answer:
    """An answer to be explained."""
    return Answer(
        asked=asked,
        relation=found.relation,
        inverse=inverse,
        entity=entity,
        score=found.head_score if inverse else found.tail_score,
        rank=0,
        known=True,
    )


def _first_reasons(
    state: State, answer: Answer, *, hidden: str, most: int
) -> list[str]:
    """The most important reasons for an answer, in words, while a known answer is hidden."""
    graph = state.graph
    asked = graph.entities.find(answer.asked)
    entity = graph.entities.find(answer.entity)
    hidden_entity = graph.entities.find(hidden)
    relation = graph.relations.find(answer.relation)
    if asked is None or entity is None or hidden_entity is None or relation is None:
        return []
    direction = backward(relation) if answer.inverse else forward(relation)
    why = reasons(state, Query(asked, direction), entity, hidden_entity)
    return [reason.sentence for reason in islice(why, most)]


def _labelled(state: State, found: Finding) -> Finding:
    """The finding with labels, if the graph has any."""
    if not len(state.descriptions):
        return found
    label = state.descriptions.label
    return replace(
        found,
        head_label=label(found.head),
        relation_label=label(found.relation),
        tail_label=label(found.tail),
        instead_label=None if found.instead is None else label(found.instead),
    )


def _tasks(state: State, relation: int, top: int) -> Iterator[Facts]:
    rows = state.graph.rows(relation)
    for start in range(0, len(rows), AT_ONCE):
        heads, _, tails = rows[start : start + AT_ONCE].T
        yield Facts(relation, heads.copy(), tails.copy(), top)


def _with_progress(
    found: Iterable[list[Doubtful]],
    tasks: list[Facts],
    show: Show,
) -> Iterator[list[Doubtful]]:
    total = sum(len(task.heads) for task in tasks)
    done = 0
    for task, of_task in zip(tasks, found, strict=True):
        done += len(task.heads)
        show("scoring facts", done, total)
        yield of_task
