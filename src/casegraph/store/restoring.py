"""From disk to cases: the newest generation, and the updates of the log after it, in one go."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from casegraph.answering import Cases
from casegraph.arrays import Ids, Interner
from casegraph.clusters.assignment import depends_on_history
from casegraph.disk import is_there
from casegraph.edges import Change
from casegraph.errors import DamagedStore, IncompatibleFile, InvalidSettings, UnreadableFile
from casegraph.graph import Graph
from casegraph.profiles import Profiles
from casegraph.saving import cases_in, counts_in, graph_in, settings_in
from casegraph.settings import Settings
from casegraph.store.lock import NAME as LOCK
from casegraph.store.lock import is_of_a_beginning, names_a_store
from casegraph.store.log import ACKNOWLEDGED, NEW_ACKNOWLEDGED, NEW_LOG, Log, acknowledged_places, logs
from casegraph.store.records import Names, Position, Record
from casegraph.store.snapshots import Snapshot, newest

TRIES = 5  # at a log that another process is replacing
LATEST = 1 << 62  # more than any update's number


class Restored(NamedTuple):
    """The state after update `sequence`; where the log ends, how many bytes are torn there, how much was replayed."""

    cases: Cases
    sequence: int
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
        cases = replayed(snapshot, records, chosen)
    except (KeyError, ValueError, TypeError, IndexError) as error:
        raise DamagedStore(str(log.path), position.size, f"its records do not fit together ({error})") from error
    return Restored(cases, sequence, end, len(log.content) - end.size, len(records))


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


def replayed(snapshot: Snapshot | None, records: Sequence[Record], settings: Settings) -> Cases:
    """The state of a generation, or of an empty store, after some updates; all at once if only the outcome counts."""
    cases = _of_snapshot(snapshot, settings) if snapshot else Cases(Graph(), Profiles(), settings)
    for some in ([one] for one in records) if depends_on_history(settings) else [records] if records else []:
        graph, profiles = cases.graph.copy(), cases.profiles.copy()
        change = _applied(graph, some)
        reshaped = profiles.refresh(graph, change.entities)
        cases, _ = cases.after(change, graph, profiles, reshaped)
    return cases


def _of_snapshot(snapshot: Snapshot, settings: Settings) -> Cases:
    same = settings_in(snapshot.arrays) == settings
    cases = cases_in(graph_in(snapshot.arrays), snapshot.arrays if same else {}, settings)
    if same:
        counts_in(cases, snapshot.arrays)
    return cases


def _applied(graph: Graph, records: Sequence[Record]) -> Change:
    for record in records:
        _intern(graph.entities, record.entities)
        _intern(graph.relations, record.relations)
    added, retracted = outcome(records)
    limits = [len(graph.entities), 2 * len(graph.relations), len(graph.entities)]
    for rows in (added, retracted):
        if (rows < 0).any() or (rows >= limits).any() or (rows[:, 1] % 2).any():
            raise ValueError("facts name entities or relations that do not exist")
    return Change(graph.apply(added, add=True), graph.apply(retracted, add=False), repeated=0, absent=0)


def outcome(records: Sequence[Record]) -> tuple[Ids, Ids]:
    """The facts that are there after all records, and those that are not; of a fact, the last change counts."""
    parts = [np.empty((0, 3), dtype=np.int32), *(rows for one in records for rows in (one.retracted, one.added))]
    comes = np.repeat(np.arange(len(parts)) % 2 == 0, list(map(len, parts)))
    rows = np.concatenate(parts)
    order = np.lexsort(rows.T)
    last = order[np.append((np.diff(rows[order], axis=0) != 0).any(axis=1), np.ones(min(1, len(rows)), dtype=np.bool))]
    return rows[last[comes[last]]], rows[last[~comes[last]]]


def _intern(known: Interner, new: Names) -> None:
    if new.first != len(known):
        raise ValueError("names are missing")
    known.intern(new.names)
    if len(known) != new.first + len(new.names):
        raise ValueError("names repeat")


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
