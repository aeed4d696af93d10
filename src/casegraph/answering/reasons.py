"""
Explanations: the reasons that add up to the score of an answer, and the precedents they rest on.

A score is a sum of terms, one for each piece of evidence that counts (equation 1, or its
logarithmic form for noisy-or), so every reason has its share of the score. How the evidence of
each kind is presented is in the package `evidence`.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from casegraph.answering.evidence.context import sorted_names
from casegraph.answering.evidence.gathering import gathered_evidence
from casegraph.answering.evidence.kinds import KINDS
from casegraph.answering.evidence.shares import shares
from casegraph.answering.query import UNKNOWN
from casegraph.answering.results.explanation import Explanation, Neighbour, Shared
from casegraph.answering.results.labels import labels_of
from casegraph.answering.results.text import reason_as_text
from casegraph.answering.support import asked_for, new_facts
from casegraph.graph.arrays import ids
from casegraph.graph.directions import inverse
from casegraph.similarity.retrieval import contextual_entities

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from casegraph.answering.evidence.context import Piece, Weighted
    from casegraph.answering.evidence.gathering import AnswerEvidence
    from casegraph.answering.results.answer import Answer
    from casegraph.answering.results.reason import Reason
    from casegraph.answering.state import State
    from casegraph.graph.arrays import Ids
    from casegraph.graph.facts import Fact
    from casegraph.graph.graph import Graph, Query

NEIGHBOURS_SHOWN = 5


def explanations(
    state: State,
    query: Query,
    answers: Sequence[Answer],
    found: Ids,
    *,
    facts: int = 0,
    failures: int = 0,
) -> list[Explanation]:
    """The reasons for each of several answers to one query, and its most similar entities.

    found     (answers,)  the entity of each answer
    facts     how many of the facts that each reason rests on are listed
    failures  how many entities are listed that each reason misleads
    """
    gathered = gathered_evidence(state, query, found)
    if not gathered:
        return []
    neighbours = _neighbours(state, query, gathered[0].context.nearest)
    explained = []
    for answer, evidence in zip(answers, gathered, strict=True):
        reasons = [
            replace(
                _reason(evidence, piece, share),
                facts=tuple(islice(_facts(evidence, piece), facts)),
                failures=_failures(evidence, piece, failures),
            )
            for piece, share in shares(evidence)
        ]
        explanation = Explanation(answer, tuple(reasons), neighbours)
        labels = labels_of(state.descriptions, explanation.names())
        explained.append(replace(explanation, labels=labels))
    return explained


def reasons(
    state: State, query: Query, found: int, hidden: int = UNKNOWN
) -> Iterator[Reason]:
    """The reasons for the entity `found`, largest share first, each made when it is asked for.

    hidden  a known answer to be treated as unknown, or -1
    """
    (evidence,) = gathered_evidence(state, query, ids([found]), hidden)
    largest_first = sorted(shares(evidence), key=lambda share: -share.value)
    return (_reason(evidence, piece, share) for piece, share in largest_first)


def _reason(evidence: AnswerEvidence, piece: Piece, share: float) -> Reason:
    """A piece of evidence as a reason, with what it says."""
    context = evidence.context
    kind = KINDS[piece.kind]
    reason = kind.reason(context, piece, share)
    label = context.state.descriptions.label
    entities = context.graph.entities
    asked = context.query.entity
    statement = kind.statement(
        reason,
        "" if asked == UNKNOWN else label(entities[asked]),
        label(entities[context.found]),
    )
    stated = replace(reason, statement=statement)
    return replace(stated, sentence=reason_as_text(stated, label))


def _facts(evidence: AnswerEvidence, piece: Piece) -> Iterator[Fact]:
    """The facts that a piece of evidence rests on, without the one that is asked for."""
    return new_facts(evidence, piece, {asked_for(evidence)})


def _failures(evidence: AnswerEvidence, piece: Piece, most: int) -> tuple[str, ...]:
    """The first entities that have the same evidence, but other answers."""
    context = evidence.context
    misled = KINDS[piece.kind].counterexamples(context, piece)
    return context.names(islice(misled, most))


def _neighbours(state: State, query: Query, nearest: Weighted) -> tuple[Neighbour, ...]:
    """The neighbours to be shown."""
    if state.settings.precedents:
        entities = nearest.entities[:NEIGHBOURS_SHOWN].tolist()
        weights = nearest.weights[:NEIGHBOURS_SHOWN].tolist()
        return tuple(
            neighbour_by_facts(state, query, other, weight)
            for other, weight in zip(entities, weights, strict=True)
        )
    k = state.settings.neighbours or NEIGHBOURS_SHOWN
    contextual = contextual_entities(state.profiles, state.graph, query, k)
    return tuple(
        neighbour_by_profile(state, query.entity, other, query.relation)
        for other in contextual.tolist()[:NEIGHBOURS_SHOWN]
    )


def neighbour_by_facts(
    state: State, query: Query, other: int, similarity: float
) -> Neighbour:
    """An entity that is like the query entity by the facts they share."""
    graph = state.graph
    return Neighbour(
        entity=graph.entities[other],
        similarity=similarity,
        shared=_shared_facts(graph, query.entity, other),
        answers=sorted_names(graph, graph.answers(other, query.relation)),
    )


def neighbour_by_profile(
    state: State, entity: int, other: int, relation: int | None = None
) -> Neighbour:
    """How `other` is like `entity` by their relations; with a relation, also what it answers.

    The similarity is the cosine of two sets of relations (§2.2.1).
    """
    graph = state.graph
    profiles = state.profiles
    own_profile = profiles.of(entity)
    its_profile = profiles.of(other)
    shared = np.intersect1d(
        profiles.relations(own_profile), profiles.relations(its_profile)
    )
    steps = [graph.step(direction) for direction in shared.tolist()]
    answers = ids() if relation is None else graph.answers(other, relation)
    return Neighbour(
        entity=graph.entities[other],
        similarity=profiles.similarity(own_profile, its_profile),
        shared=tuple(
            Shared(step.relation, step.inverse) for step in sorted(steps, key=str)
        ),
        answers=sorted_names(graph, answers),
    )


def _shared_facts(graph: Graph, first: int, second: int) -> tuple[Shared, ...]:
    """The facts that two entities share, the rarest first."""
    found: list[tuple[int, Shared]] = []
    for relation in range(graph.directions):
        of_first = graph.answers(first, relation)
        of_second = graph.answers(second, relation)
        common = np.intersect1d(of_first, of_second)
        for tail in common.tolist():
            sharers = len(graph.answers(tail, inverse(relation)))
            step = graph.step(relation)
            shared = Shared(step.relation, step.inverse, graph.entities[tail])
            found.append((sharers, shared))
    found.sort(
        key=lambda sharers_and_shared: (
            sharers_and_shared[0],
            str(sharers_and_shared[1]),
        )
    )
    return tuple(shared for _, shared in found)
