"""Commands for stores: build, add, retract, info, check, salvage, compact, export, log."""
# ruff: noqa: D301  (click reads \b, a control character, as: keep these lines)

from __future__ import annotations

from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from casegraph.cli.group import as_of, cli, tune, with_reading, with_settings
from casegraph.cli.output import Result, note, with_format
from casegraph.cli.progress import counted, progress
from casegraph.errors import CasegraphError, UnreadableFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from casegraph.answering.state import Retracted, Update
    from casegraph.cli.group import Chosen, Read
    from casegraph.graph.facts import Fact
    from casegraph.storage.store.store import CaseStore


@cli.command()
@click.argument("sources", nargs=-1, required=True)
@click.option("--into", "folder", required=True, metavar="FOLDER", help="The store to make.")
@tune
@with_reading
@with_settings
@with_format
def build(
    sources: tuple[str, ...], folder: str, *, tune: bool, read: Read, chosen: Chosen
) -> Result:
    """Make a store of the facts of SOURCES, tune it, and count everything that questions need.

    \b
    Example:
        casegraph build world --into scientists
    """
    from casegraph.cli.sources import facts_of
    from casegraph.storage.store.store import CaseStore

    with CaseStore.open(folder, chosen(folder)) as store, progress() as show:
        if store.sequence:
            raise CasegraphError(
                f"{folder}: is a store already; give its facts with 'casegraph add'"
            )
        facts = chain.from_iterable(facts_of(source, read) for source in sources)
        update = store.update(add=counted(facts, show))
        if tune and store.settings.can_be_tuned:
            store.tune(show, keep_length=chosen.length_is_given)
        store.compact(show)
        return _updated(store, update)


@cli.command()
@click.argument("folder")
@click.argument("sources", nargs=-1, required=True)
@with_reading
@with_format
def add(folder: str, sources: tuple[str, ...], read: Read) -> Result:
    """Add the facts of SOURCES, files or - for standard input, to the store in FOLDER, all or none.

    \b
    Example:
        casegraph add store people.tsv
    """
    with _opened(folder) as store, progress() as show:
        update = store.update(add=counted(_facts_of_all(sources, read), show))
        return _updated(store, update)


@cli.command()
@click.argument("folder")
@click.argument("sources", nargs=-1)
@click.option(
    "--entity", "entities", multiple=True, metavar="NAME", help="Retract all facts of an entity."
)
@with_reading
@with_format
def retract(folder: str, sources: tuple[str, ...], entities: tuple[str, ...], read: Read) -> Result:
    """Retract the facts of SOURCES, and all facts of entities, from the store in FOLDER, all or
    none.

    \b
    Example:
        casegraph retract store --entity "Marie Curie"
    """
    retracted: Iterable[Retracted] = chain(entities, _facts_of_all(sources, read))
    with _opened(folder) as store:
        update = store.update(retract=retracted)
        return _updated(store, update)


@cli.command()
@click.argument("folder")
@with_format
def info(folder: str) -> Result:
    """Say how much the store in FOLDER holds, what is largest in it, and what it takes on disk.

    \b
    Example:
        casegraph info store
    """
    from casegraph.storage.store.describing import described
    from casegraph.storage.store.store import CaseStore

    store = CaseStore.open(folder, read_only=True)
    return Result(("what", "which", "number"), list(described(store)))


@cli.command()
@click.argument("folder")
@with_format
def check(folder: str) -> Result:
    """Read all files of the store in FOLDER, and say what state they are in.

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
    """Write the facts that can be saved of a damaged store to FILE, or to standard output, and say
    what is lost.

    \b
    Example:
        casegraph salvage store
    """
    from casegraph.graph.facts import write_facts
    from casegraph.storage.store.checking import salvage as salvaged

    saved = salvaged(Path(folder))
    written = write_facts(saved.facts, file)
    lost = ", ".join(saved.lost) or "nothing"
    note(f"{written:,} facts saved; lost: {lost}")


@cli.command()
@click.argument("folder")
@click.option(
    "--forget-history",
    is_flag=True,
    help="Keep only the present facts, as if they had come at once.",
)
@with_format
def compact(folder: str, *, forget_history: bool) -> Result:
    """Count everything that questions need, and write the store in FOLDER anew, so that it opens
    fast.

    \b
    Example:
        casegraph compact store
    """
    from casegraph.storage.store.checking import size

    before = size(Path(folder))
    with _opened(folder) as store, progress() as show:
        store.compact(show, forget_history=forget_history)
        row = (store.sequence, len(store.graph), before, size(Path(folder)))
    return Result(("update", "facts", "bytes_before", "bytes"), [row])


@cli.command()
@click.argument("folder")
@click.argument("file", default="-")
@as_of
def export(folder: str, file: str, as_of: int | None) -> None:
    """Write the facts of the store in FOLDER to FILE, or to standard output: sorted, tab-separated.

    \b
    Example:
        casegraph export store
    """
    from casegraph.graph.facts import write_facts
    from casegraph.storage.store.store import CaseStore

    store = CaseStore.open(folder, read_only=True, as_of=as_of)
    write_facts(store.graph.facts(), file)


@cli.command()
@click.argument("folder")
@click.option(
    "--since",
    type=int,
    default=0,
    show_default=True,
    metavar="N",
    help="Only what came or went after N.",
)
@with_format
def log(folder: str, since: int) -> Result:
    """List the facts that came (+) and went (-), with the number of the update and its time.

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


def _opened(folder: str) -> CaseStore:
    """A store that is there, to write to."""
    from casegraph.storage.store.restoring import is_store
    from casegraph.storage.store.store import CaseStore

    if not is_store(Path(folder)):
        raise UnreadableFile(folder, "is not a store; make one with 'casegraph build'")
    return CaseStore.open(folder)


def _facts_of_all(sources: tuple[str, ...], read: Read) -> Iterator[Fact]:
    """The facts of all files; says how many lines were skipped."""
    for source in sources:
        reading = read(source)
        yield from reading
        if reading.skipped:
            note(f"{source}: {reading.skipped:,} lines skipped")


def _updated(store: CaseStore, update: Update) -> Result:
    record = {"update": store.sequence, **asdict(update)}
    return Result(tuple(record), [tuple(record.values())])
