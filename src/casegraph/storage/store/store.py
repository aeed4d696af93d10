"""
CaseStore: a case base in a folder, that survives whatever happens to its process.

The log is the truth: an update is kept when it is in the log, and what questions are answered from follows from it.
One process writes at a time; any number read, each the state that it found when it opened the store.
"""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_bytes
from threading import get_ident
from typing import TYPE_CHECKING, Literal, NamedTuple, Self

from casegraph.answering.state import State
from casegraph.casebase import CaseBase
from casegraph.errors import DamagedStore, IncompatibleFile, ReadOnlyStore, UnreadableFile
from casegraph.graph.facts import Fact
from casegraph.graph.graph import Graph
from casegraph.running import Show, quiet
from casegraph.settings import Settings
from casegraph.storage.disk import is_there, writing
from casegraph.storage.store import snapshots
from casegraph.storage.store.lock import WriterLock
from casegraph.storage.store.log import ACKNOWLEDGED, LogWriter, start_log, start_store
from casegraph.storage.store.records import NewNames, Record, rows_by_serials
from casegraph.storage.store.restoring import is_store, is_unfinished, read_log, restored
from casegraph.storage.store.snapshots import told

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from casegraph.answering.state import Retracted, Step, Update
    from casegraph.graph.names import Names
    from casegraph.storage.store.restoring import Restored

MANY = 10_000  # updates to replay: after so many, a writer makes a generation when it opens the store


class Event(NamedTuple):
    """A fact that came (+) or went (-), at which update, and when; the time is for display, and may go backwards."""

    sequence: int
    time: datetime
    sign: Literal["+", "-"]
    fact: Fact


class CaseStore(CaseBase):
    """A case base in a folder; made by `open`.

    folder    where it is
    torn      bytes of an unfinished update that were found at the end of the log; a writer has cut them off

    As in any case base, any number of threads may ask while one updates. When `update` returns, what it did is on disk;
    if it is interrupted, what is in memory is what is on disk, with that update as a whole or without it.
    """

    def __init__(self, folder: Path, found: Restored, lock: WriterLock | None) -> None:
        self._start_with(found.state)
        self.folder = folder
        self.torn = found.torn
        self._log_start = found.end.start
        self._lock = lock
        self._writer = None if lock is None else LogWriter(folder, found.end)

    @property
    def sequence(self) -> int:
        """The number of the last update."""
        return self._state.sequence

    @classmethod
    def open(
        cls, folder: str | Path, settings: Settings | None = None, *, read_only: bool = False, as_of: int | None = None
    ) -> Self:
        """The store in a folder; made if the folder is empty or not there, unless it is opened for reading only.

        settings  how to answer questions, while the store is open; by default, as when the store was made
        as_of     open the state after an earlier update, for reading only
        """
        place = Path(folder)
        if read_only or as_of is not None:
            return cls(place, restored(place, settings, as_of), None)
        lock = _locked(place)
        try:
            if is_unfinished(place):
                _create(place, settings or Settings())
            found = restored(place, settings, None)
            lock.mark(found.end.store)
            store = cls(place, found, lock)
            store._recover(found)
        except BaseException:
            lock.release()
            raise
        return store

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let another process write; nothing is lost without. May be called again."""
        if self._writer is not None:
            self._writer.close()
        if self._lock is not None:
            self._lock.release()

    def update(self, add: Iterable[tuple[str, str, str]] = (), retract: Iterable[Retracted] = ()) -> Update:
        """Retract facts, then take in facts; all or nothing, and on disk when it returns.

        To retract an entity, name it alone: all its facts go.
        """
        self._refuse_update_in_update()
        with self._turn:
            self._updating = get_ident()
            try:
                writer = self._writing()
                before = self._state
                step = before.updated(add, retract)
                if len(step.change):
                    self._write(writer, _record(before, step), step.state)
            finally:
                self._updating = None
        return step.update

    def history(self, since: int = 0) -> Iterator[Event]:
        """What came and went after an update, in order; of one update by name, what went first."""
        log = read_log(self.folder)
        if log.beginning.start != self._log_start:
            raise UnreadableFile(str(self.folder), "its history was forgotten since it was opened; open it again")
        entities: list[str] = []
        relations: list[str] = []
        for record in (one.record for one in log.after(log.first)):
            entities += record.entities.names
            relations += record.relations.names
            if since < record.sequence <= self.sequence:
                when = datetime.fromtimestamp(record.time / 1e6, tz=UTC)
                facts = [
                    sorted(Fact(entities[h], relations[r >> 1], entities[t]) for h, r, t in rows.tolist())
                    for rows in (record.retracted, record.added)
                ]
                yield from (Event(record.sequence, when, "-", fact) for fact in facts[0])
                yield from (Event(record.sequence, when, "+", fact) for fact in facts[1])

    def compact(self, show: Show = quiet, *, forget_history: bool = False) -> None:
        """Count everything that questions need, and write that and the facts as a new generation.

        forget_history  start the log anew: what was retracted is gone, and all facts came at one new update
        """
        self._refuse_update_in_update()
        with self._turn:
            writer = self._writing()
            if forget_history:
                writer = self._forget(writer)
            self.prepare(show=show)
            self._write_generation(writer)

    def _write(self, writer: LogWriter, record: Record, later: State) -> None:
        """Write an update down, and answer from the state after it; an interrupt leaves both done, or neither."""
        try:
            writer.append(record)
            self._state = later
        except BaseException:
            self._settle(later)
            raise

    def _settle(self, later: State) -> None:
        """After an interrupt or a failure: answer from what is on disk, and go on writing if nothing failed."""
        writer = self._writing_again()
        if writer is not None and writer.position.sequence == later.sequence:
            self._state = later

    def _writing_again(self) -> LogWriter | None:
        """The writer, opened anew if it was interrupted; none if it cannot write any more."""
        writer = self._writer
        if writer is None or not writer.was_interrupted:
            return writer
        log = read_log(self.folder)
        written = log.after(writer.position)
        writer.close()
        end = written[-1].position(writer.position) if written else writer.position
        self._writer = LogWriter(self.folder, end)
        self._writer.recover(len(log.content))
        return self._writer

    def _writing(self) -> LogWriter:
        if self._writer is None:
            raise ReadOnlyStore(str(self.folder), "was opened for reading only; open it again for writing")
        try:
            self._writer.check()
        except ReadOnlyStore:
            self.close()
            raise
        return self._writer

    def _recover(self, found: Restored) -> None:
        writer = self._writing()
        if found.torn:
            told.warning("%s: cut off %d bytes of an update that was not finished", self.folder, found.torn)
        writer.recover(found.end.size + found.torn)
        if found.replayed > MANY:
            self._write_generation(writer)

    def _write_generation(self, writer: LogWriter) -> None:
        with writer.watched():
            snapshots.write(self.folder, self._state, writer.position)

    def _forget(self, writer: LogWriter) -> LogWriter:
        """Start the log anew with all facts as one update; the switch is one write to `acknowledged`."""
        empty = State.of(Graph(), self.settings, sequence=self.sequence)
        step = empty.updated(self.graph.compacted().facts())
        step = step._replace(state=step.state.numbered(self.sequence + 1))  # also where there are no facts
        first = _record(empty, step)
        with writer.watched():
            end = start_log(self.folder, writer.position, read_log(self.folder).beginning.settings, first)
            later = LogWriter(self.folder, end)
            later.recover(end.size)
        writer.close()
        self._writer = later
        self._log_start = end.start
        self._state = step.state
        return later


def _record(before: State, step: Step) -> Record:
    """What an update changed, with the names that it brought, all under their serial numbers."""
    graph = step.graph
    return Record(
        step.state.sequence,
        time.time_ns() // 1000,
        _new_names(before.graph.entities, graph.entities),
        _new_names(before.graph.relations, graph.relations),
        rows_by_serials(graph, step.change.retracted),
        rows_by_serials(graph, step.change.added),
    )


def _new_names(before: Names, after: Names) -> NewNames:
    return NewNames(before.arrived, after.names_from(len(before)))


def _locked(folder: Path) -> WriterLock:
    with writing(folder):
        folder.mkdir(exist_ok=True)
    if not is_unfinished(folder) and not is_there(folder / ACKNOWLEDGED):  # in this order: another may be making it
        if is_store(folder):
            raise DamagedStore(str(folder / ACKNOWLEDGED), 0, "it is missing")
        raise IncompatibleFile(str(folder), "is neither a store nor empty; choose another folder")
    return WriterLock(folder)


def _create(folder: Path, settings: Settings) -> None:
    start_store(folder, token_bytes(16), json.dumps(settings.as_dict()).encode())
