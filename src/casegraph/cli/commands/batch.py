"""Commands for all facts at once: complete, audit."""
# ruff: noqa: D301  (click reads \b, a control character, as: keep these lines)

from __future__ import annotations

from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from casegraph.cli.group import cli, names_of, relations, with_executor, with_settings
from casegraph.cli.output import Result, escaped, with_format
from casegraph.cli.progress import progress

if TYPE_CHECKING:
    from casegraph.batch.audit import Finding
    from casegraph.cli.group import Chosen
    from casegraph.execution.executor import Executor


@cli.command()
@click.argument("source")
@click.option(
    "--out",
    type=Path,
    required=True,
    metavar="FILE",
    help="Where to write; one fact a line, as JSON.",
)
@relations
@click.option(
    "--entities",
    type=click.File("rb"),
    metavar="FILE",
    help="The only ones to ask about, one a line.",
)
@click.option("--heads", is_flag=True, help="Ask (?, RELATION, ENTITY), too.")
@click.option("--lacking", is_flag=True, help="Ask only those that do not have the relation yet.")
@click.option(
    "--min-probability",
    type=float,
    default=0.5,
    show_default=True,
    metavar="P",
    help="What to keep.",
)
@click.option(
    "--top", type=int, default=3, show_default=True, help="How many answers to a question to keep."
)
@click.option("--explain", is_flag=True, help="Give the most important reason of each.")
@with_executor
@with_settings
@with_format
def complete(
    source: str,
    *,
    out: Path,
    entities: BinaryIO | None,
    executor: Executor,
    chosen: Chosen,
    **wanted: Any,  # noqa: ANN401
) -> Result:
    """Propose facts that are missing; if interrupted, the same command goes on.

    \b
    Example:
        casegraph complete world --relations "citizen of" --lacking --out missing.jsonl
    """
    from casegraph.batch.completion import Wanted
    from casegraph.batch.completion import complete as write
    from casegraph.cli.sources import case_base

    names = [] if entities is None else names_of(entities)
    what = Wanted(entities=tuple(names), **wanted)
    cases = case_base(source, chosen(source))
    with progress() as show:
        done = write(cases, out, what, executor, show)
    return Result(("file", "questions", "proposed"), [(str(out), *done)])


@cli.command()
@click.argument("source")
@relations
@click.option("--top", type=int, default=20, show_default=True, help="How many facts to list.")
@click.option(
    "--explain", is_flag=True, help="Give the reasons for each fact, and for the other answer."
)
@with_executor
@with_settings
@with_format
def audit(
    source: str,
    *,
    relations: tuple[str, ...],
    top: int,
    explain: bool,
    executor: Executor,
    chosen: Chosen,
) -> Result:
    """Score the facts as if each were missing, and list the least supported.

    \b
    Example:
        casegraph audit world --relations "citizen of" --top 5
    """
    from casegraph.batch.audit import Finding, because
    from casegraph.batch.audit import audit as find
    from casegraph.cli.sources import case_base

    cases = case_base(source, chosen(source))
    with progress() as show:
        found = find(cases, relations=relations, top=top, executor=executor, show=show)
    columns = tuple(field.name for field in fields(Finding))
    rows = [tuple(asdict(finding).values()) for finding in found]
    if not explain:
        return Result(columns, rows)

    explained_rows = []
    paragraphs = []
    for finding, row in zip(found, rows, strict=True):
        reasons, instead_reasons = because(cases, finding)
        explained_rows.append((*row, reasons, instead_reasons))
        paragraphs.append(_paragraph(finding, reasons, instead_reasons))
    text = escaped("\n\n".join(paragraphs), kept="\n")
    return Result((*columns, "reasons", "instead_reasons"), explained_rows, text=lambda: text)


def _paragraph(found: Finding, reasons: list[str], instead_reasons: list[str]) -> str:
    """A fact, what speaks for it, and what for the other answer."""
    fact = f"{found.head} —{found.relation}→ {found.tail}"
    lines = [f"{fact}  (doubt {found.doubt:.3f}, score {found.score:.3f})"]
    lines += [f"      {reason}" for reason in reasons or ["nothing speaks for it"]]
    if found.instead is not None:
        known = ", known" if found.instead_known else ""
        lines += [f"  instead {found.instead}  (score {found.instead_score:.3f}{known})"]
        lines += [f"      {reason}" for reason in instead_reasons]
    return "\n".join(lines)
