"""Commands that ask: ask, explain, similar."""
# ruff: noqa: D301  (click reads \b, a control character, as: keep these lines)

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from casegraph.cli.group import as_of, cli, head, names_of, top, with_settings
from casegraph.cli.output import Result, choice, escaped, note, with_format
from casegraph.errors import CasegraphError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from casegraph.answering.explanation import Explanation
    from casegraph.answering.results import Answers
    from casegraph.cli.group import Chosen


@cli.command()
@click.argument("source")
@click.argument("entity")
@click.argument("relation")
@top
@head
@choice("--known", ("mark", "exclude"), "What to do with answers that are facts already.")
@click.option(
    "--candidates", type=click.File("rb"), help="The only answers to consider, one a line."
)
@click.option("--explain", is_flag=True, help="Say why, for every answer.")
@as_of
@with_settings
@with_format
def ask(source: str, entity: str, relation: str, chosen: Chosen, **asked: Any) -> Result:  # noqa: ANN401
    """Answer the question (ENTITY, RELATION, ?).

    \b
    Example:
        casegraph ask world "John von Neumann" "died in" --known exclude --top 3
    """
    from casegraph.cli.sources import case_base

    cases = case_base(source, chosen(source), relation, [entity], as_of=asked.pop("as_of"))
    is_explained = asked.pop("explain")
    is_about_heads = asked.pop("head")
    if asked["candidates"]:
        asked["candidates"] = names_of(asked["candidates"])

    if is_about_heads:
        answers = cases.ask_head(relation, entity, **asked)
    else:
        answers = cases.ask(entity, relation, **asked)
    if answers.note:
        note(answers.note)
    elif answers.none is not None:
        note(f"with a probability of {answers.none:.2f}, none of the new answers is right")
    if is_explained:
        return _with_reasons(answers, cases.explain_all(answers))
    return _plain(answers)


@cli.command()
@click.argument("source")
@click.argument("entity")
@click.argument("relation")
@click.argument("answer")
@head
@as_of
@with_settings
@with_format
def explain(
    source: str,
    entity: str,
    relation: str,
    answer: str,
    *,
    head: bool,
    as_of: int | None,
    chosen: Chosen,
) -> Result:
    """Say why ANSWER is an answer to (ENTITY, RELATION, ?).

    \b
    Example:
        casegraph explain world "John von Neumann" "died in" "Washington, D.C."
    """
    from casegraph.cli.sources import case_base

    cases = case_base(source, chosen(source), relation, [entity, answer], as_of=as_of)
    if head:
        answers = cases.ask_head(relation, entity, top=-1)
    else:
        answers = cases.ask(entity, relation, top=-1)
    found = [given for given in answers if given.entity == answer]
    if not found:
        raise CasegraphError(
            f"{answer!r} was not reached by {answers.question}: "
            "no path type or precedent leads there"
        )
    return _reasons(cases.explain(found[0]))


@cli.command()
@click.argument("source")
@click.argument("entity")
@click.argument("relation", required=False)
@top
@as_of
@with_format
def similar(
    source: str, entity: str, relation: str | None, *, top: int, as_of: int | None
) -> Result:
    """List the entities most like ENTITY; with RELATION, of those that have it.

    \b
    Example:
        casegraph similar world "John von Neumann" "died in" --top 5
    """
    from casegraph.cli.sources import case_base

    near = case_base(source, as_of=as_of).similar(entity, relation, top)
    rows = [(neighbour.entity, neighbour.similarity, neighbour.shared) for neighbour in near]
    return Result(("entity", "similarity", "shared"), rows)


def _plain(answers: Answers) -> Result:
    """Answers, best first."""
    columns: tuple[str, ...] = ("rank", "entity", "score", "known")
    if answers.tuned:
        columns = ("rank", "entity", "probability", "score", "known")
    rows = [tuple(getattr(answer, column) for column in columns) for answer in answers]
    return Result(columns, rows, answers.as_dict())


def _with_reasons(answers: Answers, explanations: Iterable[Explanation]) -> Result:
    """Answers, and why each was given."""
    plain = _plain(answers)
    explained = list(explanations)
    rows = []
    for row, explanation in zip(plain.rows, explained, strict=True):
        sentences = [reason.sentence(explanation.answer) for reason in explanation]
        rows.append((*row, sentences))
    document = {
        **plain.document,
        "explanations": [explanation.as_dict() for explanation in explained],
    }

    def text() -> str:
        return "\n\n".join(escaped(explanation.text(), kept="\n") for explanation in explained)

    return Result((*plain.columns, "reasons"), rows, document, text)


def _reasons(explanation: Explanation) -> Result:
    """The reasons for one answer."""
    columns = ("share", "kind", "words", "count", "of", "reason")
    rows = []
    for reason in explanation:
        sentence = reason.sentence(explanation.answer)
        rows.append((reason.share, reason.kind, reason.words, reason.count, reason.of, sentence))
    return Result(
        columns, rows, explanation.as_dict(), lambda: escaped(explanation.text(), kept="\n")
    )
