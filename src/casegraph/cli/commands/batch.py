"""Commands for all facts at once: complete, audit."""
# ruff: noqa: D301  (click reads \b, a control character, as: keep these lines)

from __future__ import annotations

from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from casegraph.cli.group import cli
from casegraph.cli.options import (
    names_of,
    of_type,
    relations,
    with_columns,
    with_executor,
    with_settings,
)
from casegraph.cli.output import Result, escaped, with_format, with_format_only
from casegraph.cli.progress import progress

if TYPE_CHECKING:
    from casegraph.batch.audit import Finding
    from casegraph.cli.options import Chosen
    from casegraph.cli.reading import Read
    from casegraph.execution.executor import Executor

OUT = "Where to write; the ending decides the format."
AUDIT_SHOWN = ("doubt", "head", "relation", "tail", "rank", "instead", "instead_known")
BEST = "Only the N most probable, with reasons and precedents."


@cli.command()
@click.argument("source")
@click.option("--out", type=Path, required=True, metavar="FILE", help=OUT)
@click.option("--best", type=click.IntRange(min=1), metavar="N", help=BEST)
@relations
@click.option(
    "--entities",
    type=click.File("rb"),
    metavar="FILE",
    help="A file of the only entities to ask about, one per line.",
)
@of_type
@click.option("--heads", is_flag=True, help="Also ask (?, RELATION, ENTITY).")
@click.option(
    "--lacking",
    is_flag=True,
    help="Ask only about entities that do not have the relation yet.",
)
@click.option(
    "--min-probability",
    type=float,
    metavar="P",
    help="The lowest probability to keep; 0.5 by default, 0 with --best.",
)
@click.option(
    "--top",
    type=int,
    default=3,
    show_default=True,
    help="How many answers to keep per question.",
)
@click.option("--explain", is_flag=True, help="Add the most important reason of each.")
@with_executor
@with_columns
@with_settings
@with_format_only
def complete(
    source: str,
    *,
    out: Path,
    best: int | None,
    entities: BinaryIO | None,
    executor: Executor,
    read: Read,
    chosen: Chosen,
    **wanted: Any,  # noqa: ANN401
) -> Result:
    """Propose missing facts; if interrupted, the same command continues.

    The ending of FILE decides the format: .jsonl, .csv, .tsv or .parquet. With --best, the most
    probable come first, with the reason and the precedents of each.

    \b
    Example:
        casegraph complete world --relations "died in" --lacking --out new.jsonl
        casegraph complete world --relations "died in" --best 100 --out best.csv
    """
    from casegraph.batch.completion import Completion, Wanted
    from casegraph.batch.completion import complete as write
    from casegraph.batch.proposals import write_proposals
    from casegraph.batch.resumption import remove_finished
    from casegraph.cli.sources import case_base
    from casegraph.errors import IncompatibleFile
    from casegraph.formats.tables import table_format

    form = table_format(out)
    is_lines = form == "jsonl" and best is None
    if not is_lines and out.exists():
        raise IncompatibleFile(
            str(out), "is there already; remove it, or choose another file"
        )

    cases = case_base(source, chosen(source), read=read)
    wanted["of_type"] = wanted["of_type"] or ""
    if wanted["min_probability"] is None:
        wanted["min_probability"] = 0.5 if best is None else 0.0
    wanted["relations"] = tuple(cases.relation(name) for name in wanted["relations"])
    names = (
        [] if entities is None else [cases.entity(name) for name in names_of(entities)]
    )
    explain = wanted["explain"] or best is not None
    if not is_lines:
        # Only those that are written are explained, at the end.
        wanted["explain"] = False
    what = Wanted(entities=tuple(names), **wanted)

    lines = out if is_lines else out.with_name(f"{out.name}.lines")
    with progress() as show:
        done = write(cases, lines, what, executor, show)
        if not is_lines:
            written = write_proposals(
                cases, lines, out, form, best=best, explain=explain, show=show
            )
            done = Completion(done.asked, written)
            remove_finished(lines)
    return Result(("file", "questions", "proposed"), [(str(out), *done)])


@cli.command()
@click.argument("source")
@relations
@click.option(
    "--top", type=int, default=20, show_default=True, help="How many facts to list."
)
@click.option(
    "--explain",
    is_flag=True,
    help="Print the reasons for each fact, and for the other answer.",
)
@with_executor
@with_columns
@with_settings
@with_format
def audit(
    source: str,
    *,
    relations: tuple[str, ...],
    top: int,
    explain: bool,
    executor: Executor,
    read: Read,
    chosen: Chosen,
) -> Result:
    """Score every fact as if it were missing, and list the least supported.

    \b
    Example:
        casegraph audit world --relations "citizen of" --top 5
    """
    from casegraph.batch.audit import Finding, because
    from casegraph.batch.audit import audit as find
    from casegraph.cli.sources import case_base

    cases = case_base(source, chosen(source), read=read)
    with progress() as show:
        found = find(cases, relations=relations, top=top, executor=executor, show=show)
    columns = tuple(field.name for field in fields(Finding))
    rows = [tuple(asdict(finding).values()) for finding in found]
    if not explain:
        return Result(columns, rows, shown=AUDIT_SHOWN)

    explained_rows = []
    paragraphs = []
    for finding, row in zip(found, rows, strict=True):
        reasons, instead_reasons = because(cases, finding)
        explained_rows.append((*row, reasons, instead_reasons))
        paragraphs.append(_paragraph(finding, reasons, instead_reasons))
    text = escaped("\n\n".join(paragraphs), kept="\n")
    return Result(
        (*columns, "reasons", "instead_reasons"), explained_rows, text=lambda: text
    )


def _paragraph(found: Finding, reasons: list[str], instead_reasons: list[str]) -> str:
    """A fact, what speaks for it, and what for the other answer."""
    fact = f"{found.head} —{found.relation}→ {found.tail}"
    lines = [f"{fact}  (doubt {found.doubt:.3f}, score {found.score:.3f})"]
    lines += [f"      {reason}" for reason in reasons or ["nothing speaks for it"]]
    if found.instead is not None:
        known = ", known" if found.instead_known else ""
        lines += [
            f"  instead {found.instead}  (score {found.instead_score:.3f}{known})"
        ]
        lines += [f"      {reason}" for reason in instead_reasons]
    return "\n".join(lines)
