"""
How the pieces of evidence for an answer add up to its score.

The kernels compute scores. Here each piece gets its share of the score by the same arithmetic in
the same order, so that the shares add up to the score to the last bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from casegraph.answering.evidence.context import AnswerContext, Piece
    from casegraph.answering.evidence.gathering import AnswerEvidence
    from casegraph.settings import Combination


class Share(NamedTuple):
    """A piece of evidence, and its part of the score."""

    piece: Piece
    value: float


def shares(evidence: AnswerEvidence) -> list[Share]:
    """The pieces that count, with their shares, in the order in which they are added up.

    With "sum" (equation 1), a share is what the piece is worth; with "noisy-or", see
    `_noisy_or_shares`.
    """
    context, pieces = evidence
    settings = context.state.settings
    if settings.combination == "sum":

        def order_of_sum(piece: Piece) -> tuple[int, int, float, str]:
            return piece.kind, piece.place, -piece.worth, _fact_of(context, piece)

        return [Share(piece, piece.worth) for piece in sorted(pieces, key=order_of_sum)]
    return list(_noisy_or_shares(evidence, settings.combined, settings.best))


def _noisy_or_shares(
    evidence: AnswerEvidence, combination: Combination, best: int
) -> Iterator[Share]:
    """The shares of a noisy-or in two stages (see kernels/answering/kinds.hpp).

    Within a kind the pieces are sorted by worth, and each counts `discount` times as much as the
    one before; then the kinds are sorted by strength, and each counts `across` times as much as
    the one before. So with w for the discount within the kind, x for the discount across kinds
    and g for the weight of the kind, the share of the i-th piece of the k-th kind is

        xᵏ⁻¹ · g · wⁱ⁻¹ · strengthᵢ
    """
    weights = combination.kinds.as_tuple()
    discounts = combination.discounts
    kinds = range(len(weights))
    by_kind = [_best_pieces(evidence, kind, best) for kind in kinds]
    strengths = [
        weights[kind] * _strength(by_kind[kind], discounts[kind]) for kind in kinds
    ]

    weight_of_kind = 1.0
    for kind in sorted(kinds, key=lambda kind: -strengths[kind]):
        weight = weight_of_kind * weights[kind]
        for piece in by_kind[kind]:
            yield Share(piece, weight * piece.strength)
            weight *= discounts[kind]
        weight_of_kind *= combination.across


def _best_pieces(evidence: AnswerEvidence, kind: int, best: int) -> list[Piece]:
    """The pieces of a kind that count, best first."""
    context, pieces = evidence

    def best_first(piece: Piece) -> tuple[float, int, str]:
        return -piece.worth, piece.place, _fact_of(context, piece)

    of_kind = [piece for piece in pieces if piece.kind == kind]
    return sorted(of_kind, key=best_first)[:best]


def _strength(pieces: list[Piece], discount: float) -> float:
    """The strength of a kind, before its weight: each piece counts less than the one before."""
    strength = 0.0
    factor = 1.0
    for piece in pieces:
        strength += factor * piece.strength
        factor *= discount
    return strength


def _fact_of(context: AnswerContext, piece: Piece) -> str:
    """The fact of a piece in words, to order pieces that are equal otherwise."""
    has_fact = piece.relation >= 0
    return context.fact_in_words(piece) if has_fact else ""
