"""Facts of answers as evidence: the answer has a fact that known answers of the query have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from casegraph.answering.evidence.fact_rows import fact_row, in_name_order
from casegraph.answering.evidence.kind import EvidenceKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from casegraph.answering.evidence.context import AnswerContext, Piece
    from casegraph.answering.evidence.fact_rows import FactRow
    from casegraph.answering.evidence.reason import Reason
    from casegraph.answering.results import Answer
    from casegraph.graph.arrays import Ids


class FactsOfAnswers(EvidenceKind):
    """Of the entities that have a fact of the answer, several are known answers."""

    name = "fact of answers"
    words_are = "fact"

    def precedents(self, context: AnswerContext, piece: Piece) -> tuple[str, ...]:
        """The known answers that have the fact."""
        return context.names(_known_answers_with_fact(context, piece))

    def sentence(self, reason: Reason, answer: Answer) -> str:
        """How many of the entities that have the fact are known answers."""
        have_fact = f"{reason.count:,} of the {reason.of:,} that have “{reason.words}”"
        return f"{have_fact} are answers already"

    def facts(self, context: AnswerContext, piece: Piece) -> Iterator[FactRow]:
        """The fact of the answer, and each known answer with the same fact."""
        yield fact_row(context.found, piece.relation, piece.tail)
        query = context.query
        for known in in_name_order(
            context.graph, _known_answers_with_fact(context, piece)
        ):
            yield fact_row(query.entity, query.relation, known)
            yield fact_row(known, piece.relation, piece.tail)


def _known_answers_with_fact(context: AnswerContext, piece: Piece) -> Ids:
    return np.intersect1d(context.with_fact(piece), context.known_answers())
