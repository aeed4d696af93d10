"""
The feed: sends changes to all subscribers, in the order in which they happened.

Each listener has a queue of bounded length. One that does not keep up is disconnected; it can
reconnect with the number of the last change it has seen, and gets the rest.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from datetime import UTC, datetime
from http import HTTPStatus
from itertools import groupby
from typing import NamedTuple

from casegraph.answering.state import Step
from casegraph.graph.facts import Fact
from casegraph.service.limits import Limits
from casegraph.service.models import ChangeMessage, Job
from casegraph.service.problems import Refused
from casegraph.storage.store.store import CaseStore, Event, described_as_facts

QUEUE = 256  # messages that wait for a listener
HEARTBEAT = 15.0  # seconds
LISTED = 100  # facts of one change
HEARTBEAT_LINE = b": still here\n\n"


class Message(NamedTuple):
    """An event of a stream: its name, its document, and the number of the change, if it is one."""

    name: str
    document: str
    sequence: int | None = None

    def line(self) -> bytes:
        """The event as a stream of server-sent events has it."""
        number = "" if self.sequence is None else f"id: {self.sequence}\n"
        return f"{number}event: {self.name}\ndata: {self.document}\n\n".encode(
            errors="replace"
        )


class Feed:
    """Everyone who listens to changes and jobs."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._listeners: set[asyncio.Queue[Message | None]] = set()

    def __len__(self) -> int:
        return len(self._listeners)

    def tell(self, message: Message) -> None:
        """Send a message to everyone; listeners that do not keep up are disconnected."""
        for queue in list(self._listeners):
            if queue.full():
                self._cut(queue)
            else:
                queue.put_nowait(message)

    def close(self) -> None:
        """Disconnect everyone."""
        for queue in list(self._listeners):
            self._cut(queue)

    def check_room(self) -> None:
        """`Refused` if there are too many listeners already."""
        if len(self._listeners) >= self._limits.streams:
            message = f"{len(self._listeners)} are listening already; come back later"
            raise Refused(HTTPStatus.TOO_MANY_REQUESTS, message)

    async def stream(
        self, missed: Callable[[], Awaitable[tuple[list[Message], int]]]
    ) -> AsyncIterator[bytes]:
        """What a new listener is told: first what it missed, then what happens.

        missed  what it missed, and the number of the last change that this includes; it is asked
                when the listener is there already, so that nothing happens in between
        """
        queue: asyncio.Queue[Message | None] = asyncio.Queue(QUEUE)
        self._listeners.add(queue)
        try:
            messages, last = await missed()
            for message in messages:
                yield message.line()
            while True:
                try:
                    told = await asyncio.wait_for(queue.get(), HEARTBEAT)
                except TimeoutError:
                    yield HEARTBEAT_LINE
                    continue
                if told is None:
                    return
                is_known = told.sequence is not None and told.sequence <= last
                if not is_known:
                    yield told.line()
        finally:
            self._listeners.discard(queue)

    def _cut(self, queue: "asyncio.Queue[Message | None]") -> None:
        self._listeners.discard(queue)
        while not queue.empty():
            queue.get_nowait()
        queue.put_nowait(None)


def of_change(change: ChangeMessage) -> Message:
    """A change as a message."""
    return Message("change", change.model_dump_json(), change.sequence)


def of_job(job: Job) -> Message:
    """The progress of a job as a message."""
    return Message("job", job.model_dump_json())


def hello(sequence: int) -> Message:
    """The first message to a listener: the number of the last update before it."""
    return Message("hello", json.dumps({"sequence": sequence}), sequence)


def changes_since(store: CaseStore, sequence: int) -> Iterator[ChangeMessage]:
    """The updates of a store after this one, from its log."""
    for number, events in groupby(
        store.history(sequence), key=lambda event: event.sequence
    ):
        yield change_of(number, events)


def change_made(step: Step) -> ChangeMessage:
    """An update that was just made, as it is sent to listeners."""
    return _change(
        step.state.sequence,
        datetime.now(UTC),
        added=sorted(step.graph.facts_in(step.change.added)),
        retracted=sorted(step.graph.facts_in(step.change.retracted)),
        described=list(described_as_facts(step.described)),
    )


def change_of(sequence: int, events: Iterable[Event]) -> ChangeMessage:
    """One update as it is sent to listeners."""
    facts: dict[str, list[Fact]] = {"+": [], "-": [], "=": []}  # by sign
    when = datetime.now(UTC)
    for event in events:
        when = event.time
        facts[event.sign].append(event.fact)
    return _change(
        sequence,
        when,
        added=facts["+"],
        retracted=facts["-"],
        described=facts["="],
    )


def _change(
    sequence: int,
    when: datetime,
    *,
    added: list[Fact],
    retracted: list[Fact],
    described: list[Fact],
) -> ChangeMessage:
    return ChangeMessage(
        sequence=sequence,
        time=when.isoformat(),
        added=[*added[:LISTED]],
        retracted=[*retracted[:LISTED]],
        described=[*described[:LISTED]],
        added_count=len(added),
        retracted_count=len(retracted),
        described_count=len(described),
    )
