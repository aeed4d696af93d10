"""
CaseStore: a case base in a folder that survives whatever happens to its process.

The log is the truth: an update is kept if it is in the log, and everything else on disk follows
from it. One process writes at a time. Any number of processes read; each sees the state that it
found when it opened the store.

The promise: when `update` returns, the update is on disk. An update goes through these steps, and
after each this is on disk and would be found after a crash:

1. The next state is computed in memory.
   On disk: the store as it was. A crash loses this update only.
2. The record of the update is appended to the log (`LogWriter.append`).
   On disk: the store as it was, and after its acknowledged end a part of the record, perhaps all of
   it. A complete record is kept when the store is opened again; an incomplete one is cut off. Both
   are correct, because the caller has not been told anything yet.
3. The log is flushed.
   On disk: the complete record, not yet acknowledged. It is kept when the store is opened again.
4. The new end of the log is written to the older of the two slots of `acknowledged`, and flushed.
   On disk: the update is acknowledged. If the log should ever end before it, the store is damaged,
   and opening it says so. If a crash cuts this write short, the other slot still has the end before
   this update, and the complete record is found after it, as in step 3.
5. The next state becomes the state that questions are answered from, by a single assignment.
   On disk: nothing more. Then `update` returns.

So memory follows the disk: questions are answered from an update only after it is acknowledged.

Updates that wait at the same time can go through these steps together (`update_all`): each has its
record and its number, and the two flushes are for all of them (group commit).

An exception can come between any two instructions: Ctrl-C raises `KeyboardInterrupt` wherever the
main thread happens to be. If it comes during steps 2 to 5, memory and disk may disagree, since the
record may be on disk (after step 3) while the state is still the one before. `_write` catches the
exception, and `_follow_the_disk` makes them agree again: it reads the log, and if the record is in
it, completes steps 4 and 5; if not, cuts off what is left of it. Then the exception goes on to the
caller. If the disk itself failed, nobody knows what is on it, and the store is read-only until it
is opened again.

Generations (`store.generations`) save the time of replaying the log. They are never needed.
"""

from __future__ import annotations

import json
import time
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from secrets import token_bytes
from typing import TYPE_CHECKING, Literal, NamedTuple, Self

import numpy as np

from casegraph.answering.state import State
from casegraph.casebase import CaseBase
from casegraph.disk import is_there, writing
from casegraph.errors import (
    CasegraphError,
    DamagedStore,
    IncompatibleFile,
    ReadOnlyStore,
    UnreadableFile,
)
from casegraph.formats.python_objects import descriptions_in, facts_in
from casegraph.graph.change import Change
from casegraph.graph.directions import relation_of
from casegraph.graph.facts import Fact
from casegraph.graph.graph import Graph
from casegraph.running import Show, quiet
from casegraph.settings import Settings
from casegraph.storage.store import generations, tuned_settings
from casegraph.storage.store.generations import logger
from casegraph.storage.store.lock import WriterLock
from casegraph.storage.store.log import ACKNOWLEDGED, LogWriter, start_log, start_store
from casegraph.storage.store.records import EncodedNames, Record
from casegraph.storage.store.restoring import (
    caught_up,
    is_store,
    is_unfinished,
    read_log,
    restored,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import AbstractContextManager

    from casegraph.answering.state import Retracted, Step, Update
    from casegraph.formats.python_objects import Rows
    from casegraph.graph.arrays import Ids
    from casegraph.graph.descriptions import Description
    from casegraph.graph.names import Names
    from casegraph.storage.store.log import Log
    from casegraph.storage.store.restoring import Restored

    Note = Callable[[Update], bytes]
    Meanwhile = Callable[[State], AbstractContextManager[None]]

# A writer that had to replay more updates, or facts, writes a generation.
MOST_REPLAYED = 10_000
MOST_REPLAYED_ROWS = 1_000_000


class Event(NamedTuple):
    """A fact that was added (+) or retracted (-), or a new label or type of an entity (=).

    fact      of a label or type: the name, "label" or "type", and the label or the type
    sequence  the number of the update
    time      of the update, by the clock of the computer, which may have been set back since
    """

    sequence: int
    time: datetime
    sign: Literal["+", "-", "="]
    fact: Fact


class PlannedUpdate(NamedTuple):
    """An update that is to be made; its parts are as in `CaseStore.update`."""

    add: Rows = ()
    retract: Iterable[Retracted] = ()
    describe: Iterable[Description] = ()
    note: Note | None = None

    def after(self, state: State) -> Step:
        """What the update leads to from a state."""
        added = facts_in(self.add)
        described = chain(self.describe, descriptions_in(added))
        return state.updated(added, facts_in(self.retract), described)


class CaseStore(CaseBase):
    """A case base in a folder; made by `open`.

    folder  where it is
    torn    how many bytes of an unfinished update were at the end of the log; writers cut them off

    As in any case base, any number of threads may ask while one updates. When `update` returns, its
    effect is on disk. If it is interrupted, memory and disk agree: both have all of it, or nothing.
    """

    def __init__(
        self,
        folder: Path,
        found: Restored,
        lock: WriterLock | None,
        as_of: int | None = None,
    ) -> None:
        self._start_with(found.state)
        self.folder = folder
        self.torn = found.torn
        self._end = found.end
        self._as_of = as_of
        self._lock = lock
        self._writer = None if lock is None else LogWriter(folder, found.end)

    def __repr__(self) -> str:
        size = f"{len(self.graph):,} facts after update {self.sequence:,}"
        return f"<CaseStore {str(self.folder)!r}: {size}>"

    @property
    def sequence(self) -> int:
        """The number of the last update."""
        return self._state.sequence

    @property
    def first_sequence(self) -> int:
        """The earliest update after which the store can be opened (`as_of`)."""
        start = self._end.start
        return start + 1 if start > 0 else 0

    @property
    def is_writable(self) -> bool:
        """Whether updates can be made: it is open for writing, and the disk has not failed."""
        if self._writer is None or not self._can_write:
            return False
        try:
            self._writer.check()
        except ReadOnlyStore:
            return False
        return True

    @classmethod
    def open(
        cls,
        folder: str | Path,
        settings: Settings | None = None,
        *,
        read_only: bool = False,
        as_of: int | None = None,
    ) -> Self:
        """The store in a folder; it is created if the folder is empty or missing.

        settings   how to answer questions while it is open; by default, as it was tuned, or else
                   as when it was created
        read_only  take no lock, write nothing, and create nothing
        as_of      open the state after an earlier update, for reading only
        """
        folder = Path(folder)
        if read_only or as_of is not None:
            return cls(
                folder, restored(folder, settings, as_of), lock=None, as_of=as_of
            )

        lock = _locked(folder)
        try:
            if is_unfinished(folder):
                _create(folder, settings or Settings())
            found = restored(folder, settings, as_of=None)
            lock.mark(found.end.store)
            store = cls(folder, found, lock)
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
        """Let another process write; may be called again. Nothing is lost if it is never called.

        An update under way in another thread is waited for. The store can still be asked; `reopen`
        makes it writable again.
        """
        self._refuse_change_in_change()
        with self._turn:
            self._close()

    def _close(self) -> None:
        if self._writer is not None:
            if self._can_write:
                self._end = self._writer.position
            self._writer.close()
        if self._lock is not None:
            self._lock.release()

    def refresh(self) -> int:
        """Read what another process wrote since this store was opened for reading, or closed.

        Returns the number of updates. A store that is open for writing is up to date, and one that
        was opened as of an earlier update stays as it is.
        """
        self._refuse_change_in_change()
        with self._turn:
            if self._as_of is not None or self._can_write:
                return 0
            return self._catch_up(read_log(self.folder))

    def reopen(self) -> None:
        """Write again after `close`, or after the disk failed.

        Takes the lock, and reads what is on disk and not yet here: what other processes wrote
        meanwhile, or an update of this process that failed after its last byte had been written.
        This takes as long as those updates take, not as long as opening the store.
        """
        self._refuse_change_in_change()
        with self._turn:
            if self.is_writable:
                return
            self._close()
            lock = _locked(self.folder)
            try:
                log = read_log(self.folder)
                self._catch_up(log)
                lock.mark(self._end.store)
                writer = LogWriter(self.folder, self._end)
                writer.recover(len(log.content))
            except BaseException:
                lock.release()
                raise
            self._lock = lock
            self._writer = writer

    @property
    def _can_write(self) -> bool:
        return self._lock is not None and self._lock.is_held

    def _catch_up(self, log: Log) -> int:
        """Bring the state up to date with a log; returns how many updates that were."""
        before = self.sequence
        # Its history was forgotten meanwhile.
        if log.beginning.start != self._end.start:
            found = restored(self.folder, self.settings, as_of=None)
            self._state = found.state
            self._end = found.end
            return self.sequence - before
        logged = log.after(self._end)
        if logged:
            self._state = caught_up(self._state, [entry.record for entry in logged])
            self._end = logged[-1].position_after(self._end)
        return len(logged)

    def update(
        self,
        add: Rows = (),
        retract: Iterable[Retracted] = (),
        describe: Iterable[Description] = (),
        *,
        note: Note | None = None,
    ) -> Update:
        """Retract facts, then add facts; all or nothing, and on disk when it returns.

        note  makes a note from what the update did; it is kept with the update if that changes
              anything

        To retract an entity, name it alone: all its facts are retracted. The other arguments are
        those of `CaseBase.update`.
        """
        wanted = PlannedUpdate(add, retract, describe, note)
        self._refuse_change_in_change()
        with self._turn:
            writer = self._checked_writer()
            before = self._state
            step = wanted.after(before)
            if step.state is not before:
                record = _record(before, step, note)
                with self._closed_on_failure():
                    self._write(writer, [record], [step.state], nullcontext())
        return step.update

    def update_all(
        self,
        all_wanted: Iterable[PlannedUpdate],
        meanwhile: Meanwhile | None = None,
    ) -> list[Step | CasegraphError]:
        """Make several updates, one after the other; all are on disk when it returns.

        meanwhile  from the state after all updates, makes a context manager that is active while
                   they are written; questions are answered from this state when it has ended

        Each update is made completely or not at all. One that is malformed is left out: its error
        is in the place of its result.
        """
        made: list[Step | CasegraphError] = []
        records = []
        states = []
        self._refuse_change_in_change()
        with self._turn:
            writer = self._checked_writer()
            state = self._state
            for wanted in all_wanted:
                try:
                    step = wanted.after(state)
                except CasegraphError as error:
                    made.append(error)
                    continue
                made.append(step)
                if step.state is not state:
                    records.append(_record(state, step, wanted.note))
                    states.append(step.state)
                    state = step.state
            if states:
                context = nullcontext() if meanwhile is None else meanwhile(state)
                with self._closed_on_failure():
                    self._write(writer, records, states, context)
        return made

    def history(self, since: int = 0) -> Iterator[Event]:
        """The facts that were added and retracted after update `since`, in order.

        Of one update, retracted facts come before added facts, and both are sorted by name.
        """
        log = read_log(self.folder)
        if log.beginning.start != self._end.start:
            problem = "its history was forgotten since it was opened; open it again"
            raise UnreadableFile(str(self.folder), problem)
        yield from events_in(log, since, self.sequence)

    def notes(self) -> Iterator[tuple[int, bytes]]:
        """The notes of updates that have one, each with the number of its update, oldest first."""
        log = read_log(self.folder)
        for logged in log.after(log.first):
            if logged.record.note:
                yield logged.record.sequence, logged.record.note

    def compact(self, show: Show = quiet, *, forget_history: bool = False) -> None:
        """Count everything that questions need, and write that and the facts as a new generation.

        forget_history  start a new log with a single update that adds all facts; what was
                        retracted before is gone for good
        """
        self._refuse_change_in_change()
        with self._turn, self._closed_on_failure():
            writer = self._checked_writer()
            if forget_history:
                writer = self._forget_history(writer)
            elif self._state.has_many_unused_names:
                self._state = self._state.compacted()
            self.prepare(show=show)
            self._write_generation(writer)

    def _check_writable(self) -> None:
        self._checked_writer()

    def _keep_settings(self, settings: Settings) -> None:
        writer = self._checked_writer()
        with self._closed_on_failure(), writer.guarded():
            tuned_settings.write(self.folder, writer.position.store, settings)

    @contextmanager
    def _closed_on_failure(self) -> Iterator[None]:
        """Close the store if the disk fails in the `with` block.

        Nothing more could be written, and a lock still held would keep everybody from opening the
        store again, as the error advises.
        """
        try:
            yield
        except UnreadableFile:
            if not self.is_writable:
                self._close()
            raise

    def _write(
        self,
        writer: LogWriter,
        records: list[Record],
        states: list[State],
        context: AbstractContextManager[None],
    ) -> None:
        """Steps 2 to 5 of updates: write their records, then answer from the last state.

        states   the state after each
        context  in which the records are written

        An exception amid these steps leaves both done, or neither.
        """
        try:
            with context:
                writer.append(records)
            self._state = states[-1]
        except BaseException:
            self._follow_the_disk(states)
            raise

    def _follow_the_disk(self, states: list[State]) -> None:
        """After an exception in `_write`: answer from the last state whose record is on disk.

        States differ by one update each, so its number tells which of them is on disk.
        """
        writer = self._writer_after_interrupt()
        for state in states:
            if writer is not None and writer.position.sequence == state.sequence:
                self._state = state

    def _writer_after_interrupt(self) -> LogWriter | None:
        """A writer whose position is the end of the log on disk; None if the store is read-only.

        A writer that was interrupted refuses to go on, as it cannot know what it has written. So
        the log is read from disk, and a new writer takes over at the end of its last complete
        record, acknowledges that, and cuts off the rest. If nothing was being written, or the disk
        failed, the writer stays as it is.
        """
        writer = self._writer
        if writer is None or not writer.was_interrupted:
            return writer
        log = read_log(self.folder)
        logged = log.after(writer.position)
        writer.close()
        end = logged[-1].position_after(writer.position) if logged else writer.position
        self._writer = LogWriter(self.folder, end)
        self._writer.recover(len(log.content))
        return self._writer

    def _checked_writer(self) -> LogWriter:
        """The writer; `ReadOnlyStore` if this store cannot be written."""
        if self._writer is None:
            problem = "was opened for reading only; open it again for writing"
            raise ReadOnlyStore(str(self.folder), problem)
        try:
            self._writer.check_comes_next_after(self.sequence)
        except ReadOnlyStore:
            self._close()
            raise
        return self._writer

    def _recover(self, found: Restored) -> None:
        """On opening for writing: cut off an unfinished update, and acknowledge all before it."""
        writer = self._checked_writer()
        if found.torn:
            message = "%s: cut off %d bytes of an update that was not finished"
            logger.warning(message, self.folder, found.torn)
        writer.recover(found.end.size + found.torn)
        if found.replayed > MOST_REPLAYED or found.rows > MOST_REPLAYED_ROWS:
            self._write_generation(writer)

    def _write_generation(self, writer: LogWriter) -> None:
        with writer.guarded():
            generations.write(self.folder, self._state, writer.position)

    def _forget_history(self, writer: LogWriter) -> LogWriter:
        """Start a new log with all facts as a single update; returns its writer.

        The old log counts until `acknowledged` names the new one, which is a single write.
        """
        empty = State.of(Graph(), self.settings, sequence=self.sequence)
        graph = self.graph.compacted()
        descriptions = self.state.descriptions
        step = empty.after(Change(added=graph.fact_rows()), graph)
        # Without facts nothing changed, and the state would keep its number.
        state = step.state.described(descriptions, self.sequence + 1)
        step = step._replace(state=state, described=tuple(descriptions))
        first = _record(empty, step)
        with writer.guarded():
            settings = read_log(self.folder).beginning.settings
            end = start_log(self.folder, writer.position, settings, first)
            new_writer = LogWriter(self.folder, end)
            new_writer.recover(end.size)
        writer.close()
        self._writer = new_writer
        self._end = end
        self._state = step.state
        return new_writer


def events_in(log: Log, since: int, until: int) -> Iterator[Event]:
    """What was added and retracted in the updates of a log after `since`, up to `until`."""
    for logged in log.after(log.first):
        record = logged.record
        if since < record.sequence <= until:
            when = datetime.fromtimestamp(record.time / 1e6, tz=UTC)
            for fact in sorted(record.facts(record.retracted)):
                yield Event(record.sequence, when, "-", fact)
            for fact in sorted(record.facts(record.added)):
                yield Event(record.sequence, when, "+", fact)
            for fact in described_as_facts(record.described):
                yield Event(record.sequence, when, "=", fact)


def described_as_facts(described: Iterable[Description]) -> Iterator[Fact]:
    """Descriptions as an `Event` has them."""
    for name, label, types in described:
        if label:
            yield Fact(name, "label", label)
        for its_type in types:
            yield Fact(name, "type", its_type)


def _record(before: State, step: Step, note: Note | None = None) -> Record:
    """What an update changed, with the names of all facts that it changed."""
    graph = step.graph
    change = step.change
    rows = np.concatenate([change.retracted, change.added])
    entities, rows[:, [0, 2]] = _with_places(
        graph.entities, len(before.graph.entities), rows[:, [0, 2]]
    )
    relations, rows[:, 1] = _with_places(
        graph.relations, len(before.graph.relations), relation_of(rows[:, 1])
    )
    return Record(
        sequence=step.state.sequence,
        time=time.time_ns() // 1000,
        entities=entities,
        relations=relations,
        retracted=rows[: len(change.retracted)],
        added=rows[len(change.retracted) :],
        described=step.described,
        note=b"" if note is None else note(step.update),
    )


def _with_places(names: Names, known: int, used: Ids) -> tuple[EncodedNames, Ids]:
    """The names that a record needs, and for each use of a name its place among them.

    known  the number of names before the update; the update uses all that came with it

    Known names come first, then the new ones, of which there may be millions.
    """
    new = EncodedNames(*names.encoded_from(known))
    is_known = used < known
    if not is_known.any():
        return new, used - known
    known_ids, known_places = np.unique(used[is_known], return_inverse=True)
    places = used + (len(known_ids) - known)
    places[is_known] = known_places
    return EncodedNames.of(map(names.__getitem__, known_ids.tolist())).then(new), places


def _locked(folder: Path) -> WriterLock:
    """The lock of a folder that is a store, or in which a store can be created."""
    with writing(folder):
        folder.mkdir(exist_ok=True)
    # In this order: another process may be creating the store, and finish in between.
    if not is_unfinished(folder) and not is_there(folder / ACKNOWLEDGED):
        if is_store(folder):
            raise DamagedStore(str(folder / ACKNOWLEDGED), 0, "it is missing")
        problem = "is neither a store nor empty; choose another folder"
        raise IncompatibleFile(str(folder), problem)
    return WriterLock(folder)


def _create(folder: Path, settings: Settings) -> None:
    settings_json = json.dumps(settings.as_dict())
    start_store(folder, store=token_bytes(16), settings=settings_json.encode())
