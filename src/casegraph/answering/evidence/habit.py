"""Habit as evidence: many of the entities that have the relation have the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from casegraph.answering.evidence.fact_rows import fact_row, in_name_order
from casegraph.answering.evidence.kind import EvidenceKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from casegraph.answering.evidence.context import AnswerContext, Piece
    from casegraph.answering.evidence.fact_rows import FactRow
    from casegraph.answering.evidence.reason import Reason
    from casegraph.answering.results import Answer


class Habit(EvidenceKind):
    """Of all entities that have the relation, many have the answer."""

    name = "habit"

    def sentence(self, reason: Reason, answer: Answer) -> str:
        """How many of all others that have the relation have the answer."""
        others = f"{reason.count:,} of all {reason.of:,} others asked “{reason.words}”"
        return f"{others} have the answer {answer.entity}"

    def facts(self, context: AnswerContext, piece: Piece) -> Iterator[FactRow]:
        """The same answer of everyone else."""
        for other in in_name_order(context.graph, context.with_answer()):
            yield fact_row(other, context.query.relation, context.found)
