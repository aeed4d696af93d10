"""
The interface of an evidence kind.

The kernels gather the pieces of all kinds and combine them into scores (`kernels/answering`). What
Python adds is how a piece is presented: its words, its precedents, its sentence, and the facts it
rests on.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from casegraph.answering.evidence.fact_rows import in_name_order
from casegraph.answering.evidence.reason import Reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from casegraph.answering.evidence.context import AnswerContext, Piece
    from casegraph.answering.evidence.fact_rows import FactRow
    from casegraph.answering.evidence.reason import KindName
    from casegraph.answering.results import Answer
    from casegraph.graph.arrays import Ids


class EvidenceKind(ABC):
    """One kind of evidence.

    name       as in `Reason.kind`
    words_are  what `Reason.words` names, so that labels can be put in
    """

    name: ClassVar[KindName]
    words_are: ClassVar[Literal["path type", "fact", "relation"]] = "relation"

    def reason(self, context: AnswerContext, piece: Piece, share: float) -> Reason:
        """A piece of evidence of this kind as a reason."""
        return Reason(
            kind=self.name,
            words=self.words(context, piece),
            worth=piece.worth,
            share=share,
            count=piece.count,
            of=piece.of,
            precedents=self.precedents(context, piece),
        )

    def words(self, context: AnswerContext, piece: Piece) -> str:
        """What `Reason.words` says."""
        if self.words_are == "fact":
            return context.fact_in_words(piece)
        return context.relation_in_words()

    @abstractmethod
    def precedents(self, context: AnswerContext, piece: Piece) -> tuple[str, ...]:
        """The entities that the evidence rests on, by name."""

    @abstractmethod
    def sentence(self, reason: Reason, answer: Answer) -> str:
        """A reason of this kind in words, without its precedents."""

    @abstractmethod
    def facts(self, context: AnswerContext, piece: Piece) -> Iterator[FactRow]:
        """The facts that the evidence rests on, some perhaps more than once."""

    def counterexamples(self, context: AnswerContext, piece: Piece) -> Iterator[int]:
        """Entities that have the same evidence, but other answers; none if the kind names none."""
        return iter(())


def with_other_answers(context: AnswerContext, entities: Ids) -> Iterator[int]:
    """Those of the entities that have the relation but not the answer, in the order of names."""
    graph = context.graph
    has_relation = np.isin(entities, graph.edges(context.query.relation).heads)
    has_answer = np.isin(entities, context.with_answer())
    is_asked_about = entities == context.query.entity
    others = entities[has_relation & ~has_answer & ~is_asked_about]
    return iter(in_name_order(graph, others))
