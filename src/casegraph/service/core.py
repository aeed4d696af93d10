"""
The service itself: a store, the threads that read from it, the one that writes, and listeners.

A read is a function of a snapshot, run by one of a few threads; it never waits for a write, and is
stopped if its time is up or its client disconnects. Writes run one after the other in a separate
thread. When a write is on disk, its client gets the response, and all listeners are notified. A
write that has begun is finished, even if its client has disconnected.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from threading import Event as Flag
from threading import Thread
from typing import TypeVar

from casegraph.casebase import CaseBase
from casegraph.errors import CasegraphError
from casegraph.graph.descriptions import Description
from casegraph.graph.facts import Fact
from casegraph.kernels import StopFlag
from casegraph.running import Stopped, stopped_by
from casegraph.service import feed
from casegraph.service.counting import Counts
from casegraph.service.idempotency import (
    Note,
    UpdatesByKey,
    digest_of,
    kept_in,
    note_of,
)
from casegraph.service.jobs import JobRunner
from casegraph.service.keys import Keys
from casegraph.service.limits import Limits
from casegraph.service.metrics import Metrics
from casegraph.service.models import Job, NamedQuestion, UpdateRequest, UpdateResponse
from casegraph.service.problems import Refused
from casegraph.service.snapshots import Snapshots
from casegraph.service.turns import Durations, Turns
from casegraph.service.uploads import Upload
from casegraph.service.views.results import directions_asked
from casegraph.service.writer import Writer
from casegraph.storage.store.store import CaseStore, PlannedUpdate

T = TypeVar("T")
logger = logging.getLogger(__name__)
MOST_PREPARED = 3  # at the start, this many states are counted if updates keep arriving


class Service:
    """What the routes call.

    store      the store that is served; the service is its only writer
    name       the name on the web page
    questions  held-out facts to suggest as questions; the bundled graph has some
    """

    def __init__(
        self,
        store: CaseStore,
        keys: Keys | None = None,
        limits: Limits | None = None,
        *,
        name: str = "",
        questions: Iterable[Fact] = (),
    ) -> None:
        self.store = store
        self.keys = keys or Keys()
        self.limits = limits or Limits()
        self.name = name or store.folder.name
        self.questions = tuple(questions)
        self.snapshots = Snapshots(store)
        self.metrics = Metrics()
        self.feed = feed.Feed(self.limits)
        self.jobs = JobRunner(self.limits, self._tell_of_job)
        self._turns = Turns()
        self._durations = Durations()
        self._counts = Counts()
        self._readers = ThreadPoolExecutor(
            self.limits.threads, thread_name_prefix="casegraph-read"
        )
        self._slow_readers = ThreadPoolExecutor(
            self.limits.slow_threads, thread_name_prefix="casegraph-slow"
        )
        self._writer = Writer(store, self._counts, self._turns, self.feed)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_ready = Flag()
        self._is_over = StopFlag()
        self._by_key = UpdatesByKey()
        self._kept_keys: asyncio.Task[None] | None = None

    @property
    def is_ready(self) -> bool:
        """Whether everything is counted that the first questions need."""
        return self._is_ready.is_set()

    @property
    def is_writable(self) -> bool:
        """Whether the store can be written."""
        return self.store.is_writable

    @property
    def first_sequence(self) -> int:
        """The earliest update whose state can be read."""
        return self.store.first_sequence

    async def start(self) -> None:
        """Start counting what questions will need; questions may be asked meanwhile."""
        self._loop = asyncio.get_running_loop()
        Thread(target=self._prepare, name="casegraph-count", daemon=True).start()

    async def stop(self) -> None:
        """Disconnect all listeners, cancel the jobs, and finish what is being written."""
        self.feed.close()
        self._is_over.set()
        self._counts.close()
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, self.jobs.close)
        await self._writer.close()
        for readers in (self._readers, self._slow_readers):
            readers.shutdown(wait=False, cancel_futures=True)

    async def read(self, work: Callable[[], T], *, slow: bool = False) -> T:
        """Run some work in a thread; `Refused` if it takes too long.

        slow  whether it may take long; then quick questions do not wait for it

        If its client disconnects, or its time is up, it is stopped, or not even begun.
        """
        return await self._in_time(self._in_thread(work, slow=slow), slow=slow)

    async def read_at(
        self,
        as_of: int | None,
        work: Callable[[CaseBase], T],
        *,
        slow: bool = False,
        about: Iterable[NamedQuestion] = (),
    ) -> T:
        """Run some work with the state after an update; None: with the current one.

        about  the questions that the work answers: what they need is counted first
        """
        if as_of is not None and as_of != self.store.sequence:
            return await self.read(lambda: work(self.snapshots.at(as_of)), slow=True)
        cases = self.snapshots.now()

        async def count_and_work() -> T:
            for direction in directions_asked(cases, about):
                await self._counts.made(cases.state, direction)
            return await self._in_thread(lambda: work(cases), slow=slow)

        return await self._in_time(count_and_work(), slow=slow)

    async def answer(
        self, as_of: int | None, question: NamedQuestion, work: Callable[[CaseBase], T]
    ) -> T:
        """Run the work that answers one question, with few answers; like `read_at`.

        If what the question needs is counted, and such questions are quick, the work runs right
        here, in the event loop: handing it to a thread would take longer than the work.
        """
        async with self._turns.turn():
            cases = self.snapshots.now()
            direction = next(iter(directions_asked(cases, [question])), None)

            def timed(cases: CaseBase) -> T:
                with self._durations.measured(direction):
                    return work(cases)

            is_current = as_of is None or as_of == cases.state.sequence
            if (
                is_current
                and direction is not None
                and self._is_quick(cases, direction)
            ):
                return timed(cases)
        return await self.read_at(as_of, timed, about=[question])

    def _is_quick(self, cases: CaseBase, direction: int) -> bool:
        """Whether a question (entity, direction, ?) can be answered at once."""
        if not self._durations.is_quick(direction):
            return False
        return self._counts.are_made(cases.state, direction)

    async def _in_time(self, work: Awaitable[T], *, slow: bool) -> T:
        """The result of some work; `Refused` if it takes too long."""
        seconds = self.limits.slow_seconds if slow else self.limits.seconds
        try:
            async with asyncio.timeout(seconds):
                return await work
        except TimeoutError:
            advice = (
                "ask for less"
                if self.is_ready
                else "the service is still counting; try later"
            )
            message = f"this takes longer than {seconds:g} s; {advice}"
            raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, message) from None

    async def _in_thread(self, work: Callable[[], T], *, slow: bool) -> T:
        """The result of some work in one of the reading threads; it stops when nobody waits."""
        nobody_waits = StopFlag()

        def stoppable() -> T:
            with stopped_by(nobody_waits):
                return work()

        loop = asyncio.get_running_loop()
        try:
            if slow:
                return await loop.run_in_executor(self._slow_readers, stoppable)
            async with self._turns.turn():
                return await loop.run_in_executor(self._readers, stoppable)
        finally:
            nobody_waits.set()

    async def write(self, update: UpdateRequest, key: str | None) -> UpdateResponse:
        """Make an update; it is on disk when this returns.

        key  chosen by the client: the same update with the same key is made once

        An update that has begun is finished, even if the request is cancelled (`shield`).
        """
        if key is None:
            updating = asyncio.ensure_future(self._written(update))
            return await asyncio.shield(updating)
        await self._know_kept_keys()
        known = self._by_key.find(key, update)
        if known is not None:
            return await asyncio.shield(known)
        updating = asyncio.ensure_future(self._written(update, note_of(key, update)))
        self._by_key.remember(key, digest_of(update), updating)
        return await asyncio.shield(updating)

    async def add_file(self, upload: Upload) -> UpdateResponse:
        """Add the facts and the descriptions of a file, as one update."""

        def content() -> PlannedUpdate:
            facts = upload.with_header().facts()
            return PlannedUpdate(list(facts), (), facts.described)

        wanted = await self.read(content, slow=True)
        writing = asyncio.ensure_future(self._writer.write(wanted))
        made = await asyncio.shield(writing)
        return UpdateResponse.from_update(made.update, made.state.sequence)

    async def _know_kept_keys(self) -> None:
        """Read the keys that the log has kept; once, when the first key is used."""
        if self._kept_keys is None:
            self._kept_keys = asyncio.ensure_future(self._read_kept_keys())
        await asyncio.shield(self._kept_keys)

    async def _read_kept_keys(self) -> None:
        kept = await self._writer.run(lambda: kept_in(self.store))
        self._by_key.remember_kept(kept)

    def now(self) -> dict[str, float]:
        """The current values of gauges, for metrics."""
        graph = self.store.graph
        return {
            "sequence": self.store.sequence,
            "facts": len(graph),
            "entities": len(graph.entities),
            "relations": len(graph.relations),
            "listeners": len(self.feed),
            "ready": float(self.is_ready),
        }

    def _prepare(self) -> None:
        """Count what questions need, for the current state; updates may arrive meanwhile."""
        try:
            with stopped_by(self._is_over):
                for _ in range(MOST_PREPARED):
                    state = self.store.state
                    self.snapshots.now().prepare()
                    if self.store.state is state:
                        break
        except Stopped:
            return
        except CasegraphError:
            logger.exception("cannot count what questions need")
        self._is_ready.set()

    async def _written(
        self, update: UpdateRequest, note: Note | None = None
    ) -> UpdateResponse:
        described = []
        for given in update.describe:
            described.append(Description(given.name, given.label, tuple(given.types)))
        wanted = PlannedUpdate(update.add, update.retract, described, note)
        made = await self._writer.write(wanted)
        return UpdateResponse.from_update(made.update, made.state.sequence)

    def _tell_of_job(self, job: Job) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.feed.tell, feed.of_job(job))
