"""
CaseStore: a case base in a folder, that survives whatever happens to its process.

The log is the truth: an update is kept when it is in the log, and what questions are answered from follows from it.
One process writes at a time; any number read, each the state that it found when it opened the store.
"""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_bytes
from typing import TYPE_CHECKING, Literal, NamedTuple, Self

import numpy as np

from casegraph.answering import Cases
from casegraph.casebase import CaseBase
from casegraph.disk import is_there, writing
from casegraph.edges import Change
from casegraph.errors import DamagedStore, IncompatibleFile, ReadOnlyStore, UnreadableFile
from casegraph.facts import Fact
from casegraph.profiles import Profiles
from casegraph.saving import fact_rows
from casegraph.settings import Settings
from casegraph.store import snapshots
from casegraph.store.lock import WriterLock
from casegraph.store.log import ACKNOWLEDGED, LogWriter, start_log, start_store
from casegraph.store.records import Names, Record
from casegraph.store.restoring import is_store, is_unfinished, read_log, restored
from casegraph.store.snapshots import told
from casegraph.work import Show, quiet

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from casegraph.graph import Graph
    from casegraph.store.restoring import Restored

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
    sequence  the number of the last update
    torn      bytes of an unfinished update that were found at the end of the log; a writer has cut them off
    """

    def __init__(self, folder: Path, found: Restored, lock: WriterLock | None) -> None:
        self.folder, self.sequence, self.torn = folder, found.sequence, found.torn
        self._cases, self._start, self._lock = found.cases, found.end.start, lock
        self._named = _sizes(found.cases.graph)
        self._writer = None if lock is None else LogWriter(folder, found.end)

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
        with ExitStack() as undone:
            lock = _locked(place)
            undone.callback(lock.release)
            if is_unfinished(place):
                _create(place, settings or Settings())
            found = restored(place, settings, None)
            lock.mark(found.end.store)
            store = cls(place, found, lock)
            undone.pop_all()
            undone.callback(store.close)
            store._recover(found)
            undone.pop_all()
        return store

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let another process write; nothing is lost without."""
        if self._writer is not None and self._lock is not None:
            self._writer.close()
            self._lock.release()
            self._lock = None

    def history(self, since: int = 0) -> Iterator[Event]:
        """What came and went after an update, in order; of one update by name, what went first."""
        log, graph = read_log(self.folder), self.graph
        if log.beginning.start != self._start:
            raise UnreadableFile(str(self.folder), "its history was forgotten since it was opened; open it again")
        for record in (one.record for one in log.after(log.first)):
            if since < record.sequence <= self.sequence:
                when = datetime.fromtimestamp(record.time / 1e6, tz=UTC)
                went, came = (
                    sorted(_fact(graph, row) for row in rows.tolist()) for rows in (record.retracted, record.added)
                )
                yield from (Event(record.sequence, when, "-", fact) for fact in went)
                yield from (Event(record.sequence, when, "+", fact) for fact in came)

    def compact(self, show: Show = quiet, *, forget_history: bool = False) -> None:
        """Count everything that questions need, and write that and the facts as a new generation.

        forget_history  start the log anew: what was retracted is gone, and all facts came at one new update
        """
        writer = self._writing()
        if forget_history:
            writer = self._forget(writer)
        self.prepare(show=show)
        self._write_generation(writer)

    def _keep(self, later: Cases, change: Change) -> None:
        writer = self._writing()
        if len(change):
            writer.append(_record(self.sequence + 1, later.graph, change, self._named))
            self.sequence, self._named = self.sequence + 1, _sizes(later.graph)
        super()._keep(later, change)

    def _writing(self) -> LogWriter:
        if self._writer is None:
            raise ReadOnlyStore(str(self.folder), "was opened for reading only; open it again for writing")
        self._writer.check()
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
            snapshots.write(self.folder, self.cases, writer.position)

    def _forget(self, writer: LogWriter) -> LogWriter:
        """Start the log anew with all facts as one update; the switch is one write to `acknowledged`."""
        graph = self.graph.compacted()
        cases = Cases(graph, Profiles(), self.settings)
        cases.profiles.refresh(graph, np.arange(len(graph.entities), dtype=np.int32))
        rows = fact_rows(graph)
        first = _record(self.sequence + 1, graph, Change(rows, rows[:0], repeated=0, absent=0), (0, 0))
        with writer.watched():
            end = start_log(self.folder, writer.position, read_log(self.folder).beginning.settings, first)
            later = LogWriter(self.folder, end)
            later.recover(end.size)
        writer.close()
        self._cases, self._writer, self._start = cases, later, end.start
        self.sequence, self._named = first.sequence, _sizes(graph)
        return later


def _record(sequence: int, graph: Graph, change: Change, named: tuple[int, int]) -> Record:
    """The update that brought a graph about, in which so many entities and relations had names before."""
    entities, relations = (
        Names(first, names.names[first:]) for first, names in zip(named, (graph.entities, graph.relations), strict=True)
    )
    return Record(sequence, time.time_ns() // 1000, entities, relations, change.retracted, change.added)


def _sizes(graph: Graph) -> tuple[int, int]:
    return len(graph.entities), len(graph.relations)


def _fact(graph: Graph, row: Sequence[int]) -> Fact:
    return Fact(graph.entities[row[0]], graph.relations[row[1] >> 1], graph.entities[row[2]])


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
