"""Habit as evidence: many of the entities that have the relation have the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from casegraph.answering.evidence.fact_rows import fact_row, in_name_order
from casegraph.answering.evidence.kind import EvidenceKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from casegraph.answering.evidence.context import AnswerContext, Piece
    from casegraph.answering.evidence.fact_rows import FactRow
    from casegraph.answering.results.reason import Reason


class Habit(EvidenceKind):
    """Of all entities that have the relation, many have the answer."""

    name = "habit"

    def statement(self, reason: Reason, asked: str, answer: str) -> str:
        """How many of all others that have the relation have the answer."""
        others = f"{reason.count:,} of the {reason.of:,} others with this relation"
        return f"{others} have the answer {answer}"

    def facts(self, context: AnswerContext, piece: Piece) -> Iterator[FactRow]:
        """The same answer of everyone else."""
        for other in in_name_order(context.graph, context.with_answer()):
            yield fact_row(other, context.query.relation, context.found)
