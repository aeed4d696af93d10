"""Similar answers as evidence: the answer shares much with known answers of the query."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from casegraph.answering.evidence.fact_rows import (
    fact_row,
    in_name_order,
    shared_fact_rows,
)
from casegraph.answering.evidence.kind import EvidenceKind
from casegraph.errors import several
from casegraph.graph.directions import inverse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from casegraph.answering.evidence.context import AnswerContext, Piece
    from casegraph.answering.evidence.fact_rows import FactRow
    from casegraph.answering.evidence.reason import Reason
    from casegraph.answering.results import Answer
    from casegraph.graph.graph import Graph


class NearAnswers(EvidenceKind):
    """The answer has many facts in common with the known answers."""

    name = "near answers"

    def precedents(self, context: AnswerContext, piece: Piece) -> tuple[str, ...]:
        """The known answers that share a fact with the answer, those that share most first."""
        graph = context.graph
        query = context.query
        known = context.known_answers()
        question_itself = (inverse(query.relation), query.entity)

        shared = np.zeros(len(known), dtype=np.int64)
        for relation, tail in _facts_of(graph, context.found):
            if (relation, tail) != question_itself:
                shared += np.isin(known, graph.answers(tail, inverse(relation)))

        name_ranks = graph.entities.ranks()[known]
        most_shared_first = np.lexsort((name_ranks, -shared))
        is_similar = (shared > 0) & (known != context.found)
        similar = known[most_shared_first][is_similar[most_shared_first]]
        return tuple(graph.entities[entity] for entity in similar.tolist())

    def sentence(self, reason: Reason, answer: Answer) -> str:
        """That the answer is like the known answers, other than itself."""
        if answer.known:
            return f"shares much with {several(reason.of - 1, 'other known answer')}"
        return f"shares much with {several(reason.of, 'known answer')}"

    def facts(self, context: AnswerContext, piece: Piece) -> Iterator[FactRow]:
        """Each known answer that shares a fact with this one, and the facts they share."""
        query = context.query
        for known in in_name_order(context.graph, context.known_answers()):
            shared = list(shared_fact_rows(context.graph, context.found, known))
            if shared:
                yield fact_row(query.entity, query.relation, known)
                yield from shared


def _facts_of(graph: Graph, entity: int) -> Iterator[tuple[int, int]]:
    """All facts of an entity, as pairs of a relation and a tail."""
    for relation in range(graph.directions):
        for tail in graph.answers(entity, relation).tolist():
            yield relation, tail
