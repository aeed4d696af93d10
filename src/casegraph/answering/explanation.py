"""
Explanations: the reasons that add up to the score of an answer, and the precedents they rest on.

A score is a sum of terms, one for each piece of evidence that counts (equation 1, or its
logarithmic form for noisy-or), so every reason has its share of the score. How the evidence of
each kind is presented is in the package `evidence`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from casegraph.answering.evidence.context import fact_in_words, sorted_names
from casegraph.answering.evidence.gathering import gathered_evidence
from casegraph.answering.evidence.kinds import KINDS
from casegraph.answering.evidence.shares import shares
from casegraph.answering.notebook import explanation_as_html
from casegraph.answering.query import UNKNOWN
from casegraph.answering.rendering import (
    ShownNeighbour,
    ShownReason,
    explanation_as_text,
)
from casegraph.answering.results import Answer, shown
from casegraph.frames import Tabular
from casegraph.graph.arrays import ids
from casegraph.graph.directions import inverse
from casegraph.similarity.retrieval import contextual_entities

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from casegraph.answering.evidence.context import Weighted
    from casegraph.answering.evidence.gathering import AnswerEvidence
    from casegraph.answering.evidence.reason import Reason
    from casegraph.answering.evidence.shares import Share
    from casegraph.answering.state import State
    from casegraph.graph.arrays import Ids
    from casegraph.graph.graph import Graph, Query

NEIGHBOURS_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Neighbour:
    """An entity like the one asked about: how like it, what they share, and what it answers.

    similarity  its weight in the regression on the facts they share, which may be negative (see
                `Settings.ridge`); in the paper's settings, from 0 to 1: by the relations they share
    shared      these facts, the rarest first; or these relations
    """

    entity: str
    similarity: float
    shared: tuple[str, ...]
    answers: tuple[str, ...] = ()

    @classmethod
    def by_facts(
        cls, state: State, query: Query, other: int, similarity: float
    ) -> Neighbour:
        """An entity that is like the query entity by the facts they share."""
        graph = state.graph
        return cls(
            entity=graph.entities[other],
            similarity=similarity,
            shared=tuple(_shared_facts(graph, query.entity, other)),
            answers=sorted_names(graph, graph.answers(other, query.relation)),
        )

    @classmethod
    def of(
        cls, state: State, entity: int, other: int, relation: int | None = None
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
        shared_names = [graph.relation_name(relation) for relation in shared.tolist()]
        answers = ids() if relation is None else graph.answers(other, relation)
        return cls(
            entity=graph.entities[other],
            similarity=profiles.similarity(own_profile, its_profile),
            shared=tuple(sorted(shared_names)),
            answers=sorted_names(graph, answers),
        )


@dataclass(frozen=True, slots=True)
class Explanation(Tabular):
    """Why an answer was given.

    Iterating gives the reasons kind by kind: path types first, the most important of them first. In
    this order their shares add up to the score, to the last bit. A negative share is that of a
    reason against the answer.

    labelled  the same with labels instead of names, if there are labels
    """

    answer: Answer
    reasons: tuple[Reason, ...]
    neighbours: tuple[Neighbour, ...] = field(default=())
    labelled: Explanation | None = field(default=None, compare=False, repr=False)

    def __iter__(self) -> Iterator[Reason]:
        return iter(self.reasons)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; the schema is in docs/explanations.md."""
        values = asdict(replace(self, labelled=None))
        del values["labelled"]
        return values

    @property
    def main_reason(self) -> Reason | None:
        """The reason with the largest share; None if there is no reason."""
        return max(self.reasons, key=lambda reason: reason.share, default=None)

    @property
    def for_people(self) -> Explanation:
        """The explanation as people read it: with labels, if there are any."""
        return self.labelled or self

    def records(self) -> list[dict[str, Any]]:
        """A row for each reason, for frames."""
        rows = []
        for reason in self.reasons:
            sentence = reason.sentence(self.answer)
            paths = reason.drawn()
            rows.append(asdict(reason) | {"paths": paths, "sentence": sentence})
        return rows

    def text(self) -> str:
        """The explanation for a terminal."""
        return explanation_as_text(
            shown(self.answer), self._shown_reasons(), self._shown_neighbours()
        )

    def __repr__(self) -> str:
        answer = self.answer
        main = self.main_reason
        first = "no reason" if main is None else main.sentence(answer)
        others = (
            f" and {len(self.reasons) - 1:,} more reasons"
            if len(self.reasons) > 1
            else ""
        )
        return f"<Explanation of {answer.entity} for {answer.asked}: {first}{others}>"

    def _repr_html_(self) -> str:
        with_labels = self.for_people
        return explanation_as_html(
            shown(with_labels.answer),
            with_labels._shown_reasons(),
            with_labels._shown_neighbours(),
        )

    def _shown_reasons(self) -> list[ShownReason]:
        return [
            ShownReason(reason.share, reason.sentence(self.answer), reason.drawn())
            for reason in self.reasons
        ]

    def _shown_neighbours(self) -> list[ShownNeighbour]:
        return [
            ShownNeighbour(neighbour.entity, neighbour.similarity, neighbour.answers)
            for neighbour in self.neighbours
        ]


def explanations(
    state: State, query: Query, answers: Sequence[Answer], found: Ids
) -> list[Explanation]:
    """The reasons for each of several answers to one query, and its most similar entities.

    found  (answers,)  the entity of each answer
    """
    gathered = gathered_evidence(state, query, found)
    if not gathered:
        return []
    neighbours = _neighbours(state, query, gathered[0].context.nearest)
    return [
        Explanation(answer, tuple(_reasons(evidence, shares(evidence))), neighbours)
        for answer, evidence in zip(answers, gathered, strict=True)
    ]


def reasons(
    state: State, query: Query, found: int, hidden: int = UNKNOWN
) -> Iterator[Reason]:
    """The reasons for the entity `found`, largest share first, each made when it is asked for.

    hidden  a known answer to be treated as unknown, or -1
    """
    (evidence,) = gathered_evidence(state, query, ids([found]), hidden)
    largest_first = sorted(shares(evidence), key=lambda share: -share.value)
    return _reasons(evidence, largest_first)


def _reasons(evidence: AnswerEvidence, counting: list[Share]) -> Iterator[Reason]:
    for piece, share in counting:
        yield KINDS[piece.kind].reason(evidence.context, piece, share)


def _neighbours(state: State, query: Query, nearest: Weighted) -> tuple[Neighbour, ...]:
    """The neighbours to be shown."""
    if state.settings.precedents:
        entities = nearest.entities[:NEIGHBOURS_SHOWN].tolist()
        weights = nearest.weights[:NEIGHBOURS_SHOWN].tolist()
        return tuple(
            Neighbour.by_facts(state, query, other, weight)
            for other, weight in zip(entities, weights, strict=True)
        )
    k = state.settings.neighbours or NEIGHBOURS_SHOWN
    contextual = contextual_entities(state.profiles, state.graph, query, k)
    return tuple(
        Neighbour.of(state, query.entity, other, query.relation)
        for other in contextual.tolist()[:NEIGHBOURS_SHOWN]
    )


def _shared_facts(graph: Graph, first: int, second: int) -> list[str]:
    """The facts that two entities share, in words, the rarest first."""
    found = []
    for relation in range(graph.directions):
        of_first = graph.answers(first, relation)
        of_second = graph.answers(second, relation)
        common = np.intersect1d(of_first, of_second)
        for tail in common.tolist():
            sharers = len(graph.answers(tail, inverse(relation)))
            found.append((sharers, fact_in_words(graph, relation, tail)))
    return [words for _, words in sorted(found)]
