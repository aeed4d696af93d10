"""
How the pieces of evidence for an answer add up to its score.

The kernels compute scores. Here each piece gets its share of the score by the same arithmetic in
the same order, so that the shares add up to the score to the last bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from casegraph.answering.evidence.context import Piece
    from casegraph.answering.evidence.gathering import AnswerEvidence

PATH = 0  # the kind of path types


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
    in_order = sorted(pieces, key=lambda piece: (piece.kind, piece.place))
    if settings.combination == "sum":
        return [Share(piece, piece.worth) for piece in in_order]
    discount = settings.combined.discount
    return list(_noisy_or_shares(in_order, discount, settings.best))


def _noisy_or_shares(
    pieces: list[Piece], discount: float, best: int
) -> Iterator[Share]:
    """The shares of a noisy-or: the strengths of the best path types, and of all other evidence.

    The path types are sorted by worth, and each counts `discount` times as much as the one before.
    Of every other kind there is one piece at most, which counts fully.

    pieces  in the order of kinds
    """
    paths = [piece for piece in pieces if piece.kind == PATH]
    paths.sort(key=lambda piece: -piece.worth)
    weight = 1.0
    for piece in paths[:best]:
        yield Share(piece, weight * piece.strength)
        weight *= discount
    for piece in pieces:
        if piece.kind != PATH:
            yield Share(piece, piece.strength)
