"""
The interface of an evidence kind.

The kernels gather the pieces of all kinds and combine them into scores (`kernels/answering`). What
Python adds is how a piece is presented: its words, its precedents, its sentence, and the facts it
rests on.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Literal

from casegraph.answering.evidence.reason import Reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from casegraph.answering.evidence.context import AnswerContext, Piece
    from casegraph.answering.evidence.fact_rows import FactRow
    from casegraph.answering.evidence.reason import KindName
    from casegraph.answering.results import Answer


class EvidenceKind(ABC):
    """One kind of evidence.

    name       as in `Reason.kind`
    words_are  what `Reason.words` names, so that labels can be put in
    """

    name: ClassVar[KindName]
    words_are: ClassVar[Literal["path type", "relation"]] = "relation"

    def reason(self, context: AnswerContext, piece: Piece, share: float) -> Reason:
        """A piece of evidence of this kind as a reason."""
        return Reason(
            kind=self.name,
            words=context.relation_in_words(),
            worth=piece.worth,
            share=share,
            count=piece.count,
            of=piece.of,
        )

    @abstractmethod
    def sentence(self, reason: Reason, answer: Answer) -> str:
        """A reason of this kind in words, without its precedents."""

    @abstractmethod
    def facts(self, context: AnswerContext, piece: Piece) -> Iterator[FactRow]:
        """The facts that the evidence rests on, some perhaps more than once."""

    def counterexamples(self, context: AnswerContext, piece: Piece) -> Iterator[int]:
        """Entities that have the same evidence, but other answers; none if the kind names none."""
        return iter(())
