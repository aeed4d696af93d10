"""From disk to cases: the newest generation, and the updates of the log after it, in one go."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from casegraph.answering.state import State
from casegraph.errors import DamagedStore, IncompatibleFile, InvalidSettings, UnreadableFile
from casegraph.graph.arrays import Ids
from casegraph.graph.change import Change
from casegraph.graph.graph import Graph
from casegraph.graph.names import Names
from casegraph.settings import Settings
from casegraph.similarity.clusters.assignment import depends_on_history
from casegraph.storage.case_files import Arrays, counts_in, graph_in, settings_in, state_in
from casegraph.storage.disk import is_there
from casegraph.storage.store.lock import NAME as LOCK
from casegraph.storage.store.lock import is_of_a_beginning, names_a_store
from casegraph.storage.store.log import ACKNOWLEDGED, NEW_ACKNOWLEDGED, NEW_LOG, Log, acknowledged_places, logs
from casegraph.storage.store.records import NewNames, Position, Record
from casegraph.storage.store.snapshots import Snapshot, newest

TRIES = 5  # at a log that another process is replacing
LATEST = 1 << 62  # more than any update's number
NOBODY = -1  # the id of a serial number whose name was given up


class Restored(NamedTuple):
    """A state, where the log ends, how many bytes are torn there, and how many updates were replayed."""

    state: State
    end: Position
    torn: int
    replayed: int


def is_store(folder: Path) -> bool:
    """Whether a folder is a store, whole or damaged."""
    return is_there(folder / ACKNOWLEDGED) or bool(logs(folder)) or names_a_store(folder)


def is_unfinished(folder: Path) -> bool:
    """Whether a folder is empty but for what making a store leaves there until it is made: no update was acknowledged.

    `acknowledged` has its name before the log has; the lock names the store after both, and before any update.
    """
    names = {path.name for path in folder.iterdir()}
    if not names <= {LOCK, ACKNOWLEDGED, NEW_ACKNOWLEDGED, NEW_LOG} or not is_of_a_beginning(folder):
        return False
    if ACKNOWLEDGED not in names:
        return True
    whole = [place for place in acknowledged_places(folder) if place is not None]
    return NEW_LOG in names and bool(whole) and all(place.sequence == 0 for place in whole)


def restored(folder: Path, settings: Settings | None, as_of: int | None) -> Restored:
    """What a store holds, now or after an earlier update."""
    log = read_log(folder)
    chosen = settings or _settings(log)
    snapshot, position = newest(log, LATEST if as_of is None else as_of) or (None, log.first)
    try:
        written = log.after(position)
        end = written[-1].position(position) if written else position
        sequence = end.sequence if as_of is None else _within(as_of, log.beginning.start, end.sequence)
        records = [one.record for one in written if one.record.sequence <= sequence]
        state = replayed(snapshot, records, chosen, log.beginning.start)
    except (KeyError, ValueError, TypeError, IndexError) as error:
        raise DamagedStore(str(log.path), position.size, f"its records do not fit together ({error})") from error
    return Restored(state, end, len(log.content) - end.size, len(records))


def read_log(folder: Path) -> Log:
    """The log of a store."""
    missing = folder
    for _ in range(TRIES):
        try:
            return Log.read(folder)
        except FileNotFoundError as error:
            missing = Path(error.filename)
        except OSError as error:
            raise UnreadableFile(str(error.filename), f"cannot be read ({error.strerror}); check the disk") from error
    if is_store(folder) and not is_unfinished(folder):
        raise DamagedStore(str(missing), 0, "it is missing")
    raise UnreadableFile(str(folder), "is not a store; make one with 'casegraph build'")


def replayed(snapshot: Snapshot | None, records: Sequence[Record], settings: Settings, start: int = 0) -> State:
    """The state of a generation, or of a log that starts after some update, after the updates of records.

    All at once, if only the outcome counts.
    """
    state = state_of(snapshot, settings) if snapshot else State.of(Graph(), settings, sequence=start)
    steps = [[one] for one in records] if depends_on_history(settings) else [list(records)] if records else []
    for some in steps:
        graph = state.graph.copy()
        change = _applied(graph, some)
        state = state.after(change, graph, sequence=some[-1].sequence).state
    if records and state.sequence != records[-1].sequence:  # the last updates took back what those before them did
        state = state.numbered(records[-1].sequence)
    return state


def state_of(snapshot: Snapshot, settings: Settings) -> State:
    """The state of a generation, with its counts if they were made with these settings."""
    same = settings_in(snapshot.arrays) == settings
    graph = with_serials(graph_in(snapshot.arrays), snapshot.arrays)
    state = state_in(graph, snapshot.arrays if same else {}, settings)
    if same:
        counts_in(state, snapshot.arrays)
    return state.numbered(snapshot.sequence)


def with_serials(graph: Graph, arrays: Arrays) -> Graph:
    """The graph of a generation with the serial numbers of its names; in format 2 these are their ids."""
    if "entity_serials" in arrays:
        graph.entities = _with_serials(graph.entities, "entity", arrays)
        graph.relations = _with_serials(graph.relations, "relation", arrays)
    return graph


def _with_serials(names: Names, kind: str, arrays: Arrays) -> Names:
    serials = arrays[f"{kind}_serials"]
    (arrived,) = arrays[f"{kind}_arrived"].tolist()
    are_ids = serials.dtype == np.int32 and serials.shape == (len(names),)
    if not are_ids or (serials < 0).any() or (serials >= arrived).any() or len(np.unique(serials)) < len(serials):
        raise ValueError(f"the serial numbers of {kind} names do not fit")
    return names.with_serials(serials, arrived)


def _applied(graph: Graph, records: Sequence[Record]) -> Change:
    """Change a graph as records say; what they call by serial numbers gets ids first."""
    entities = _Serials(graph.entities)
    relations = _Serials(graph.relations)
    entities.take([record.entities for record in records])
    relations.take([record.relations for record in records])
    graph.entities = entities.named()
    graph.relations = relations.named()
    added, retracted = outcome([_with_ids(record, entities, relations) for record in records])
    return Change(graph.apply(added, add=True), graph.apply(retracted, add=False))


class _Serials:
    """Names, and the id of each of their serial numbers; a name that was given up and came again has several."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._ids = np.full(names.arrived, NOBODY, dtype=np.int32)
        self._ids[names.serials()] = np.arange(len(names), dtype=np.int32)

    def take(self, records: list[NewNames]) -> None:
        """The names that updates brought, with the next serial numbers."""
        found = [self._ids]
        arrived = len(self._ids)
        for new in records:
            if new.first != arrived:
                raise ValueError("names are missing")
            self._names, its_ids = self._names.extended(new.names)
            if np.bincount(its_ids, minlength=1).max() > 1:
                raise ValueError("names repeat")
            found.append(its_ids)
            arrived += len(its_ids)
        self._ids = np.concatenate(found)

    def named(self) -> Names:
        """All names, each with its last serial number."""
        serials = np.empty(len(self._names), dtype=np.int32)
        known = np.flatnonzero(self._ids != NOBODY)
        serials[self._ids[known]] = known
        return self._names.with_serials(serials, len(self._ids))

    def ids(self, serials: Ids) -> Ids:
        """The id of each; `ValueError` if one has none."""
        if (serials < 0).any() or (serials >= len(self._ids)).any():
            raise ValueError("facts name entities or relations that do not exist")
        found = self._ids[serials]
        if (found == NOBODY).any():
            raise ValueError("facts name entities or relations that do not exist")
        return found


def _with_ids(record: Record, entities: _Serials, relations: _Serials) -> Record:
    """The same record with ids for serial numbers."""

    def ids_of(rows: Ids) -> Ids:
        if (rows[:, 1] % 2).any():
            raise ValueError("facts name entities or relations that do not exist")
        heads, labels, tails = rows.T
        return np.stack([entities.ids(heads), 2 * relations.ids(labels >> 1), entities.ids(tails)], axis=1)

    return replace(record, added=ids_of(record.added), retracted=ids_of(record.retracted))


def outcome(records: Sequence[Record]) -> tuple[Ids, Ids]:
    """The facts that are there after all records, and those that are not; of a fact, the last change counts."""
    parts = [np.empty((0, 3), dtype=np.int32), *(rows for one in records for rows in (one.retracted, one.added))]
    comes = np.repeat(np.arange(len(parts)) % 2 == 0, list(map(len, parts)))
    rows = np.concatenate(parts)
    order = np.lexsort(rows.T)
    last = order[np.append((np.diff(rows[order], axis=0) != 0).any(axis=1), np.ones(min(1, len(rows)), dtype=np.bool))]
    return rows[last[comes[last]]], rows[last[~comes[last]]]


def _within(as_of: int, start: int, last: int) -> int:
    first = start + (start > 0)  # of a history that was forgotten, the outcome is the first record
    if not first <= as_of <= last:
        raise InvalidSettings("as_of", as_of, f"an update from {first} to {last}")
    return as_of


def _settings(log: Log) -> Settings:
    try:
        return Settings(**json.loads(log.beginning.settings))
    except (TypeError, ValueError, RecursionError) as error:
        raise IncompatibleFile(str(log.path), f"has settings of another version ({error}); update casegraph") from error
