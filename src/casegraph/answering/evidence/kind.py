"""
The interface of an evidence kind.

The kernels gather the pieces of all kinds and combine them into scores (`kernels/answering`). What
Python adds is how a piece is presented: its words, its precedents, its sentence, and the facts it
rests on.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from casegraph.answering.results.reason import Reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from casegraph.answering.evidence.context import AnswerContext, Piece
    from casegraph.answering.evidence.fact_rows import FactRow
    from casegraph.answering.results.reason import KindName


class EvidenceKind(ABC):
    """One kind of evidence; `name` is as in `Reason.kind`."""

    name: ClassVar[KindName]

    def reason(self, context: AnswerContext, piece: Piece, share: float) -> Reason:
        """A piece of evidence of this kind as a reason."""
        return Reason(
            kind=self.name,
            steps=context.steps((context.query.relation,)),
            worth=piece.worth,
            share=share,
            count=piece.count,
            of=piece.of,
        )

    @abstractmethod
    def statement(self, reason: Reason, asked: str, answer: str) -> str:
        """What a reason of this kind says, without its path type and its precedents.

        asked, answer  the labels of the entity asked about, and of the answer
        """

    @abstractmethod
    def facts(self, context: AnswerContext, piece: Piece) -> Iterator[FactRow]:
        """The facts that the evidence rests on, some perhaps more than once."""

    def counterexamples(self, context: AnswerContext, piece: Piece) -> Iterator[int]:
        """Entities that have the same evidence, but other answers; none if the kind names none."""
        return iter(())
