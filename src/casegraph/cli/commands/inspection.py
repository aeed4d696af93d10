"""Commands that read a store: watch, info, check, salvage, export, log."""
# ruff: noqa: D301  (click reads \b, a control character, as: keep these lines)

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from casegraph.cli.group import cli
from casegraph.cli.options import as_of, with_columns
from casegraph.cli.output import Result, escaped, note, with_format
from casegraph.errors import several

if TYPE_CHECKING:
    from casegraph.cli.reader import Read

POLLING = 0.5  # seconds between two looks at a store
WRITTEN = ("tsv", "csv", "jsonl", "nt", "ttl", "parquet", "kgx", "neo4j")


@cli.command()
@click.argument("folder")
@click.option(
    "--since",
    type=int,
    metavar="N",
    help="Start after update N; by default with the next one.",
)
@click.option(
    "--for",
    "duration",
    type=float,
    metavar="S",
    help="Stop after S seconds; by default never.",
)
def watch(folder: str, since: int | None, duration: float | None) -> None:
    """Print facts as they are added to (+) and retracted from (-) the store in FOLDER.

    The lines are tab-separated; 'casegraph add --every' reads them into another store.

    \b
    Example:
        casegraph watch store --since 0 --for 0
    """
    from time import monotonic, sleep

    from casegraph.storage.store.restoring import read_log
    from casegraph.storage.store.store import events_in

    log = read_log(Path(folder))
    seen = log.acknowledged.sequence if since is None else since
    started = monotonic()
    while True:
        until = log.acknowledged.sequence
        for event in events_in(log, seen, until):
            click.echo("\t".join([event.sign, *map(escaped, event.fact)]))
        seen = max(seen, until)
        if duration is not None and monotonic() - started >= duration:
            return
        sleep(POLLING)
        log = read_log(Path(folder))


@cli.command()
@click.argument("source")
@with_columns
@with_format
def info(source: str, read: Read) -> Result:
    """Show the size of SOURCE, what is largest in it, and the space that a store takes on disk.

    \b
    Example:
        casegraph info store
    """
    from casegraph.cli.loader import case_base
    from casegraph.summary import summary

    cases = case_base(source, read=read)
    return Result(("what", "which", "number"), summary(cases))


@cli.command()
@click.argument("folder")
@with_format
def check(folder: str) -> Result:
    """Read all files of the store in FOLDER, and report damage.

    The exit code is 1 if any is damaged.

    \b
    Example:
        casegraph check store
    """
    from casegraph.storage.store.checking import check as checked

    found = checked(Path(folder))
    rows = [(file.file, file.size, file.damaged, file.state) for file in found]
    is_damaged = any(file.damaged for file in found)
    return Result(("file", "bytes", "damaged", "state"), rows, failed=is_damaged)


@cli.command()
@click.argument("folder")
@click.argument("file", default="-")
def salvage(folder: str, file: str) -> None:
    """Write the facts of a damaged store that can still be read to FILE, or to standard output.

    Reports what is lost.

    \b
    Example:
        casegraph salvage store
    """
    from casegraph.formats.writing import write_facts
    from casegraph.storage.store.checking import salvage as salvaged

    saved = salvaged(Path(folder))
    written = write_facts(saved.facts, file, described=saved.described)
    lost = ", ".join(saved.lost) or "nothing"
    note(f"{several(written, 'fact')} saved; lost: {lost}")


@cli.command()
@click.argument("folder")
@click.argument("file", default="-")
@click.option(
    "--to",
    "--format",
    "form",
    type=click.Choice(WRITTEN),
    help="The format; by default from the ending.",
)
@as_of
def export(folder: str, file: str, form: Any, as_of: int | None) -> None:  # noqa: ANN401
    """Write the facts of the store in FOLDER to FILE, or to standard output, sorted.

    The ending of FILE decides the format: .tsv, .csv, .jsonl, .nt, .ttl, .parquet. Labels and
    types are written too: to the same file, or to one beside it.

    \b
    Example:
        casegraph export store
        casegraph export store graph.nt
    """
    from casegraph.formats.writing import write_facts, written_files
    from casegraph.storage.store.store import CaseStore

    store = CaseStore.open(folder, read_only=True, as_of=as_of)
    number = write_facts(
        store.graph.facts(), file, format=form, described=store.descriptions
    )
    if file != "-":
        written = written_files(file, form, described=len(store.descriptions) > 0)
        note(f"{several(number, 'fact')} written to {' and '.join(map(str, written))}")


@cli.command()
@click.argument("folder")
@click.option(
    "--since",
    type=int,
    default=0,
    show_default=True,
    metavar="N",
    help="Only changes after update N.",
)
@with_format
def log(folder: str, since: int) -> Result:
    """List the facts that were added (+) and retracted (-), with update number and time.

    \b
    Example:
        casegraph log store --since 1
    """
    from casegraph.storage.store.store import CaseStore

    store = CaseStore.open(folder, read_only=True)
    rows = []
    for event in store.history(since):
        time = event.time.isoformat(timespec="seconds")
        rows.append((event.sequence, time, event.sign, *event.fact))
    return Result(("update", "time", "change", "head", "relation", "tail"), rows)
