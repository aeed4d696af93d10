"""
Explanations: the reasons that add up to the score of an answer, and the precedents they rest on.

A score is a sum of terms, one for each piece of evidence that counts (equation 1, or its
logarithmic form for noisy-or), so every reason has its share of the score. How the evidence of
each kind is presented is in the package `evidence`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from casegraph.answering.evidence.context import sorted_names
from casegraph.answering.evidence.gathering import gathered_evidence
from casegraph.answering.evidence.kinds import KINDS
from casegraph.answering.evidence.shares import shares
from casegraph.answering.labels import labels_of
from casegraph.answering.notebook import explanation_as_html
from casegraph.answering.query import UNKNOWN
from casegraph.answering.rendering import explanation_as_text, reason_as_text
from casegraph.answering.support import asked_for, new_facts
from casegraph.frames import Tabular
from casegraph.graph.arrays import ids
from casegraph.graph.directions import Step, inverse
from casegraph.similarity.retrieval import contextual_entities

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from casegraph.answering.evidence.context import Piece, Weighted
    from casegraph.answering.evidence.gathering import AnswerEvidence
    from casegraph.answering.evidence.reason import Reason
    from casegraph.answering.results import Answer
    from casegraph.answering.state import State
    from casegraph.graph.arrays import Ids
    from casegraph.graph.facts import Fact
    from casegraph.graph.graph import Graph, Query

NEIGHBOURS_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Shared(Step):
    """What two entities have in common: a relation, and the entity that it leads both to.

    entity  None if only the relation is compared
    """

    entity: str | None = None

    def text(self, label: Callable[[str], str]) -> str:
        """For people, with labels."""
        step = Step.text(self, label)
        return step if self.entity is None else f"{step} {label(self.entity)}"


@dataclass(frozen=True, slots=True)
class Neighbour:
    """An entity like the one asked about: how like it, what they share, and what it answers.

    similarity  its weight in the regression on the facts they share, which may be negative (see
                `Settings.ridge`); in the paper's settings, from 0 to 1: by the relations they share
    shared      these facts, the rarest first; or these relations
    """

    entity: str
    similarity: float
    shared: tuple[Shared, ...]
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
            shared=_shared_facts(graph, query.entity, other),
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
        steps = [graph.step(direction) for direction in shared.tolist()]
        answers = ids() if relation is None else graph.answers(other, relation)
        return cls(
            entity=graph.entities[other],
            similarity=profiles.similarity(own_profile, its_profile),
            shared=tuple(
                Shared(step.relation, step.inverse) for step in sorted(steps, key=str)
            ),
            answers=sorted_names(graph, answers),
        )


@dataclass(frozen=True, slots=True)
class Explanation(Tabular):
    """Why an answer was given.

    Iterating gives the reasons kind by kind: path types first, the most important of them first. In
    this order their shares add up to the score, to the last bit. A negative share is that of a
    reason against the answer.

    labels  the labels of the names in it, for display
    """

    answer: Answer
    reasons: tuple[Reason, ...]
    neighbours: tuple[Neighbour, ...] = field(default=())
    labels: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    def __iter__(self) -> Iterator[Reason]:
        return iter(self.reasons)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; the schema is in docs/explanations.md."""
        return asdict(self)

    @property
    def main_reason(self) -> Reason | None:
        """The reason with the largest share; None if there is no reason."""
        return max(self.reasons, key=lambda reason: reason.share, default=None)

    def label(self, name: str) -> str:
        """The label of a name in this explanation; the name itself if it has none."""
        return self.labels.get(name, name)

    def names(self) -> Iterator[str]:
        """All names in it, some more than once."""
        yield from (self.answer.asked, self.answer.relation, self.answer.entity)
        for reason in self.reasons:
            yield from (step.relation for step in reason.steps)
            yield from reason.precedents
            yield from reason.failures
            for names in (*reason.paths, *reason.facts):
                yield from names
        for neighbour in self.neighbours:
            yield neighbour.entity
            yield from neighbour.answers
            for shared in neighbour.shared:
                yield from filter(None, (shared.relation, shared.entity))

    def records(self) -> list[dict[str, Any]]:
        """A row for each reason, for frames."""
        rows = []
        for reason in self.reasons:
            row = asdict(reason) | {"steps": reason.words, "paths": reason.drawn()}
            rows.append(row)
        return rows

    def text(self) -> str:
        """The explanation for a terminal."""
        return explanation_as_text(self)

    def __repr__(self) -> str:
        answer = self.answer
        main = self.main_reason
        first = "no reason" if main is None else main.sentence
        others = (
            f" and {len(self.reasons) - 1:,} more reasons"
            if len(self.reasons) > 1
            else ""
        )
        return f"<Explanation of {answer.entity} for {answer.asked}: {first}{others}>"

    def _repr_html_(self) -> str:
        return explanation_as_html(self)


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
            Neighbour.by_facts(state, query, other, weight)
            for other, weight in zip(entities, weights, strict=True)
        )
    k = state.settings.neighbours or NEIGHBOURS_SHOWN
    contextual = contextual_entities(state.profiles, state.graph, query, k)
    return tuple(
        Neighbour.of(state, query.entity, other, query.relation)
        for other in contextual.tolist()[:NEIGHBOURS_SHOWN]
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
