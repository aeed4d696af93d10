"""What state the files of a store are in, and what can be saved of one that does not open."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from casegraph.edges import NO_ROWS
from casegraph.errors import DamagedStore, IncompatibleFile, UnreadableFile
from casegraph.facts import Fact
from casegraph.names import Names
from casegraph.saving import fact_rows, graph_in
from casegraph.settings import Settings
from casegraph.store.log import ACKNOWLEDGED, Log, acknowledged_places, log_path, logs
from casegraph.store.records import Beginning, NewNames, Position, Record, beginning_of, record_at, rows_by_serials
from casegraph.store.restoring import is_store, outcome, read_log, replayed, state_of
from casegraph.store.snapshots import UNUSABLE, Snapshot, generations, read

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
    places, log = _places(folder), None
    found = [Finding(ACKNOWLEDGED, size(folder / ACKNOWLEDGED), *_state_of_places(places))]
    try:
        log = read_log(folder)
        found.append(Finding(log.path.name, len(log.content), _state_of_log(log)))
    except (DamagedStore, IncompatibleFile) as error:
        path = Path(error.file if isinstance(error, DamagedStore) else error.source)
        problem = f"at byte {error.offset:,}: {error.problem}" if isinstance(error, DamagedStore) else error.problem
        if path.name != ACKNOWLEDGED or not found[0].damaged:
            found.append(Finding(path.name, size(path), problem, damaged=True))
        log = None
    return [*found, *(Finding(path.name, size(path), *_state_of(path, log)) for path in generations(folder))]


def salvage(folder: Path) -> Salvaged:
    """The facts after all updates that can be read, the newest whole generation included."""
    store, start, promised = _identity(folder)
    path = log_path(folder, start)
    newest = next((one for one in _readable(folder) if (one.store, one.start) == (store.hex(), start)), None)
    base = Record(start, 0, NO_NAMES, NO_NAMES, NO_ROWS, NO_ROWS) if newest is None else _as_record(newest)
    later = [
        one for one in _records(path.read_bytes() if path.exists() else b"", store) if one.sequence > base.sequence
    ]
    kept = [base, *later]
    numbers = [*(one.sequence for one in kept), max(promised, kept[-1].sequence) + 1]
    lost = [
        f"update {first + 1:,}" if first + 2 == last else f"updates {first + 1:,} to {last - 1:,}"
        for first, last in pairwise(numbers)
        if first + 1 < last
    ]
    facts, unnamed = _named(kept, _Known.of(newest))
    return Salvaged(sorted(facts), lost + [f"the names of {unnamed:,} facts"] * bool(unnamed))


def size(path: Path) -> int:
    """The bytes of a file, or of all files below a folder; 0 if there is none."""
    return sum(file.stat().st_size for file in [path, *path.rglob("*")] if file.is_file())


def _places(folder: Path) -> list[Position | None]:
    try:
        return acknowledged_places(folder)
    except FileNotFoundError:
        return [None, None]


def _state_of_places(places: list[Position | None]) -> tuple[str, bool]:
    whole = [place.sequence for place in places if place is not None]
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
    except FileNotFoundError:
        return "half removed; the next 'casegraph compact' removes the rest", False
    except UNUSABLE as error:
        return f"{error}; not used, and made anew by 'casegraph compact'", True
    if snapshot is None:
        return "of another format; not used, and made anew by 'casegraph compact'", False
    if log is None or (position := snapshot.position(log)) is None:
        return f"whole, after update {snapshot.sequence:,}", False
    earlier = [one.record for one in log.after(log.first) if one.record.sequence <= position.sequence]
    agrees = set(graph_in(snapshot.arrays).facts()) == set(replayed(None, earlier, Settings()).graph.facts())
    state = "as the log says" if agrees else "with other facts than the log has; report this as a bug of casegraph"
    return f"whole, after update {snapshot.sequence:,}, {state}", not agrees


def _identity(folder: Path) -> tuple[bytes, int, int]:
    """The id of a store, where its log starts and how far it was acknowledged, from the first file that says so."""
    places = [place for place in _places(folder) if place is not None]
    if places:
        store, start, sequence, *_ = max(places, key=lambda place: place.sequence)
        return store, start, sequence
    for path in logs(folder):
        if isinstance(begins := beginning_of(path.read_bytes()), Beginning):
            return begins.store, begins.start, 0
    for snapshot in _readable(folder):
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


def _as_record(snapshot: Snapshot) -> Record:
    """All facts of a generation, as if they had come at once; their names are those of `_names_of`."""
    graph = state_of(snapshot, Settings()).graph
    return Record(snapshot.sequence, 0, NO_NAMES, NO_NAMES, NO_ROWS, rows_by_serials(graph, fact_rows(graph)))


class _Known(NamedTuple):
    """The names of entities and of relations, by serial number."""

    entities: dict[int, str]
    relations: dict[int, str]

    @classmethod
    def of(cls, snapshot: Snapshot | None) -> "_Known":
        """The names that a generation has."""
        if snapshot is None:
            return cls({}, {})
        graph = state_of(snapshot, Settings()).graph
        return cls(_by_serial(graph.entities), _by_serial(graph.relations))


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
