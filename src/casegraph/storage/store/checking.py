"""What state the files of a store are in, and what can be saved of one that does not open."""

from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from stat import S_ISREG
from typing import NamedTuple

from casegraph.errors import DamagedStore, IncompatibleFile, UnreadableFile
from casegraph.graph.change import NO_ROWS
from casegraph.graph.facts import Fact
from casegraph.graph.names import Names
from casegraph.settings import Settings
from casegraph.storage.case_files import WRONG, fact_rows, graph_in
from casegraph.storage.disk import is_folder, is_there, read_file
from casegraph.storage.store.log import ACKNOWLEDGED, Log, acknowledged_places, log_path, logs
from casegraph.storage.store.records import (
    Beginning,
    NewNames,
    Position,
    Record,
    beginning_of,
    record_at,
    rows_by_serials,
)
from casegraph.storage.store.restoring import is_store, outcome, read_log, replayed, with_serials
from casegraph.storage.store.snapshots import UNUSABLE, Snapshot, generations, problem, read

NO_NAMES = NewNames(0, [])


class Finding(NamedTuple):
    """A file or generation of a store, its size in bytes, what state it is in, and whether that is damage."""

    file: str
    size: int
    state: str
    damaged: bool = False


class Salvaged(NamedTuple):
    """The facts that can be saved, sorted, and what cannot."""

    facts: list[Fact]
    lost: list[str]


def check(folder: Path) -> list[Finding]:
    """Read everything and compare: digests, the order of updates, and generations with the updates of the log."""
    if not is_store(folder):
        raise UnreadableFile(str(folder), "is not a store; make one with 'casegraph build'")
    log = None
    found = [Finding(ACKNOWLEDGED, size(folder / ACKNOWLEDGED), *_state_of_places(folder))]
    try:
        log = read_log(folder)
        found.append(Finding(log.path.name, len(log.content), _state_of_log(log)))
    except (DamagedStore, IncompatibleFile, UnreadableFile) as error:
        path = Path(error.file if isinstance(error, DamagedStore) else error.source)
        where = f"at byte {error.offset:,}: " if isinstance(error, DamagedStore) else ""
        if path.name != ACKNOWLEDGED or not found[0].damaged:
            found.append(Finding(path.name, size(path), where + error.problem, damaged=True))
        log = None
    return [*found, *(Finding(path.name, size(path), *_state_of(path, log)) for path in generations(folder))]


def salvage(folder: Path) -> Salvaged:
    """The facts after all updates that can be read, the newest whole generation included."""
    store, start, promised = _identity(folder)
    path = log_path(folder, start)
    base = Record(start, 0, NO_NAMES, NO_NAMES, NO_ROWS, NO_ROWS)
    known = _Known({}, {})
    for snapshot in _readable(folder):
        if (snapshot.store, snapshot.start) == (store.hex(), start):
            with suppress(*WRONG):
                graph = with_serials(graph_in(snapshot.arrays), snapshot.arrays)
                rows = rows_by_serials(graph, fact_rows(graph))
                base = Record(snapshot.sequence, 0, NO_NAMES, NO_NAMES, NO_ROWS, rows)
                known = _Known(_by_serial(graph.entities), _by_serial(graph.relations))
                break
    later = [one for one in _records(_content(path), store) if one.sequence > base.sequence]
    kept = [base, *later]
    numbers = [*(one.sequence for one in kept), max(promised, kept[-1].sequence) + 1]
    lost = [
        f"update {first + 1:,}" if first + 2 == last else f"updates {first + 1:,} to {last - 1:,}"
        for first, last in pairwise(numbers)
        if first + 1 < last
    ]
    facts, unnamed = _named(kept, known)
    return Salvaged(sorted(facts), lost + [f"the names of {unnamed:,} facts"] * bool(unnamed))


def size(path: Path) -> int:
    """The bytes of a file, or of all files in a folder; 0 if there is none, or a link in its place."""
    total = 0
    with suppress(FileNotFoundError):  # another process may be removing it
        for file in path.iterdir() if is_folder(path) else [path]:
            status = file.lstat()
            total += status.st_size if S_ISREG(status.st_mode) else 0
    return total


def _places(folder: Path) -> list[Position]:
    """What the places of `acknowledged` say, as far as they can be read."""
    try:
        return [place for place in acknowledged_places(folder) if place is not None]
    except (FileNotFoundError, UnreadableFile):
        return []


def _content(path: Path) -> bytes:
    """The bytes of a file; none if it cannot be read."""
    try:
        return read_file(path)
    except (FileNotFoundError, UnreadableFile):
        return b""


def _state_of_places(folder: Path) -> tuple[str, bool]:
    try:
        whole = [place.sequence for place in acknowledged_places(folder) if place is not None]
    except FileNotFoundError:
        return "is missing, so that nothing says how far the log was acknowledged", True
    except UnreadableFile as error:
        return error.problem, True
    if not whole:
        return "does not say how far the log was acknowledged", True
    half = "" if len(whole) == 2 else "; one of its two places is unreadable, and the next writer renews it"
    return f"up to update {max(whole):,}{half}", False


def _state_of_log(log: Log) -> str:
    written = log.after(log.first)
    end = written[-1].end if written else log.first.size
    torn = f"; {len(log.content) - end:,} bytes of an unfinished update, which the next writer cuts off"
    return f"{len(written):,} updates, whole{torn if end < len(log.content) else ''}"


def _state_of(generation: Path, log: Log | None) -> tuple[str, bool]:
    try:
        snapshot = read(generation)
    except UNUSABLE as error:
        if not is_there(generation):
            return "just removed by another process", False
        return f"{problem(error)}; not used, and made anew by 'casegraph compact'", True
    if snapshot is None:
        return "of another format; not used, and made anew by 'casegraph compact'", False
    if log is None or (position := snapshot.position(log)) is None:
        return f"whole, after update {snapshot.sequence:,}", False
    earlier = [one.record for one in log.after(log.first) if one.record.sequence <= position.sequence]
    try:
        agrees = set(graph_in(snapshot.arrays).facts()) == set(replayed(None, earlier, Settings()).graph.facts())
    except WRONG as error:
        return f"its content does not fit together ({error})", True
    state = "as the log says" if agrees else "with other facts than the log has; report this as a bug of casegraph"
    return f"whole, after update {snapshot.sequence:,}, {state}", not agrees


def _identity(folder: Path) -> tuple[bytes, int, int]:
    """The id of a store, where its log starts and how far it was acknowledged, from the first file that says so."""
    places = _places(folder)
    if places:
        store, start, sequence, *_ = max(places, key=lambda place: place.sequence)
        return store, start, sequence
    for path in logs(folder):
        if isinstance(begins := beginning_of(_content(path)), Beginning):
            return begins.store, begins.start, 0
    for snapshot in _readable(folder):
        with suppress(ValueError):
            return bytes.fromhex(snapshot.store), snapshot.start, snapshot.sequence
    raise UnreadableFile(str(folder), "holds nothing that can be saved; restore it from a copy")


def _readable(folder: Path) -> Iterator[Snapshot]:
    for path in generations(folder):
        try:
            found = read(path)
        except UNUSABLE:
            continue
        if found is not None:
            yield found


def _records(content: bytes, store: bytes) -> Iterator[Record]:
    """Every whole record, wherever it is."""
    offset = content.find(store)
    while offset >= 0:
        written = record_at(content, offset, store)
        if written is not None:
            yield written.record
        offset = content.find(store, offset + 1 if written is None else written.end)


class _Known(NamedTuple):
    """The names of entities and of relations, by serial number."""

    entities: dict[int, str]
    relations: dict[int, str]


def _by_serial(names: Names) -> dict[int, str]:
    return dict(zip(names.serials().tolist(), names.names, strict=True))


def _named(records: list[Record], known: _Known) -> tuple[list[Fact], int]:
    """The facts that are left after records, and how many have a name that is nowhere."""
    entities, relations = known
    for record in records:
        entities.update(enumerate(record.entities.names, record.entities.first))
        relations.update(enumerate(record.relations.names, record.relations.first))
    rows = outcome(records)[0].tolist()
    facts = [
        Fact(entities[head], relations[relation >> 1], entities[tail])
        for head, relation, tail in rows
        if head in entities and relation >> 1 in relations and tail in entities
    ]
    return facts, len(rows) - len(facts)
