"""Neighbours as evidence: the entities most like the query entity have the answer (§2.2.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from casegraph.answering.evidence.fact_rows import fact_row, shared_fact_rows
from casegraph.answering.evidence.kind import EvidenceKind, with_other_answers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from casegraph.answering.evidence.context import AnswerContext, Piece
    from casegraph.answering.evidence.fact_rows import FactRow
    from casegraph.answering.evidence.reason import Reason
    from casegraph.answering.results import Answer


class Neighbours(EvidenceKind):
    """Of the entities that share most with the query entity, some have the answer."""

    name = "neighbours"

    def precedents(self, context: AnswerContext, piece: Piece) -> tuple[str, ...]:
        """The neighbours that have the answer, most similar first."""
        return tuple(context.graph.entities[entity] for entity in _with_answer(context))

    def sentence(self, reason: Reason, answer: Answer) -> str:
        """How many of the neighbours have the answer."""
        nearest = f"{reason.count:,} of the {reason.of:,} most like {answer.asked}"
        return f"{nearest} have the answer {answer.entity}"

    def facts(self, context: AnswerContext, piece: Piece) -> Iterator[FactRow]:
        """The answer of each neighbour that has it, and what it shares with the query entity."""
        query = context.query
        for neighbour in _with_answer(context):
            yield fact_row(neighbour, query.relation, context.found)
            yield from shared_fact_rows(context.graph, query.entity, neighbour)

    def counterexamples(self, context: AnswerContext, piece: Piece) -> Iterator[int]:
        """The neighbours that have other answers."""
        return with_other_answers(context, context.nearest.entities)


def _with_answer(context: AnswerContext) -> list[int]:
    """The neighbours that have the answer, most similar first."""
    nearest = context.nearest.entities
    have_answer: list[int] = nearest[np.isin(nearest, context.with_answer())].tolist()
    return have_answer
