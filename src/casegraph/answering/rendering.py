"""
Answers and explanations as people read them, in words; `notebook` makes HTML of them.

The functions take plain values; the public classes of `results` and `explanation` call them. The
sentence of a reason is made by its kind, in the package `evidence`.
"""

from collections.abc import Sequence
from typing import NamedTuple

from casegraph.graph.directions import INVERSE

PRECEDENTS_SHOWN = 3  # by name, in a sentence
LEAST_SHOWN = 0.005  # of the score: in the text, smaller reasons are only counted


class ShownAnswer(NamedTuple):
    """An answer, and the entity that was asked about; the probability is None if there is none."""

    asked: str
    entity: str
    score: float
    rank: int
    known: bool
    probability: float | None = None
    relation: str = ""
    inverse: bool = False


class ShownReason(NamedTuple):
    """A reason in words, with its part of the score and its paths drawn with arrows."""

    share: float
    sentence: str
    paths: Sequence[str]


class ShownNeighbour(NamedTuple):
    """An entity like the one asked about, and what it answers; `similarity` as in `Neighbour`."""

    entity: str
    similarity: float
    answers: Sequence[str]


def question(asked: str, relation: str, *, inverse: bool) -> str:
    """The question as a person writes it."""
    return f"(?, {relation}, {asked})" if inverse else f"({asked}, {relation}, ?)"


def sentence(asked: str, relation: str, answer: str, *, inverse: bool) -> str:
    """A question and an answer to it as a sentence; an ellipsis as the answer leaves it open."""
    return f"{answer} {relation} {asked}" if inverse else f"{asked} {relation} {answer}"


def explanation_as_text(
    answer: ShownAnswer,
    reasons: Sequence[ShownReason],
    neighbours: Sequence[ShownNeighbour],
) -> str:
    """An answer with its reasons and neighbours, for a terminal."""
    if answer.known:
        sure = "known, "
    elif answer.probability is not None:
        sure = f"probability {answer.probability:.3f}, "
    else:
        sure = ""
    lines = [f"{answer.entity}  ({sure}score {answer.score:.3f})"]

    largest_first = sorted(reasons, key=lambda reason: -reason.share)
    shown = [
        reason
        for reason in largest_first
        if abs(reason.share) >= LEAST_SHOWN * answer.score
    ]
    for reason in shown:
        part_of_score = reason.share / answer.score
        lines.append(f"  {part_of_score:4.0%}  {reason.sentence}")
        lines += [f"          {path}" for path in reason.paths]
    more = len(reasons) - len(shown)
    if more:
        lines.append(
            f"        and {more} more reasons of less than {LEAST_SHOWN:.1%} each"
        )

    if neighbours:
        lines.append(f"  entities like {answer.asked}, and what they answer:")
    for neighbour in neighbours:
        answers = ", ".join(neighbour.answers)
        lines.append(
            f"          {neighbour.entity} ({neighbour.similarity:.2f}): {answers}"
        )
    return "\n".join(lines)


def precedents_in_words(names: Sequence[str], weights: Sequence[float] = ()) -> str:
    """The first few precedents by name, with their weights if they have any.

    Those with a negative weight come last, the most negative of them first.
    """
    if not names:
        return ""
    if not weights:
        return f" ({_first_few(names)})"
    in_favour: list[str] = []
    against: list[str] = []
    for name, weight in zip(names, weights, strict=True):
        if weight < 0:
            against.insert(0, f"{name} −{-weight:.2g}")
        else:
            in_favour.append(f"{name} +{weight:.2g}")
    parts = [_first_few(in_favour)] if in_favour else []
    if against:
        parts.append(f"against: {_first_few(against)}")
    return f" ({'; '.join(parts)})"


def _first_few(names: Sequence[str]) -> str:
    """The first few names, and how many more there are."""
    more = len(names) - PRECEDENTS_SHOWN
    and_more = f" and {more:,} more" if more > 0 else ""
    return f"{', '.join(names[:PRECEDENTS_SHOWN])}{and_more}"


def path_with_arrows(path: Sequence[str]) -> str:
    """A path of entities and relations in turn, drawn with arrows; an inverse points back."""
    parts = []
    for place, name in enumerate(path):
        is_entity = place % 2 == 0
        parts.append(name if is_entity else _arrow(name))
    return " ".join(parts)


def _arrow(relation: str) -> str:
    if relation.endswith(INVERSE):
        name = relation.removesuffix(INVERSE)
        return f"←{name}—"
    return f"—{relation}→"
