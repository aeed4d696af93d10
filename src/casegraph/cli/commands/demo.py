"""The demo: ask the bundled graph for facts that were held back from it."""
# ruff: noqa: D301  (click reads \b, a control character, as: keep these lines)

from __future__ import annotations

from textwrap import shorten
from typing import TYPE_CHECKING, NamedTuple

import click

from casegraph.cli.group import cli
from casegraph.cli.output import Result, with_format

if TYPE_CHECKING:
    from casegraph.answering.results.answer import Answer
    from casegraph.casebase import CaseBase

AT_LENGTH = (
    "John von Neumann",
    "Albert Einstein",
    "Marie Curie",
    "Kyoto",
    "Emmy Noether",
    "Ernest Rutherford",
)
LEAST_SHARE = 0.01  # of a score: a reason with a smaller share is left out
NEIGHBOURS_SHOWN = 5
COLUMNS = 80  # of a line that is not to be wrapped
ANSWERS_SHOWN = 3


class HeldBack(NamedTuple):
    """A fact that was held back, its rank among the answers
    to its question, and the best answer.
    """

    asked: str
    relation: str
    held_back: str
    rank: int | None
    best: str
    score: float


@cli.command()
@with_format
def demo() -> Result:
    """Ask the bundled graph for facts that were left out of it.

    \b
    Example:
        casegraph demo
    """
    from casegraph import world
    from casegraph.cli.loader import case_base

    cases = case_base("world")
    questions: list[HeldBack] = []
    for fact in world.questions():
        answers = cases.ask(fact.head, fact.relation, top=-1, known="exclude")
        rank = next(
            (answer.rank for answer in answers if answer.entity == fact.tail), None
        )
        questions.append(HeldBack(*fact, rank, answers[0].entity, answers[0].score))

    return Result(
        HeldBack._fields, list(questions), text=lambda: _text(cases, questions)
    )


def _text(cases: CaseBase, questions: list[HeldBack]) -> str:
    """Some questions at length, then how many were answered well."""
    at_length = [
        next(question for question in questions if question.asked == name)
        for name in AT_LENGTH
    ]
    size = f"{len(cases.graph):,} facts about {len(cases.graph.entities):,} entities"
    lines = [
        f"The bundled graph has {size}. {len(questions)} true facts were held back from it: "
        "they are asked for here.",
        "",
        *_most_similar(cases, at_length[0]),
    ]
    for question in at_length:
        lines += ["", *_question(cases, question)]

    lines += [
        "",
        _heading(f"All {len(questions)} held-back facts, known answers excluded"),
    ]
    lines += _summary(questions)
    return "\n".join(lines)


def _most_similar(cases: CaseBase, question: HeldBack) -> list[str]:
    """The contextual entities of a question."""
    asked = question.asked
    relation = question.relation
    near = cases.similar(asked, relation, top=NEIGHBOURS_SHOWN)
    width = max(len(neighbour.entity) for neighbour in near)
    lines = [_heading(f"Most like {asked}, of those that have “{relation}”")]
    for neighbour in near:
        line = f"  {neighbour.similarity:.2f}  {neighbour.entity:{width}}  shares "
        shared = ", ".join(map(str, neighbour.shared))
        lines.append(line + shorten(shared, COLUMNS - len(line), placeholder=" …"))
    return lines


def _question(cases: CaseBase, question: HeldBack) -> list[str]:
    """A question, its best answers with a mark at the true one, and the reasons for both."""
    shown = max(ANSWERS_SHOWN, question.rank or 0)
    answers = cases.ask(question.asked, question.relation, top=shown, known="exclude")
    width = max(len(answer.entity) for answer in answers)
    lines = [_heading(f"({question.asked}, {question.relation}, ?)")]
    for answer in answers:
        is_true = answer.entity == question.held_back
        mark = click.style("  ← true, held back", fg="green") if is_true else ""
        lines.append(
            f"  {answer.rank:2}  {answer.entity:{width}}  {answer.score:.3f}{mark}"
        )

    for answer in answers:
        if answer.rank == 1 or answer.entity == question.held_back:
            lines += _why(cases, answer)
    return lines


def _why(cases: CaseBase, answer: Answer) -> list[str]:
    """The reasons that matter, each path type with one of its paths."""
    lines = [f"  why {answer.entity}?"]
    for reason in cases.explain(answer):
        if abs(reason.share) >= LEAST_SHARE * answer.score:
            lines.append(f"    {reason.share / answer.score:4.0%}  {reason.sentence}")
            lines += [
                click.style(f"          {path}", dim=True)
                for path in reason.drawn()[:1]
            ]
    return lines


def _summary(questions: list[HeldBack]) -> list[str]:
    ranks = [question.rank for question in questions if question.rank is not None]
    lines = []
    for place, most in (("at rank 1", 1), ("in the top 3", 3), ("in the top 10", 10)):
        found = sum(rank <= most for rank in ranks)
        lines.append(f"  {found:2} of {len(questions)} found {place}")
    return lines


def _heading(text: str) -> str:
    return click.style(text, bold=True)
