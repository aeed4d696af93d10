"""
From disk to a state: the newest generation, and the updates that the log has after it.

Most clusterings depend only on the facts, so all updates of the log are applied as a single change.
Where clusters depend on history ("grinch"), the updates are applied one after the other.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from casegraph.answering.state import State
from casegraph.disk import is_there
from casegraph.errors import (
    DamagedStore,
    IncompatibleFile,
    InvalidArgument,
    UnreadableFile,
)
from casegraph.graph.arrays import Ids
from casegraph.graph.change import NO_ROWS, Change
from casegraph.graph.directions import forward
from casegraph.graph.graph import Graph
from casegraph.settings import Settings
from casegraph.similarity.clusters.assignment import depends_on_history
from casegraph.storage.case_files import (
    descriptions_in,
    graph_from,
    restore_counts,
    settings_from,
    state_from,
)
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
from casegraph.storage.store.records import Position, Record
from casegraph.storage.store.tuned_settings import read_if_intact

READ_ATTEMPTS = 5  # of a log that another process is replacing by a new one
LATEST = 1 << 62  # larger than the number of any update


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
        state = _after_together(state, records)

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
    graph = graph_from(arrays)
    if settings_from(arrays) == settings:
        state = state_from(graph, arrays, settings)
        restore_counts(state, arrays)
    else:
        state = state_from(graph, {}, settings)
    return state.described(descriptions_in(arrays), generation.sequence)


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


def _start(generation: Generation | None, settings: Settings, start: int) -> State:
    if generation is None:
        return State.of(Graph(), settings, sequence=start)
    return state_of(generation, settings)


def _after_together(state: State, records: Sequence[Record]) -> State:
    """The state after the updates of records, applied as a single change."""
    graph = state.graph.copy()
    change = apply(graph, records)
    return state.after(change, graph, sequence=records[-1].sequence).state


def apply(graph: Graph, records: Sequence[Record]) -> Change:
    """Apply records to a graph; returns the change."""
    entities: list[str] = []
    relations: list[str] = []
    for record in records:
        entities += record.entities.names
        relations += record.relations.names
    graph.entities, entity_ids = graph.entities.extended(entities)
    graph.relations, relation_ids = graph.relations.extended(relations)

    with_ids = []
    for record in records:
        own_entities = entity_ids[: record.entities.size]
        own_directions = forward(relation_ids[: record.relations.size])
        with_ids.append(_with_ids(record, own_entities, own_directions))
        entity_ids = entity_ids[record.entities.size :]
        relation_ids = relation_ids[record.relations.size :]
    added, retracted = outcome(with_ids)
    return Change(graph.apply(added, add=True), graph.apply(retracted, add=False))


def _with_ids(record: Record, entities: Ids, directions: Ids) -> Record:
    """The same record with ids instead of places; the arrays have the id of each place."""

    def with_ids(rows: Ids) -> Ids:
        heads, relations, tails = rows.T
        # Not `entities[heads]`: without memory for its buffer, NumPy 2.4 crashes there.
        columns = [
            entities.take(heads),
            directions.take(relations),
            entities.take(tails),
        ]
        return np.stack(columns, axis=1)

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
        return Settings(**json.loads(log.beginning.settings))
    except (TypeError, ValueError, RecursionError) as error:
        problem = f"has settings of another version ({error}); update casegraph"
        raise IncompatibleFile(str(log.path), problem) from error
