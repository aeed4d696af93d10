"""Shared facts as evidence: others that share a fact with the query entity have the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from casegraph.answering.evidence.fact_rows import fact_row, in_name_order
from casegraph.answering.evidence.kind import EvidenceKind, with_other_answers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from casegraph.answering.evidence.context import AnswerContext, Piece
    from casegraph.answering.evidence.fact_rows import FactRow
    from casegraph.answering.evidence.reason import Reason
    from casegraph.answering.results import Answer
    from casegraph.graph.arrays import Ids


class SharedFacts(EvidenceKind):
    """Of the entities that share a fact with the query entity, several have the answer."""

    name = "shared fact"
    words_are = "fact"

    def precedents(self, context: AnswerContext, piece: Piece) -> tuple[str, ...]:
        """The entities that share the fact and have the answer."""
        return context.names(_with_fact_and_answer(context, piece))

    def sentence(self, reason: Reason, answer: Answer) -> str:
        """How many of the others that share the fact have the answer."""
        share_fact = (
            f"{reason.count:,} of the {reason.of:,} others that share “{reason.words}”"
        )
        return f"{share_fact} have the answer {answer.entity}"

    def facts(self, context: AnswerContext, piece: Piece) -> Iterator[FactRow]:
        """The shared fact itself, and for each precedent its answer and the same fact."""
        yield fact_row(context.query.entity, piece.relation, piece.tail)
        for precedent in in_name_order(
            context.graph, _with_fact_and_answer(context, piece)
        ):
            yield fact_row(precedent, context.query.relation, context.found)
            yield fact_row(precedent, piece.relation, piece.tail)

    def counterexamples(self, context: AnswerContext, piece: Piece) -> Iterator[int]:
        """The entities that share the fact, but have other answers."""
        return with_other_answers(context, context.with_fact(piece))


def _with_fact_and_answer(context: AnswerContext, piece: Piece) -> Ids:
    return np.intersect1d(context.with_fact(piece), context.with_answer())
