"""Commands for stores: build, add, retract, watch, info, check, salvage, compact, export, log."""
# ruff: noqa: D301  (click reads \b, a control character, as: keep these lines)

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from casegraph.cli.group import as_of, cli, tune, with_columns, with_reading, with_settings
from casegraph.cli.output import Result, escaped, note, with_format
from casegraph.cli.progress import counted, progress
from casegraph.errors import CasegraphError, UnreadableFile, several
from casegraph.formats.reading import Facts
from casegraph.graph.batches import Batched, batches_of

EVERY = "Write an update after every N lines of a stream."
SECONDS = "Write an update at the latest S seconds after a line came."
NOT_OF_STREAMS = ("format", "columns", "header")
STREAM_LINES = "--from, --columns, --header and --names go without --every and --seconds"
POLLING = 0.5  # seconds between two looks at a store
WRITTEN = ("tsv", "csv", "jsonl", "nt", "ttl", "parquet", "kgx", "neo4j")

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from casegraph.answering.state import Retracted, Update
    from casegraph.cli.group import Chosen
    from casegraph.cli.reading import Read
    from casegraph.cli.sources import Content
    from casegraph.graph.batches import Batch
    from casegraph.graph.descriptions import Description
    from casegraph.settings import Settings
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

    If it is interrupted, the same command goes on.

    \b
    Example:
        casegraph build world --into scientists
    """
    from casegraph.cli.sources import content_of
    from casegraph.storage.store.generations import generation_paths

    with _begun(folder, chosen(folder)) as store, progress() as show:
        is_begun = store.sequence > 0
        problem = f"{folder}: is a store already; give its facts with 'casegraph add'"
        if is_begun and generation_paths(Path(folder)):
            raise CasegraphError(problem)
        described: list[Description] = []
        facts = _facts_of_all((content_of(source, read) for source in sources), described)
        if is_begun:
            step = store.state.updated(counted(facts, show))
            if len(step.change) or not step.update.repeated:
                raise CasegraphError(f"{problem}, and count it with 'casegraph compact'")
            note(f"{folder}: has these facts already; going on with tuning and counting")
            update = step.update
        else:
            update = store.update(add=counted(facts, show), describe=described)
        if tune and store.settings.can_be_tuned:
            store.tune(show, keep_length=chosen.length_is_given)
        store.compact(show)
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
    """Add the facts of SOURCES, files or - for standard input, to the store in FOLDER, all or none.

    With --every or --seconds, SOURCES are streams: what came is written as it comes, and every
    update is on disk when it is printed. A line may then begin with + to add its fact or with - to
    retract it. Between two updates others may write.

    \b
    Example:
        casegraph add store people.tsv
        casegraph add store people.tsv --every 1000 --seconds 1
    """
    from casegraph.cli.sources import content_of

    if every is not None or seconds is not None:
        return _add_streams(folder, sources, every, seconds, read)
    with _opened(folder) as store, progress() as show:
        described: list[Description] = []
        facts = _facts_of_all((content_of(source, read) for source in sources), described)
        update = store.update(add=counted(facts, show), describe=described)
        return _updated(store, update)


def _add_streams(
    folder: str, sources: tuple[str, ...], every: int | None, seconds: float | None, read: Read
) -> Result:
    """Write what streams say as it comes; says what each update did, and at the end how many."""
    from casegraph.cli.streams import batches_of
    from casegraph.formats.reading import Reading

    if read.names is not None or any(read.options[name] for name in NOT_OF_STREAMS):
        raise click.UsageError(f"the lines of a stream are facts; {STREAM_LINES}")
    store = _opened(folder)
    store.close()
    updates = 0
    lines = 0
    for source in sources:
        is_strict = read.options["on_error"] == "stop"
        reading = Reading(source, is_strict=is_strict, refused=read.options["refused"])
        for batch in batches_of(source, reading, every, seconds):
            store.reopen()
            try:
                update = store.update(add=batch.added, retract=batch.retracted)
            finally:
                store.close()
            updates += 1
            lines += batch.lines
            note(_in_one_line(store, update))
    return Result(("update", "batches", "lines"), [(store.sequence, updates, lines)])


@cli.command()
@click.argument("folder")
@click.option(
    "--since", type=int, metavar="N", help="Begin after update N; else with the next one."
)
@click.option("--for", "duration", type=float, metavar="S", help="End after S seconds; else never.")
def watch(folder: str, since: int | None, duration: float | None) -> None:
    """Print the facts that come (+) and go (-) in the store in FOLDER, as they do.

    The lines are tab-separated and can be given to casegraph add --every of another store.

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
    from casegraph.cli.sources import content_of

    contents = (content_of(source, read) for source in sources)
    with _opened(folder) as store:
        names = [store.entity(name) for name in entities]
        retracted: Iterable[Retracted] = chain(names, _facts_of_all(contents, []))
        update = store.update(retract=retracted)
        if update.absent:
            note(f"{update.absent:,} of what was to be retracted was not there")
        return _updated(store, update)


@cli.command()
@click.argument("source")
@with_columns
@with_format
def info(source: str, read: Read) -> Result:
    """Say how much SOURCE holds and what is largest in it; of a store, also what it takes on disk.

    \b
    Example:
        casegraph info store
    """
    from casegraph.cli.sources import case_base
    from casegraph.storage.store.describing import described

    cases = case_base(source, read=read)
    return Result(("what", "which", "number"), described(cases))


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
    from casegraph.formats.writing import write_facts
    from casegraph.storage.store.checking import salvage as salvaged

    saved = salvaged(Path(folder))
    written = write_facts(saved.facts, file, described=saved.described)
    lost = ", ".join(saved.lost) or "nothing"
    note(f"{several(written, 'fact')} saved; lost: {lost}")


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
@click.option("--to", "form", type=click.Choice(WRITTEN), help="The format; else by the ending.")
@as_of
def export(folder: str, file: str, form: Any, as_of: int | None) -> None:  # noqa: ANN401
    """Write the facts of the store in FOLDER to FILE, or to standard output: sorted.

    The ending of FILE says how: .tsv, .csv, .jsonl, .nt, .ttl, .parquet. What entities are called
    goes with them: in the same file, or in one beside it.

    \b
    Example:
        casegraph export store
        casegraph export store graph.nt
    """
    from casegraph.formats.writing import write_facts, written_files
    from casegraph.storage.store.store import CaseStore

    store = CaseStore.open(folder, read_only=True, as_of=as_of)
    number = write_facts(store.graph.facts(), file, format=form, described=store.descriptions)
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


@contextmanager
def _begun(folder: str, settings: Settings | None) -> Iterator[CaseStore]:
    """A store to build; if that fails before it has any fact, there is no trace of it."""
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
    """A store that is there, to write to."""
    from casegraph.storage.store.restoring import is_store
    from casegraph.storage.store.store import CaseStore

    if not is_store(Path(folder)):
        raise UnreadableFile(folder, "is not a store; make one with 'casegraph build'")
    return CaseStore.open(folder)


def _facts_of_all(contents: Iterable[Content], described: list[Description]) -> Batched:
    """The facts of all sources; fills `described`, and says what was skipped or left out."""
    return Batched(_batches_of_all(contents, described))


def _batches_of_all(contents: Iterable[Content], described: list[Description]) -> Iterator[Batch]:
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
        yield f"{reading.source}: {number:,} {what} left out"


def _updated(store: CaseStore, update: Update) -> Result:
    record = {"update": store.sequence, **asdict(update)}

    return Result(tuple(record), [tuple(record.values())], text=lambda: _in_one_line(store, update))


def _in_one_line(store: CaseStore, update: Update) -> str:
    done = ", ".join(_in_words(update)) or "nothing changed"
    total = several(len(store.graph), "fact")
    return f"update {store.sequence:,}: {done}; {total} in all"


def _in_words(update: Update) -> list[str]:
    """What an update did that concerns the one who gave the facts."""
    done = [
        (update.added, f"{several(update.added, 'fact')} added"),
        (update.retracted, f"{several(update.retracted, 'fact')} retracted"),
        (update.repeated, f"{update.repeated:,} there already"),
        (update.absent, f"{update.absent:,} not there"),
        (update.new_entities, several(update.new_entities, "new entity")),
        (update.new_relations, several(update.new_relations, "new relation")),
        (update.described, f"{update.described:,} described"),
    ]
    return [words for number, words in done if number]
