"""
The facts that the reasons for an answer rest on: those walked over, and those of the precedents.

The weight of a path type rests on many more facts, those of every entity it was counted for. They
are not included: these are the facts that support this answer to this question.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from casegraph.answering.evidence.fact_rows import fact_row, named_fact
from casegraph.answering.evidence.gathering import gathered_evidence
from casegraph.answering.evidence.kinds import KINDS
from casegraph.answering.evidence.shares import shares
from casegraph.graph.arrays import ids

if TYPE_CHECKING:
    from collections.abc import Iterator

    from casegraph.answering.evidence.context import Piece
    from casegraph.answering.evidence.fact_rows import FactRow
    from casegraph.answering.evidence.gathering import AnswerEvidence
    from casegraph.answering.state import State
    from casegraph.graph.facts import Fact
    from casegraph.graph.graph import Query


def facts_behind(state: State, query: Query, found: int) -> Iterator[Fact]:
    """The facts that the reasons for the entity `found` rest on, each once.

    Those of the reason with the largest share come first. The fact that is asked for, if it is
    known, is not among them.
    """
    evidence = _evidence(state, query, found)
    seen = {fact_row(query.entity, query.relation, found)}
    for piece, _ in sorted(shares(evidence), key=lambda share: -share.value):
        yield from _new_facts(evidence, piece, seen)


def facts_of_each(
    state: State, query: Query, found: int, most: int
) -> list[list[Fact]]:
    """For each reason for the entity `found`, in their order, up to `most` facts it rests on."""
    evidence = _evidence(state, query, found)
    asked_for = fact_row(query.entity, query.relation, found)
    return [
        list(islice(_new_facts(evidence, piece, {asked_for}), most))
        for piece, _ in shares(evidence)
    ]


def failures_of_each(
    state: State, query: Query, found: int, most: int
) -> list[list[str]]:
    """For each reason for the entity `found`, up to `most` entities, by name, that it misleads.

    They have the same evidence, but other answers.
    """
    evidence = _evidence(state, query, found)
    failures = []
    for piece, _ in shares(evidence):
        misled = KINDS[piece.kind].counterexamples(evidence.context, piece)
        failures.append(
            [state.graph.entities[entity] for entity in islice(misled, most)]
        )
    return failures


def _new_facts(
    evidence: AnswerEvidence, piece: Piece, seen: set[FactRow]
) -> Iterator[Fact]:
    """The facts that a piece of evidence rests on and that are not in `seen`, which gets them."""
    for row in KINDS[piece.kind].facts(evidence.context, piece):
        if row not in seen:
            seen.add(row)
            yield named_fact(evidence.context.graph, row)


def _evidence(state: State, query: Query, found: int) -> AnswerEvidence:
    (evidence,) = gathered_evidence(state, query, ids([found]))
    return evidence
