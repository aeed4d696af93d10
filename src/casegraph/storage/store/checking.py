"""Checking the files of a store, and recovering facts from a damaged one."""

from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from stat import S_ISREG
from typing import NamedTuple

from casegraph.disk import is_folder, is_there, read_file
from casegraph.errors import DamagedStore, IncompatibleFile, UnreadableFile
from casegraph.graph.descriptions import NO_DESCRIPTIONS, Descriptions
from casegraph.graph.facts import Fact
from casegraph.graph.graph import Graph
from casegraph.settings import Settings
from casegraph.storage.array_files import CONTENT_ERRORS
from casegraph.storage.case_files import descriptions_in, graph_from
from casegraph.storage.store import tuned_settings
from casegraph.storage.store.generations import (
    GENERATION_ERRORS,
    Generation,
    generation_paths,
    problem,
    read,
)
from casegraph.storage.store.log import (
    ACKNOWLEDGED,
    Log,
    acknowledged_slots,
    log_path,
    log_paths,
)
from casegraph.storage.store.records import (
    Record,
    beginning_of,
    record_at,
)
from casegraph.storage.store.restoring import (
    apply,
    is_store,
    read_log,
    replayed,
)


class FileState(NamedTuple):
    """A file or a generation of a store.

    size     in bytes
    state    what state it is in, in words
    damaged  whether that is damage
    """

    file: str
    size: int
    state: str
    damaged: bool = False


class Salvaged(NamedTuple):
    """The facts that can be saved, sorted, what is lost, in words, and the labels and types."""

    facts: list[Fact]
    lost: list[str]
    described: Descriptions


def check(folder: Path) -> list[FileState]:
    """Read every file of a store and check it.

    Checked are all digests, the order of the updates, and that every generation has the facts which
    the updates of the log lead to.
    """
    if not is_store(folder):
        raise UnreadableFile(
            str(folder), "is not a store; make one with 'casegraph build'"
        )

    findings = [_check_acknowledged(folder)]
    log = None
    try:
        log, finding = _check_log(folder)
        findings.append(finding)
    except (DamagedStore, IncompatibleFile, UnreadableFile) as error:
        finding = _finding_of(error)
        is_known_already = finding.file == ACKNOWLEDGED and findings[0].damaged
        if not is_known_already:
            findings.append(finding)

    if is_there(folder / tuned_settings.NAME):
        findings.append(_check_settings(folder, log))
    for path in generation_paths(folder):
        state, damaged = _state_of_generation(path, log)
        findings.append(FileState(path.name, size(path), state, damaged))
    return findings


def salvage(folder: Path) -> Salvaged:
    """The facts after all updates that can be read.

    They come from the newest readable generation, and from every readable record after it, even if
    records between them cannot be read.
    """
    identity = _identity(folder)
    graph, descriptions, sequence = _readable_base(folder, identity)
    content = _content(log_path(folder, identity.start))
    found = _all_records(content, identity.store)
    records = [record for record in found if record.sequence > sequence]
    apply(graph, records)

    numbers = [sequence, *(record.sequence for record in records)]
    lost = _lost_updates(numbers, identity.acknowledged)
    described = [description for record in records for description in record.described]
    return Salvaged(sorted(graph.facts()), lost, descriptions.replaced(described))


def size(path: Path) -> int:
    """The bytes of a file, or of all files in a folder and the folders in it.

    0 if it is missing or a link.
    """
    with suppress(FileNotFoundError):  # another process may be removing it
        if is_folder(path):
            return sum(size(within) for within in path.iterdir())
        status = path.lstat()
        if S_ISREG(status.st_mode):
            return status.st_size
    return 0


def _check_acknowledged(folder: Path) -> FileState:
    path = folder / ACKNOWLEDGED
    state, damaged = _state_of_acknowledged(folder)
    return FileState(path.name, size(path), state, damaged)


def _state_of_acknowledged(folder: Path) -> tuple[str, bool]:
    """What state `acknowledged` is in, in words, and whether that is damage."""
    try:
        slots = acknowledged_slots(folder)
    except FileNotFoundError:
        return "is missing, so that nothing says how far the log was acknowledged", True
    except UnreadableFile as error:
        return error.problem, True
    sequences = [slot.sequence for slot in slots if slot is not None]
    if not sequences:
        return "does not say how far the log was acknowledged", True
    state = f"up to update {max(sequences):,}"
    if len(sequences) == 1:
        state += "; one of its two places is unreadable, and the next writer renews it"
    return state, False


def _check_log(folder: Path) -> tuple[Log, FileState]:
    """The log and what state it is in; one of our errors is raised if it is damaged."""
    log = read_log(folder)
    logged = log.after(log.first)
    end = logged[-1].end if logged else log.first.size
    state = f"{len(logged):,} updates, whole"
    torn = len(log.content) - end
    if torn > 0:
        state += (
            f"; {torn:,} bytes of an unfinished update, which the next writer cuts off"
        )
    return log, FileState(log.path.name, len(log.content), state)


def _check_settings(folder: Path, log: Log | None) -> FileState:
    """What state the settings are in that a store was tuned to."""
    path = folder / tuned_settings.NAME
    if log is None:
        return FileState(path.name, size(path), "not used while the log is damaged")
    try:
        tuned_settings.read(folder, log.beginning.store)
    except tuned_settings.ERRORS as error:
        state = f"{error}; not used, and rebuilt by 'casegraph tune'"
        return FileState(path.name, size(path), state, damaged=True)
    return FileState(path.name, size(path), "whole")


def _finding_of(error: DamagedStore | IncompatibleFile | UnreadableFile) -> FileState:
    """The file that an error names, and what the error says about it."""
    if isinstance(error, DamagedStore):
        path = Path(error.file)
        state = f"at byte {error.offset:,}: {error.problem}"
    else:
        path = Path(error.source)
        state = error.problem
    return FileState(path.name, size(path), state, damaged=True)


def _state_of_generation(path: Path, log: Log | None) -> tuple[str, bool]:
    """What state a generation is in, in words, and whether that is damage."""
    try:
        generation = read(path)
    except GENERATION_ERRORS as error:
        if not is_there(path):
            return "just removed by another process", False
        return f"{problem(error)}; not used, and rebuilt by 'casegraph compact'", True
    if generation is None:
        return (
            "of another format; not used, and rebuilt by 'casegraph compact'",
            False,
        )

    if log is None or generation.position_in(log) is None:
        return f"whole, after update {generation.sequence:,}", False
    return _compared_with_log(generation, log)


def _compared_with_log(generation: Generation, log: Log) -> tuple[str, bool]:
    """What state a readable generation of this log is in, in words, and whether that is damage."""
    try:
        agrees = _has_the_facts_of(log, generation)
    except CONTENT_ERRORS as error:
        return f"its content does not fit together ({error})", True
    state = "as the log says"
    if not agrees:
        state = "with other facts than the log has; report this as a bug of casegraph"
    return f"whole, after update {generation.sequence:,}, {state}", not agrees


def _has_the_facts_of(log: Log, generation: Generation) -> bool:
    """Whether a generation has the facts that the updates of the log lead to."""
    records = [logged.record for logged in log.after(log.first)]
    earlier = [record for record in records if record.sequence <= generation.sequence]
    expected = replayed(None, earlier, Settings()).graph
    found = graph_from(generation.arrays)
    return set(found.facts()) == set(expected.facts())


class _Identity(NamedTuple):
    """The id of a store, the update after which its log starts, the last acknowledged update."""

    store: bytes
    start: int
    acknowledged: int


def _identity(folder: Path) -> _Identity:
    """The identity of a store, from the first file that can be read and says it."""
    with suppress(FileNotFoundError, UnreadableFile):
        intact = [slot for slot in acknowledged_slots(folder) if slot is not None]
        if intact:
            last = max(intact, key=lambda position: position.sequence)
            return _Identity(last.store, last.start, last.sequence)
    for path in log_paths(folder):
        beginning = beginning_of(_content(path))
        if beginning is not None:
            return _Identity(beginning.store, beginning.start, acknowledged=0)
    for generation in _readable_generations(folder):
        with suppress(ValueError):
            store = bytes.fromhex(generation.store)
            return _Identity(store, generation.start, generation.sequence)
    raise UnreadableFile(
        str(folder), "holds nothing that can be saved; restore it from a copy"
    )


def _content(path: Path) -> bytes:
    """The content of a file; empty if it cannot be read."""
    try:
        return read_file(path)
    except (FileNotFoundError, UnreadableFile):
        return b""


def _readable_generations(folder: Path) -> Iterator[Generation]:
    for path in generation_paths(folder):
        try:
            found = read(path)
        except GENERATION_ERRORS:
            continue
        if found is not None:
            yield found


def _readable_base(
    folder: Path, identity: _Identity
) -> tuple[Graph, Descriptions, int]:
    """The graph and the descriptions of the newest readable generation, and its last update.

    Without one, those before the first update of the log.
    """
    for generation in _readable_generations(folder):
        if (generation.store, generation.start) != (
            identity.store.hex(),
            identity.start,
        ):
            continue
        with suppress(*CONTENT_ERRORS):
            graph = graph_from(generation.arrays)
            return graph, descriptions_in(generation.arrays), generation.sequence
    return Graph(), NO_DESCRIPTIONS, identity.start


def _all_records(content: bytes, store: bytes) -> Iterator[Record]:
    """Every complete record of a store, wherever it is: each starts with the id of the store."""
    offset = content.find(store)
    while offset >= 0:
        logged = record_at(content, offset, store)
        if logged is None:
            offset = content.find(store, offset + 1)
        else:
            yield logged.record
            offset = content.find(store, logged.end)


def _lost_updates(numbers: list[int], acknowledged: int) -> list[str]:
    """The gaps between the numbers of updates, up to the last acknowledged one, in words."""
    end = max(acknowledged, numbers[-1]) + 1
    lost = []
    for before, after in pairwise([*numbers, end]):
        first = before + 1
        last = after - 1
        if first == last:
            lost.append(f"update {first:,}")
        elif first < last:
            lost.append(f"updates {first:,} to {last:,}")
    return lost
