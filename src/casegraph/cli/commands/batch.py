"""Commands for all facts at once: complete, audit."""
# ruff: noqa: D301  (click reads \b, a control character, as: keep these lines)

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from casegraph.cli.group import cli
from casegraph.cli.options import (
    missing,
    relations,
    with_columns,
    with_executor,
    with_settings,
)
from casegraph.cli.output import Result, escaped, note, with_format, with_format_only
from casegraph.cli.progress import progress

if TYPE_CHECKING:
    from collections.abc import Callable

    from casegraph.batch.audit import Finding
    from casegraph.batch.completion import Wanted
    from casegraph.casebase import CaseBase
    from casegraph.cli.options import Chosen
    from casegraph.cli.reader import Read
    from casegraph.execution.executor import Executor

OUT = "Where to write; the ending decides the format. Without, the best 20 are printed."
AUDIT_SHOWN = ("doubt", "head", "relation", "tail", "rank", "instead", "reasons")
BEST = "Only the N most probable pairs of all relations, with reasons and precedents."
PRINTED = 20  # proposals, unless --best says otherwise
NAME_FILES = {
    "heads": "A file of the only heads, one per line.",
    "tails": "A file of the only tails, one per line.",
    "entities": "A file of entities; the head or the tail must be one of them.",
}
PAIR_FILES = {
    "candidates": "A file of the only pairs: head and tail, or head, relation and tail.",
    "exclude": "A file of pairs never to propose, with the same columns.",
}


def _file_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that name files of entities or pairs."""
    for name, text in reversed((NAME_FILES | PAIR_FILES).items()):
        command = click.option(f"--{name}", metavar="FILE", help=text)(command)
    return command


@cli.command()
@click.argument("source")
@click.option("--out", type=Path, metavar="FILE", help=OUT)
@click.option("--best", type=click.IntRange(min=1), metavar="N", help=BEST)
@relations
@_file_options
@click.option(
    "--type",
    "of_type",
    metavar="TYPE",
    help="Only tails of this type, such as Disease.",
)
@click.option(
    "--lacking", is_flag=True, help="Only heads that have no tail of the relation yet."
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
    default=20,
    show_default=True,
    help="How many new answers to each question to consider.",
)
@click.option(
    "--at-most",
    type=click.IntRange(min=1),
    metavar="N",
    help="Propose an entity N times at most, as head or as tail.",
)
@click.option("--explain", is_flag=True, help="Add the most important reason of each.")
@missing
@with_executor
@with_columns
@with_settings
@with_format_only
def complete(
    source: str,
    *,
    out: Path | None,
    executor: Executor,
    read: Read,
    chosen: Chosen,
    missing: float | None,
    **wanted: Any,  # noqa: ANN401
) -> Result:
    """Propose missing facts; if interrupted, the same command continues.

    Every entity is asked for its tails and its heads. Each pair is proposed once, with the
    probability that it is a fact. The ending of FILE decides the format: .jsonl, .csv, .tsv or
    .parquet. Relations come in the order of their names, and of each the most probable pairs come
    first. With --best, the most probable of all come first, with the reason and the precedents of
    each.

    \b
    Example:
        casegraph complete world --relations "citizen of" --lacking
        casegraph complete world --relations "died in" --out new.jsonl
        casegraph complete world --best 100 --at-most 3 --out best.csv
    """
    from casegraph.cli.loader import case_base
    from casegraph.errors import IncompatibleFile
    from casegraph.formats.tables import table_format

    form = "" if out is None else table_format(out)
    is_lines = form == "jsonl" and wanted["best"] is None
    if out is not None and not is_lines and out.exists():
        raise IncompatibleFile(
            str(out), "is there already; remove it, or choose another file"
        )
    cases = case_base(source, chosen(source), read=read)
    if missing is not None:
        cases = cases.assuming(missing)
    if out is None:
        wanted["best"] = wanted["best"] or PRINTED
        return _printed_proposals(cases, wanted, executor)
    if is_lines:
        return _lines_of_proposals(cases, wanted, executor, out)
    return _table_of_proposals(cases, wanted, executor, out, form)


def _lines_of_proposals(
    cases: CaseBase, wanted: dict[str, Any], executor: Executor, out: Path
) -> Result:
    """Write all proposals as JSON lines."""
    from casegraph.batch.completion import complete as write
    from casegraph.batch.proposals import Concentration, proposed

    what = _wanted(cases, **wanted)
    with progress() as show:
        done = write(cases, out, what, executor, show)
    note(str(Concentration.of(proposed(out))))
    return Result(("file", "questions", "proposed"), [(str(out), *done)])


def _table_of_proposals(
    cases: CaseBase, wanted: dict[str, Any], executor: Executor, out: Path, form: str
) -> Result:
    """Write the best proposals, or all, as a table."""
    from casegraph.batch.completion import complete as write
    from casegraph.batch.proposals import ProposalTable, write_proposals
    from casegraph.batch.resumption import remove_finished

    # Only those that are written are explained, at the end.
    explain = wanted["explain"] or wanted["best"] is not None
    what = _wanted(cases, **wanted | {"explain": False})
    lines = out.with_name(f"{out.name}.lines")
    with progress() as show:
        done = write(cases, lines, what, executor, show)
        table = ProposalTable(
            cases,
            lines,
            best=what.best,
            at_most=what.at_most,
            explain=explain,
            show=show,
        )
        written = write_proposals(table, out, form)
        remove_finished(lines)
    note(str(table.concentration))
    return Result(("file", "questions", "proposed"), [(str(out), done.asked, written)])


def _printed_proposals(
    cases: CaseBase, wanted: dict[str, Any], executor: Executor
) -> Result:
    """The best proposals as a table for people."""
    from casegraph.batch.completion import complete as write
    from casegraph.batch.proposals import ProposalTable

    what = _wanted(cases, **wanted | {"explain": False})
    with TemporaryDirectory(prefix="casegraph-") as folder, progress() as show:
        lines = Path(folder) / "lines"
        write(cases, lines, what, executor, show)
        table = ProposalTable(
            cases, lines, best=what.best, at_most=what.at_most, explain=True, show=show
        )
        rows = [tuple(row) for row in table.rows()]
    note(str(table.concentration))
    ending = "_label" if table.has_labels else ""
    fact = tuple(f"{part}{ending}" for part in ("head", "relation", "tail"))
    return Result(table.columns, rows, shown=(*fact, "probability", "reason"))


def _wanted(
    cases: CaseBase,
    *,
    relations: tuple[str, ...],
    of_type: str | None,
    best: int | None,
    min_probability: float | None,
    **options: Any,  # noqa: ANN401
) -> Wanted:
    """What to propose, from the options; names in files are looked up."""
    from casegraph.batch.completion import Wanted
    from casegraph.batch.restrictions import (
        known_names,
        known_pairs,
        names_in,
        pairs_in,
    )

    for option in (*NAME_FILES, *PAIR_FILES):
        file = options.pop(option)
        if file is None:
            continue
        if option in NAME_FILES:
            options[option] = known_names(cases, file, names_in(file), note)
        else:
            options[option] = known_pairs(cases, file, pairs_in(file), note)
    if min_probability is None:
        min_probability = 0.5 if best is None else 0.0
    return Wanted(
        relations=tuple(cases.relation(name) for name in relations),
        of_type=of_type or "",
        best=best,
        min_probability=min_probability,
        **options,
    )


@cli.command()
@click.argument("source")
@relations
@click.option(
    "--top", type=int, default=20, show_default=True, help="How many facts to list."
)
@click.option(
    "--explain",
    is_flag=True,
    help="Print up to three reasons for each fact, and for the best new answer.",
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
    """List the least probable facts, each judged as if it were missing.

    \b
    Example:
        casegraph audit world --relations "citizen of" --top 5
    """
    from casegraph.batch.audit import audit as find
    from casegraph.cli.loader import case_base

    cases = case_base(source, chosen(source), read=read)
    names = tuple(cases.relation(name) for name in relations)
    with progress() as show:
        found = find(
            cases,
            relations=names,
            top=top,
            explain=explain,
            executor=executor,
            show=show,
        )
    records = [finding.as_dict() for finding in found]
    columns = tuple(records[0]) if records else AUDIT_SHOWN
    rows = [tuple(record.values()) for record in records]
    if not explain:
        return Result(columns, rows, shown=_audit_shown(columns))

    text = escaped("\n\n".join(map(_paragraph, found)), kept="\n")
    return Result(columns, rows, text=lambda: text)


def _audit_shown(columns: tuple[str, ...]) -> tuple[str, ...]:
    """The columns for people: labels instead of names, if there are any."""
    labels = (f"{column}_label" for column in AUDIT_SHOWN)
    return tuple(
        label if label in columns else column
        for column, label in zip(AUDIT_SHOWN, labels, strict=True)
    )


def _paragraph(found: Finding) -> str:
    """A fact, what speaks for it, and what for the other answer."""
    head = found.head_label or found.head
    relation = found.relation_label or found.relation
    tail = found.tail_label or found.tail
    rank = "" if found.rank is None else f", rank {found.rank}"
    lines = [f"{head} —{relation}→ {tail}  (doubt {found.doubt:.3f}{rank})"]
    lines += [f"      {reason}" for reason in found.reasons]
    if found.instead is not None:
        lines.append(f"  instead {found.instead_label or found.instead}")
        lines += [f"      {reason}" for reason in found.instead_reasons or ()]
    return "\n".join(lines)
