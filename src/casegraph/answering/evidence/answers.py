"""Known answers as evidence: the answer resembles answers that the query already has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from casegraph import kernels
from casegraph.answering.evidence.context import Weighted
from casegraph.answering.evidence.fact_rows import fact_row, shared_fact_rows
from casegraph.answering.evidence.resemblance import Resemblance
from casegraph.errors import several

if TYPE_CHECKING:
    from collections.abc import Iterator

    from casegraph.answering.evidence.context import AnswerContext, Piece
    from casegraph.answering.evidence.fact_rows import FactRow
    from casegraph.answering.results.reason import Reason


class SimilarAnswers(Resemblance):
    """The answer resembles known answers."""

    name = "answers"

    def weighted(self, context: AnswerContext) -> Weighted:
        """The known answers."""
        return Weighted(*kernels.similar_answers(*context.kernel_arguments))

    def statement(self, reason: Reason, asked: str, answer: str) -> str:
        """How many known answers it resembles, or does not."""
        resembles = "resembles" if reason.worth > 0 else "is unlike"
        return f"{resembles} {several(reason.count, 'known answer')}"

    def facts(self, context: AnswerContext, piece: Piece) -> Iterator[FactRow]:
        """Each known answer that speaks for this one, and the facts that the two share."""
        query = context.query
        for known in self.speaking_for(context):
            yield fact_row(query.entity, query.relation, known)
            yield from shared_fact_rows(context.graph, context.found, known)
