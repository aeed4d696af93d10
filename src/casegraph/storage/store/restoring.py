"""
From disk to a state: the newest generation, and the updates that the log has after it.

Most clusterings depend only on the facts, so all updates of the log are applied as a single change.
Where clusters depend on history ("grinch"), the updates are applied one after the other.

Names need care. A record calls names by serial numbers, which are given out once and never change;
a graph calls them by ids, which do change (see `graph.names`). `_SerialNumbers` turns the former
into the latter.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from casegraph.answering.state import State
from casegraph.errors import (
    DamagedStore,
    IncompatibleFile,
    InvalidArgument,
    UnreadableFile,
)
from casegraph.graph.arrays import Ids
from casegraph.graph.change import NO_ROWS, Change
from casegraph.graph.directions import forward, is_inverse, relation_of
from casegraph.graph.graph import Graph
from casegraph.graph.names import Names
from casegraph.settings import Settings
from casegraph.similarity.clusters.assignment import depends_on_history
from casegraph.storage.array_files import Arrays
from casegraph.storage.case_files import (
    descriptions_in,
    graph_from,
    restore_counts,
    settings_from,
    state_from,
)
from casegraph.storage.disk import is_there
from casegraph.storage.store.generations import Generation, newest
from casegraph.storage.store.lock import NAME as LOCK
from casegraph.storage.store.lock import is_before_any_store, names_a_store
from casegraph.storage.store.log import (
    ACKNOWLEDGED,
    NEW_ACKNOWLEDGED,
    NEW_LOG,
    Log,
    acknowledged_slots,
    log_paths,
)
from casegraph.storage.store.records import NewNames, Position, Record
from casegraph.storage.store.tuned_settings import read_if_intact

READ_ATTEMPTS = 5  # of a log that another process is replacing by a new one
LATEST = 1 << 62  # larger than the number of any update
NO_ID = -1  # of a serial number whose name was dropped


class Restored(NamedTuple):
    """What was found in a store.

    state     the state after the last update that was asked for
    end       where the log ends
    torn      the number of bytes of an unfinished update after that
    replayed  the number of updates that were read from the log
    rows      the number of facts that these updates added or retracted
    """

    state: State
    end: Position
    torn: int
    replayed: int
    rows: int


def is_store(folder: Path) -> bool:
    """Whether a folder is a store, intact or damaged."""
    return (
        is_there(folder / ACKNOWLEDGED)
        or bool(log_paths(folder))
        or names_a_store(folder)
    )


def is_unfinished(folder: Path) -> bool:
    """Whether a folder is empty, or holds only what an interrupted creation of a store leaves.

    A store is created in this order: the lock, `log.new` and `acknowledged.new`, the name
    `acknowledged`, the name of the log, the id of the store in the lock. The first update can come
    only after that.
    """
    names = {path.name for path in folder.iterdir()}
    left_by_creation = {LOCK, ACKNOWLEDGED, NEW_ACKNOWLEDGED, NEW_LOG}
    if not names <= left_by_creation or not is_before_any_store(folder):
        return False
    if ACKNOWLEDGED not in names:
        return True
    intact = [slot for slot in acknowledged_slots(folder) if slot is not None]
    nothing_acknowledged = all(position.sequence == 0 for position in intact)
    return NEW_LOG in names and bool(intact) and nothing_acknowledged


def restored(folder: Path, settings: Settings | None, as_of: int | None) -> Restored:
    """The state of a store, now or after an earlier update.

    settings  how to answer questions; by default, as the store was tuned, or created
    as_of     the number of the earlier update
    """
    if as_of is not None and not isinstance(as_of, int):
        raise InvalidArgument("as_of", as_of, "the number of an update")
    log = read_log(folder)
    settings = (
        settings or read_if_intact(folder, log.beginning.store) or _settings_in(log)
    )
    until = LATEST if as_of is None else as_of
    generation, position = newest(log, until) or (None, log.first)
    try:
        logged = log.after(position)
        end = logged[-1].position_after(position) if logged else position
        if as_of is not None:
            _check_as_of(as_of, log.beginning.start, end.sequence)
        records = [entry.record for entry in logged if entry.record.sequence <= until]
        state = replayed(generation, records, settings, log.beginning.start)
    except InvalidArgument:  # which is a ValueError, and of the caller
        raise
    except (KeyError, ValueError, TypeError, IndexError) as error:
        problem = f"its records do not fit together ({error})"
        raise DamagedStore(str(log.path), position.size, problem) from error
    torn = len(log.content) - end.size
    rows = sum(len(record.added) + len(record.retracted) for record in records)
    return Restored(state, end, torn, len(records), rows)


def read_log(folder: Path) -> Log:
    """The log of a store.

    Another process may be replacing the log by a new one (see `CaseStore.compact`). Then the file
    that `acknowledged` named a moment ago may be gone, and we read again.
    """
    missing = folder
    for _ in range(READ_ATTEMPTS):
        try:
            return Log.read(folder)
        except FileNotFoundError as error:
            missing = Path(error.filename)
        except OSError as error:
            problem = f"cannot be read ({error.strerror}); check the disk"
            raise UnreadableFile(str(error.filename), problem) from error
    if is_store(folder) and not is_unfinished(folder):
        raise DamagedStore(str(missing), 0, "it is missing")
    raise UnreadableFile(str(folder), "is not a store; make one with 'casegraph build'")


def replayed(
    generation: Generation | None,
    records: Sequence[Record],
    settings: Settings,
    start: int = 0,
) -> State:
    """The state after the updates of `records`.

    generation  what to start from; None for an empty graph, after update `start`
    """
    return caught_up(_start(generation, settings, start), records)


def caught_up(state: State, records: Sequence[Record]) -> State:
    """The state after further updates."""
    if depends_on_history(state.settings):
        for record in records:
            state = _after_together(state, [record])
    elif records:
        state = _after_all(state, records)

    if records and state.sequence != records[-1].sequence:
        # The last records changed nothing, and left the state as it was, with its number.
        state = state.numbered(records[-1].sequence)
    described = [description for record in records for description in record.described]
    if described:
        state = state.described(state.descriptions.replaced(described))
    return state


def state_of(generation: Generation, settings: Settings) -> State:
    """The state of a generation, with its counts if they were made with these settings."""
    arrays = generation.arrays
    graph = with_serials(graph_from(arrays), arrays)
    if settings_from(arrays) == settings:
        state = state_from(graph, arrays, settings)
        restore_counts(state, arrays)
    else:
        state = state_from(graph, {}, settings)
    return state.described(descriptions_in(arrays), generation.sequence)


def with_serials(graph: Graph, arrays: Arrays) -> Graph:
    """The graph of a generation, its names with the serial numbers that the arrays give them.

    In a generation of format 2 there are none: there, the serial number of a name is its id.
    """
    if "entity_serials" in arrays:
        graph.entities = _names_with_serials(graph.entities, "entity", arrays)
        graph.relations = _names_with_serials(graph.relations, "relation", arrays)
    return graph


def outcome(records: Sequence[Record]) -> tuple[Ids, Ids]:
    """The facts that are there after all records, and those that are not, as rows.

    Only facts that a record names; for each, its last change decides. Within a record, facts are
    retracted before others are added.
    """
    parts = [NO_ROWS]
    are_additions = [False]  # of each part
    for record in records:
        parts += [record.retracted, record.added]
        are_additions += [False, True]
    rows = np.concatenate(parts)
    is_addition = np.repeat(are_additions, [len(part) for part in parts])

    last = _last_of_equal_rows(rows)
    there = last[is_addition[last]]
    gone = last[~is_addition[last]]
    return rows[there], rows[gone]


def _last_of_equal_rows(rows: Ids) -> npt.NDArray[np.intp]:
    """For each distinct row, the place where it occurs last."""
    # Stable: equal rows stay in the order in which they came.
    order = np.lexsort(rows.T)
    differs_from_next = (np.diff(rows[order], axis=0) != 0).any(axis=1)
    is_last = np.ones(len(rows), dtype=np.bool_)
    is_last[:-1] = differs_from_next
    return order[is_last]


def _names_with_serials(names: Names, kind: str, arrays: Arrays) -> Names:
    serials = arrays[f"{kind}_serials"]
    (arrived,) = arrays[f"{kind}_arrived"].tolist()
    is_row = serials.dtype == np.int32 and serials.shape == (len(names),)
    if not is_row or not _are_distinct_below(serials, arrived):
        raise ValueError(f"the serial numbers of {kind} names do not fit")
    return names.with_serials(serials, arrived)


def _are_distinct_below(serials: Ids, limit: int) -> bool:
    in_range = bool((serials >= 0).all() and (serials < limit).all())
    rise = bool((np.diff(serials) > 0).all())  # as they mostly do
    return in_range and (rise or len(np.unique(serials)) == len(serials))


def _start(generation: Generation | None, settings: Settings, start: int) -> State:
    if generation is None:
        return State.of(Graph(), settings, sequence=start)
    return state_of(generation, settings)


def _after_all(state: State, records: Sequence[Record]) -> State:
    """The state after the updates of records, as few changes as possible."""
    later = _after_together(state, records)
    if later is not state or len(records) == 1:
        return later
    # Together the records change nothing, as when the last took back what those before it did. Such
    # a change leaves the state as it was, without the names that the records brought. But later
    # records count on their serial numbers. So replay the last record by itself: then each of the
    # two changes has an effect, and keeps the names.
    before_last = _after_together(state, records[:-1])
    return _after_together(before_last, records[-1:])


def _after_together(state: State, records: Sequence[Record]) -> State:
    """The state after the updates of records, applied as a single change."""
    graph = state.graph.copy()
    change = _apply(graph, records)
    return state.after(change, graph, sequence=records[-1].sequence).state


def _apply(graph: Graph, records: Sequence[Record]) -> Change:
    """Apply records to a graph; returns the change."""
    entities = _SerialNumbers(graph.entities)
    relations = _SerialNumbers(graph.relations)
    entities.extend([record.entities for record in records])
    relations.extend([record.relations for record in records])
    graph.entities = entities.names()
    graph.relations = relations.names()

    with_ids = [_with_ids(record, entities, relations) for record in records]
    added, retracted = outcome(with_ids)
    return Change(graph.apply(added, add=True), graph.apply(retracted, add=False))


class _SerialNumbers:
    """Names, and the id of each serial number.

    A name that was dropped and arrived again has several serial numbers, all with the same id.
    """

    def __init__(self, names: Names) -> None:
        self._names = names
        self._ids = np.full(names.arrived, NO_ID, dtype=np.int32)
        self._ids[names.serials()] = np.arange(len(names), dtype=np.int32)

    def extend(self, updates: list[NewNames]) -> None:
        """Give the new names of updates the next serial numbers."""
        parts = [self._ids]
        arrived = len(self._ids)
        for new in updates:
            if new.first != arrived:
                raise ValueError("names are missing")
            self._names, its_ids = self._names.extended(new.names)
            if np.bincount(its_ids, minlength=1).max() > 1:
                raise ValueError("names repeat")
            parts.append(its_ids)
            arrived += len(its_ids)
        self._ids = np.concatenate(parts)

    def names(self) -> Names:
        """All names, each with its last serial number."""
        serials = np.empty(len(self._names), dtype=np.int32)
        with_id = np.flatnonzero(self._ids != NO_ID)
        serials[self._ids[with_id]] = with_id  # of several for one id, the last is kept
        return self._names.with_serials(serials, len(self._ids))

    def ids(self, serials: Ids) -> Ids:
        """The id of each serial number; `ValueError` if one has none."""
        if (serials < 0).any() or (serials >= len(self._ids)).any():
            raise ValueError("facts name entities or relations that do not exist")
        # Not `self._ids[serials]`: without memory for its buffer, NumPy 2.4 crashes there.
        found = self._ids.take(serials)
        if (found == NO_ID).any():
            raise ValueError("facts name entities or relations that do not exist")
        return found


def _with_ids(
    record: Record, entities: _SerialNumbers, relations: _SerialNumbers
) -> Record:
    """The same record with ids instead of serial numbers."""

    def with_ids(rows: Ids) -> Ids:
        heads, directions, tails = rows.T
        if is_inverse(directions).any():
            raise ValueError("facts name entities or relations that do not exist")
        head_ids = entities.ids(heads)
        relation_ids = relations.ids(relation_of(directions))
        tail_ids = entities.ids(tails)
        return np.stack([head_ids, forward(relation_ids), tail_ids], axis=1)

    return replace(
        record, added=with_ids(record.added), retracted=with_ids(record.retracted)
    )


def _check_as_of(as_of: int, start: int, last: int) -> None:
    # A log that starts later than at 0 has forgotten its history: its first record has all facts
    # that were there then, and nothing is known from before it.
    first = start + 1 if start > 0 else 0
    if not first <= as_of <= last:
        raise InvalidArgument("as_of", as_of, f"an update from {first} to {last}")


def _settings_in(log: Log) -> Settings:
    try:
        return Settings.from_dict(json.loads(log.beginning.settings))
    except (TypeError, ValueError, RecursionError) as error:
        problem = f"has settings of another version ({error}); update casegraph"
        raise IncompatibleFile(str(log.path), problem) from error
