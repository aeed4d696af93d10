"""
The facts that the reasons for an answer rest on: those walked over, and those of the precedents.

The weight of a path type rests on many more facts, those of every entity it was counted for. They
are not included: these are the facts that support this answer to this question.
"""

from __future__ import annotations

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
    (evidence,) = gathered_evidence(state, query, ids([found]))
    seen = {asked_for(evidence)}
    for piece, _ in sorted(shares(evidence), key=lambda share: -share.value):
        yield from new_facts(evidence, piece, seen)


def asked_for(evidence: AnswerEvidence) -> FactRow:
    """The fact that the answer would be."""
    query = evidence.context.query
    return fact_row(query.entity, query.relation, evidence.context.found)


def new_facts(
    evidence: AnswerEvidence, piece: Piece, seen: set[FactRow]
) -> Iterator[Fact]:
    """The facts that a piece of evidence rests on and that are not in `seen`, which gets them."""
    for row in KINDS[piece.kind].facts(evidence.context, piece):
        if row not in seen:
            seen.add(row)
            yield named_fact(evidence.context.graph, row)
