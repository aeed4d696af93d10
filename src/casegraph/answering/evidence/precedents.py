"""Precedents as evidence: entities that resemble the query entity have the answer (§2.2.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from casegraph import kernels
from casegraph.answering.evidence.context import Weighted
from casegraph.answering.evidence.fact_rows import fact_row, shared_fact_rows
from casegraph.answering.evidence.resemblance import Resemblance

if TYPE_CHECKING:
    from collections.abc import Iterator

    from casegraph.answering.evidence.context import AnswerContext, Piece
    from casegraph.answering.evidence.fact_rows import FactRow
    from casegraph.answering.results.reason import Reason


class Precedents(Resemblance):
    """Of the entities most like the query entity, some have the answer."""

    name = "precedents"

    def weighted(self, context: AnswerContext) -> Weighted:
        """The nearest entities that have the answer."""
        return Weighted(*kernels.precedents(*context.kernel_arguments))

    def statement(self, reason: Reason, asked: str, answer: str) -> str:
        """How many of the nearest entities have the answer."""
        if reason.of == 1:
            return f"the only entity like {asked} has the answer {answer}"
        have = "has" if reason.count == 1 else "have"
        of_nearest = f"of the {reason.of:,} entities most like {asked}"
        return f"{reason.count:,} {of_nearest} {have} the answer {answer}"

    def facts(self, context: AnswerContext, piece: Piece) -> Iterator[FactRow]:
        """The answer of each precedent that speaks for it, and what it shares with the query."""
        query = context.query
        for precedent in self.speaking_for(context):
            yield fact_row(precedent, query.relation, context.found)
            yield from shared_fact_rows(context.graph, query.entity, precedent)

    def counterexamples(self, context: AnswerContext, piece: Piece) -> Iterator[int]:
        """The nearest entities that have other answers."""
        nearest = context.nearest.entities
        has_answer = np.isin(nearest, context.with_answer())
        return iter(nearest[~has_answer].tolist())
