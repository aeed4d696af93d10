"""Commands that write to a store: build, add, retract, compact."""
# ruff: noqa: D301  (click reads \b, a control character, as: keep these lines)

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from casegraph.cli.commands.tune import note_if_too_few
from casegraph.cli.group import cli
from casegraph.cli.options import (
    held_out,
    tune,
    with_executor,
    with_reading,
    with_settings,
)
from casegraph.cli.output import Result, note, with_format
from casegraph.cli.progress import counted, named, progress
from casegraph.errors import CasegraphError, UnreadableFile, several
from casegraph.formats.reading import Facts
from casegraph.graph.batches import Batched, batches_of

EVERY = "Read a stream: write an update after every N lines."
SECONDS = "Read a stream: write an update at most S seconds after a line."
NOT_OF_STREAMS = ("format", "columns", "header", "encoding")
STREAM_LINES = (
    "--from, --columns, --header, --encoding and --names do not go with --every"
)
NO_FACTS = "nodes were given without edges, or only empty files"

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from casegraph.answering.state import Retracted, Update
    from casegraph.cli.loader import Content
    from casegraph.cli.options import Chosen
    from casegraph.cli.reader import Read
    from casegraph.cli.streams import StreamBatch
    from casegraph.execution.executor import Executor
    from casegraph.graph.batches import Batch
    from casegraph.graph.descriptions import Description
    from casegraph.settings import Settings
    from casegraph.storage.store.store import CaseStore


@cli.command()
@click.argument("sources", nargs=-1, required=True)
@click.option(
    "--into",
    "folder",
    required=True,
    metavar="FOLDER",
    help="The folder of the new store.",
)
@tune
@held_out
@with_executor
@with_reading
@with_settings
@with_format
def build(
    sources: tuple[str, ...],
    folder: str,
    *,
    tune: bool,
    held_out: str | None,
    executor: Executor,
    read: Read,
    chosen: Chosen,
) -> Result:
    """Create a store from the facts of SOURCES, tune it, and count what questions need.

    If it is interrupted, the same command continues.

    \b
    Example:
        casegraph build world --into scientists
    """
    from casegraph.cli.loader import content_of

    with _begun(folder, chosen(folder)) as store, progress() as show:
        is_begun = store.sequence > 0
        problem = f"{folder}: is a store already; give its facts with 'casegraph add'"
        if is_begun and store.state.statistics.counted:
            raise CasegraphError(problem)
        described: list[Description] = []
        facts = _facts_of_all(
            (content_of(source, read) for source in sources), described
        )
        if is_begun:
            step = store.state.updated(counted(facts, show))
            if len(step.change) or not step.update.repeated:
                raise CasegraphError(
                    f"{problem}, and count it with 'casegraph compact'"
                )
            note(
                f"{folder}: has these facts already; going on with tuning and counting"
            )
            update = step.update
        else:
            update = store.update(add=counted(facts, show), describe=described)
        try:
            if tune and store.settings.can_be_tuned:
                to_ask_for = (
                    None if held_out is None else content_of(held_out, read).facts
                )
                tuning = store.tune(
                    named(show, "tuning"),
                    held_out=to_ask_for,
                    keep_length=chosen.length_is_given,
                    executor=executor,
                )
                note_if_too_few(held_out, tuning)
            executor.count(store.state, list(range(store.graph.directions)), show)
            store.compact(show)
        except KeyboardInterrupt:
            note(
                f"{folder}: has all facts, but is not counted; the same command continues"
            )
            raise
        if not len(store.graph):
            note(
                f"{folder}: has no facts yet, as {NO_FACTS}; 'casegraph add' adds some"
            )
        else:
            note(
                f"{folder}: is ready; 'casegraph relations {folder}' lists what can be asked"
            )
        return _updated(store, update)


@cli.command()
@click.argument("folder")
@click.argument("sources", nargs=-1, required=True)
@click.option("--every", type=click.IntRange(min=1), metavar="N", help=EVERY)
@click.option("--seconds", type=click.FloatRange(min=0), metavar="S", help=SECONDS)
@with_reading
@with_format
def add(
    folder: str,
    sources: tuple[str, ...],
    *,
    every: int | None,
    seconds: float | None,
    read: Read,
) -> Result:
    """Add the facts of SOURCES (files, or - for standard input) to the store in FOLDER.

    Either all facts are added or none.

    With --every or --seconds, SOURCES are streams that are written as they come: an update is on
    disk when it is printed. A line may begin with + to add its fact or with - to retract it.
    Others may write between two updates.

    \b
    Example:
        casegraph add store people.tsv
        casegraph add store people.tsv --every 1000 --seconds 1
    """
    from casegraph.cli.loader import content_of

    if every is not None or seconds is not None:
        return _add_streams(folder, sources, every, seconds, read)
    with _opened(folder) as store, progress() as show:
        described: list[Description] = []
        facts = _facts_of_all(
            (content_of(source, read) for source in sources), described
        )
        update = store.update(add=counted(facts, show), describe=described)
        return _updated(store, update)


def _add_streams(
    folder: str,
    sources: tuple[str, ...],
    every: int | None,
    seconds: float | None,
    read: Read,
) -> Result:
    """Write the changes of streams as they arrive; notes what each update did."""
    from casegraph.cli.streams import batches_of
    from casegraph.formats.reading import Reading

    if read.names is not None or any(read.options[name] for name in NOT_OF_STREAMS):
        raise click.UsageError(f"the lines of a stream are facts; {STREAM_LINES}")
    store = _opened(folder)
    store.close()
    updates = 0
    lines = 0
    try:
        for source in sources:
            is_strict = read.options["on_error"] == "stop"
            reading = Reading(
                source, is_strict=is_strict, refused=read.options["refused"]
            )
            for batch in batches_of(source, reading, every, seconds):
                update = _written(store, batch)
                updates += 1
                lines += batch.lines
                note(_in_one_line(store, update))
    except KeyboardInterrupt:
        note(
            f"{several(lines, 'line')} of the stream are in the store; those after are not"
        )
        raise
    return Result(("update", "batches", "lines"), [(store.sequence, updates, lines)])


def _written(store: CaseStore, changes: StreamBatch) -> Update:
    """Write changes to a store, which is locked only meanwhile."""
    store.reopen()
    try:
        return store.update(add=changes.added, retract=changes.retracted)
    finally:
        store.close()


@cli.command()
@click.argument("folder")
@click.argument("sources", nargs=-1)
@click.option(
    "--entity",
    "entities",
    multiple=True,
    metavar="NAME",
    help="Retract all facts of this entity; repeatable.",
)
@with_reading
@with_format
def retract(
    folder: str, sources: tuple[str, ...], entities: tuple[str, ...], read: Read
) -> Result:
    """Retract the facts of SOURCES, or all facts of entities, from the store in FOLDER.

    Either all are retracted or none.

    \b
    Example:
        casegraph retract store --entity "Marie Curie"
    """
    from casegraph.cli.loader import content_of

    contents = (content_of(source, read) for source in sources)
    with _opened(folder) as store:
        names = [store.entity(name) for name in entities]
        retracted: Iterable[Retracted] = chain(names, _facts_of_all(contents, []))
        update = store.update(retract=retracted)
        return _updated(store, update)


@cli.command()
@click.argument("folder")
@click.option(
    "--forget-history",
    is_flag=True,
    help="Keep only the present facts, as if they had been added at once.",
)
@with_format
def compact(folder: str, *, forget_history: bool) -> Result:
    """Count what questions need, and rewrite the store in FOLDER so that it opens fast.

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


@contextmanager
def _begun(folder: str, settings: Settings | None) -> Iterator[CaseStore]:
    """A store to build; if that fails before the first update, its files are removed."""
    from casegraph.storage.store.store import CaseStore

    path = Path(folder)
    there_before = set(path.iterdir()) if path.is_dir() else None
    store = CaseStore.open(folder, settings)
    try:
        with store:
            yield store
    except BaseException:
        if store.sequence == 0:
            _remove_new(path, there_before)
        raise


def _remove_new(folder: Path, there_before: set[Path] | None) -> None:
    """Remove the files of a folder that were not there before, and the folder if it was not."""
    for path in set(folder.iterdir()) - (there_before or set()):
        path.unlink()
    if there_before is None:
        folder.rmdir()


def _opened(folder: str) -> CaseStore:
    """An existing store, open for writing."""
    from casegraph.storage.store.restoring import is_store
    from casegraph.storage.store.store import CaseStore

    if not is_store(Path(folder)):
        raise UnreadableFile(folder, "is not a store; make one with 'casegraph build'")
    return CaseStore.open(folder)


def _facts_of_all(contents: Iterable[Content], described: list[Description]) -> Batched:
    """The facts of all sources; fills `described`, and notes what was skipped or left out."""
    return Batched(_batches_of_all(contents, described))


def _batches_of_all(
    contents: Iterable[Content], described: list[Description]
) -> Iterator[Batch]:
    for content in contents:
        yield from batches_of(content.facts)
        described += content.described
        if isinstance(content.facts, Facts):
            for line in _passed_over(content.facts):
                note(line)


def _passed_over(reading: Facts) -> Iterator[str]:
    if reading.skipped:
        yield f"{reading.source}: {several(reading.skipped, 'line')} skipped"
    for what, number in reading.left_out.items():
        yield f"{reading.source}: {what} left out: {number:,}"


def _updated(store: CaseStore, update: Update) -> Result:
    record = {"update": store.sequence, **asdict(update)}
    columns = tuple(record)
    row = tuple(record.values())
    return Result(columns, [row], text=lambda: _in_one_line(store, update))


def _in_one_line(store: CaseStore, update: Update) -> str:
    done = ", ".join(_in_words(update)) or "nothing changed"
    total = several(len(store.graph), "fact")
    return f"update {store.sequence:,}: {done}; {total} in all"


def _in_words(update: Update) -> list[str]:
    """What an update did, as far as it matters to the one who gave the facts."""
    done = [
        (update.added, f"{several(update.added, 'fact')} added"),
        (update.retracted, f"{several(update.retracted, 'fact')} retracted"),
        (update.repeated, f"{update.repeated:,} there already"),
        (update.absent, f"{update.absent:,} to retract not found"),
        (update.new_entities, several(update.new_entities, "new entity")),
        (update.new_relations, several(update.new_relations, "new relation")),
        (update.described, f"{several(update.described, 'label')} or types"),
    ]
    return [words for number, words in done if number]
