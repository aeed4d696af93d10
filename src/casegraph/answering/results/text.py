"""
Answers and explanations as people read them; `notebook` makes HTML of them.

Results are data: names, steps and numbers. Text is made of them here, and nowhere is text taken
apart again. What a reason states is worded by its kind, in the package `evidence`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from casegraph.answering.results.explanation import Explanation
    from casegraph.answering.results.reason import Reason
    from casegraph.graph.directions import PathStep

PRECEDENTS_SHOWN = 3  # by name, in a sentence
LEAST_SHOWN = 0.005  # of the score: in the text, smaller reasons are only counted


def question(asked: str, relation: str, *, inverse: bool) -> str:
    """The question as a person writes it."""
    return f"(?, {relation}, {asked})" if inverse else f"({asked}, {relation}, ?)"


def sentence(asked: str, relation: str, answer: str, *, inverse: bool) -> str:
    """A question and an answer to it as a sentence; an ellipsis as the answer leaves it open."""
    return f"{answer} {relation} {asked}" if inverse else f"{asked} {relation} {answer}"


def explanation_as_text(explanation: Explanation) -> str:
    """An answer with its reasons and neighbours, for a terminal."""
    answer = explanation.answer
    label = explanation.label
    if answer.known:
        sure = "known, "
    elif answer.probability is not None:
        sure = f"probability {answer.probability:.3f}, "
    else:
        sure = ""
    lines = [f"{label(answer.entity)}  ({sure}score {answer.score:.3f})"]

    shown, more = reasons_to_show(explanation)
    for reason in shown:
        lines.append(f"  {reason.share / answer.score:4.0%}  {reason.sentence}")
        lines += [f"          {path}" for path in reason.drawn(label)]
    if more:
        lines.append(
            f"        and {more} more reasons of less than {LEAST_SHOWN:.1%} each"
        )

    if explanation.neighbours:
        asked = label(answer.asked)
        lines.append(f"  entities like {asked}, and what they answer:")
    for near in explanation.neighbours:
        answers = ", ".join(map(label, near.answers))
        lines.append(
            f"          {label(near.entity)} ({near.similarity:.2f}): {answers}"
        )
    return "\n".join(lines)


def reasons_to_show(explanation: Explanation) -> tuple[list[Reason], int]:
    """The reasons that matter, those with the largest share first; and how many are left out."""
    least = LEAST_SHOWN * explanation.answer.score
    shown = [reason for reason in explanation if abs(reason.share) >= least]
    shown.sort(key=lambda reason: -reason.share)
    return shown, len(explanation.reasons) - len(shown)


def reason_as_text(reason: Reason, label: Callable[[str], str]) -> str:
    """All that a reason says: its path type, its statement and its precedents."""
    path_type = ""
    if reason.kind == "path":
        path_type = f"{path_type_as_text(reason.steps, label)}: "
    names = [label(name) for name in reason.precedents]
    return f"{path_type}{reason.statement}{_precedents_as_text(names, reason.weights)}"


def path_type_as_text(
    steps: Sequence[PathStep], label: Callable[[str], str] = str
) -> str:
    """A path type with arrows between its steps."""
    return " → ".join(step.text(label) for step in steps)


def path_with_arrows(
    path: Sequence[str], steps: Sequence[PathStep], label: Callable[[str], str]
) -> str:
    """A path, given by its entities, drawn with arrows; an inverse step points back."""
    parts = [label(path[0])]
    for step, (_, entity) in zip(steps, pairwise(path), strict=True):
        relation = label(step.relation)
        parts.append(f"←{relation}—" if step.inverse else f"—{relation}→")
        parts.append(label(entity))
    return " ".join(parts)


def _precedents_as_text(names: Sequence[str], weights: Sequence[float]) -> str:
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
