"""
Idempotency keys: an update that is sent again under the same key is made once.

A key is kept in the log of the store, in the record of its update, so that either both are on disk
or neither. So an update that is sent again after a crash is not made twice either. An update that
changes nothing has no record; its key is remembered while the service runs.
"""

import asyncio
import json
from collections import OrderedDict
from collections.abc import Callable
from hashlib import sha256
from http import HTTPStatus
from typing import NamedTuple

from casegraph.answering.state import Update as Done
from casegraph.service.models import UpdateRequest, UpdateResponse
from casegraph.service.problems import Refused
from casegraph.storage.store.store import CaseStore

REMEMBERED = 10_000  # the newest keys
Note = Callable[[Done], bytes]
ANOTHER_UPDATE = "this idempotency key was used for another update; choose a new one"


class Made(NamedTuple):
    """An update that was made, or is being made.

    request  a digest of what was asked for
    updated  what it did
    """

    request: str
    updated: asyncio.Future[UpdateResponse]


class UpdatesByKey:
    """The updates that have a key; called in the event loop only."""

    def __init__(self) -> None:
        self._made: OrderedDict[str, Made] = OrderedDict()

    def find(
        self, key: str, update: UpdateRequest
    ) -> asyncio.Future[UpdateResponse] | None:
        """The update that was made under a key; `Refused` if it was another one."""
        made = self._made.get(key)
        if made is None:
            return None
        if made.request != digest_of(update):
            raise Refused(HTTPStatus.CONFLICT, ANOTHER_UPDATE)
        return made.updated

    def remember(
        self, key: str, request: str, updating: asyncio.Future[UpdateResponse]
    ) -> None:
        """Remember an update that is being made, unless it fails."""
        self._made[key] = Made(request, updating)
        while len(self._made) > REMEMBERED:
            self._made.popitem(last=False)

        def forget_failure(done: asyncio.Future[UpdateResponse]) -> None:
            if done.cancelled() or done.exception() is not None:
                self._made.pop(key, None)

        updating.add_done_callback(forget_failure)

    def remember_kept(self, kept: list["Kept"]) -> None:
        """Remember the updates that the log has keys for."""
        for one in kept:
            done: asyncio.Future[UpdateResponse] = (
                asyncio.get_running_loop().create_future()
            )
            done.set_result(one.updated)
            self.remember(one.key, one.request, done)


class Kept(NamedTuple):
    """A key as it is found in the log."""

    key: str
    request: str
    updated: UpdateResponse


def digest_of(update: UpdateRequest) -> str:
    """A digest of the content of an update."""
    return sha256(update.model_dump_json().encode()).hexdigest()


def note_of(key: str, update: UpdateRequest) -> Note:
    """The function that makes the note for the log: the key, the request, and what was done."""
    request = digest_of(update)

    def note(done: Done) -> bytes:
        did = UpdateResponse.from_update(done, sequence=0).model_dump(
            exclude={"sequence"}
        )
        return json.dumps({"key": key, "request": request, "did": did}).encode()

    return note


def kept_in(store: CaseStore) -> list[Kept]:
    """The keys that a store has kept, the newest of them."""
    kept = []
    for sequence, note in store.notes():
        noted = json.loads(note)
        done = UpdateResponse(sequence=sequence, **noted["did"])
        kept.append(Kept(noted["key"], noted["request"], done))
    return kept[-REMEMBERED:]
