"""
Resemblance as evidence: what precedents and known answers say of a candidate, each by its weight.

A ridge regression (`kernels/answering`) gives the weights. They may be negative, and add up to what
the evidence is worth.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING

from casegraph.answering.evidence.kind import EvidenceKind

if TYPE_CHECKING:
    from casegraph.answering.evidence.context import AnswerContext, Piece, Weighted
    from casegraph.answering.results.reason import Reason


class Resemblance(EvidenceKind):
    """Entities speak for the answer, or against it, by how much they resemble another."""

    def reason(self, context: AnswerContext, piece: Piece, share: float) -> Reason:
        """With the entities it rests on: those for the answer first, then those against it."""
        entities, weights = self.weighted(context)
        return replace(
            super().reason(context, piece, share),
            precedents=context.names(entities.tolist()),
            weights=tuple(weights.tolist()),
        )

    @abstractmethod
    def weighted(self, context: AnswerContext) -> Weighted:
        """The entities that the evidence rests on."""

    def speaking_for(self, context: AnswerContext) -> list[int]:
        """The entities that speak for the answer: those with a positive weight."""
        entities, weights = self.weighted(context)
        in_favour: list[int] = entities[weights > 0].tolist()
        return in_favour
