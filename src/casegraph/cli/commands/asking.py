"""Commands that ask: demo, ask, explain, similar."""
# ruff: noqa: D301  (click reads \b, a control character, as: keep these lines)

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from casegraph.cli.group import as_of, cli, head, top, with_settings
from casegraph.cli.output import Result, answered, choice, demo_text, explained, note, reasons, with_format
from casegraph.errors import CasegraphError

if TYPE_CHECKING:
    from casegraph.cli.group import Chosen

TOLD = ("John von Neumann", "Albert Einstein", "Marie Curie", "Kyoto", "Emmy Noether", "Ernest Rutherford")


@cli.command()
@with_format
def demo() -> Result:
    """Ask the bundled graph for facts that were held back from it.

    \b
    Example:
        casegraph demo
    """
    from casegraph import world
    from casegraph.cli.sources import case_base

    cases, rows = case_base("world"), []
    for fact in world.questions():
        answers = cases.ask(fact.head, fact.relation, top=-1, known="exclude")
        rank = next((answer.rank for answer in answers if answer.entity == fact.tail), None)
        rows.append((*fact, rank, answers[0].entity, answers[0].score))
    columns = ("asked", "relation", "held_back", "rank", "best", "score")
    return Result(columns, rows, text=lambda: demo_text(cases, rows, TOLD))


@cli.command()
@click.argument("source")
@click.argument("entity")
@click.argument("relation")
@top
@head
@choice("--known", ("mark", "exclude"), "What to do with answers that are facts already.")
@click.option("--candidates", type=click.File("rb"), help="The only answers to consider, one a line.")
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
    if only := asked["candidates"]:
        asked["candidates"] = only.read().decode(errors="surrogateescape").splitlines()
    answers = cases.ask_head(relation, entity, **asked) if asked.pop("head") else cases.ask(entity, relation, **asked)
    if answers.note:
        note(answers.note)
    return explained(answers, map(cases.explain, answers)) if is_explained else answered(answers)


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
    source: str, entity: str, relation: str, answer: str, *, head: bool, as_of: int | None, chosen: Chosen
) -> Result:
    """Say why ANSWER is an answer to (ENTITY, RELATION, ?).

    \b
    Example:
        casegraph explain world "John von Neumann" "died in" "Washington, D.C."
    """
    from casegraph.cli.sources import case_base

    cases = case_base(source, chosen(source), relation, [entity, answer], as_of=as_of)
    answers = cases.ask_head(relation, entity, top=-1) if head else cases.ask(entity, relation, top=-1)
    found = [one for one in answers if one.entity == answer]
    if not found:
        raise CasegraphError(f"{answer!r} was not reached by {answers.question}: no path type or precedent leads there")
    return reasons(cases.explain(found[0]))


@cli.command()
@click.argument("source")
@click.argument("entity")
@click.argument("relation", required=False)
@top
@as_of
@with_format
def similar(source: str, entity: str, relation: str | None, *, top: int, as_of: int | None) -> Result:
    """List the entities most like ENTITY; with RELATION, of those that have it.

    \b
    Example:
        casegraph similar world "John von Neumann" "died in" --top 5
    """
    from casegraph.cli.sources import case_base

    near = case_base(source, as_of=as_of).similar(entity, relation, top)
    return Result(("entity", "similarity", "shared"), [(one.entity, one.similarity, one.shared) for one in near])
