"""A service that runs in this process, as a real server in a thread."""

from __future__ import annotations

import time
from contextlib import contextmanager
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple

import httpx

from casegraph import CaseStore, world
from casegraph.service.core import Service
from casegraph.service.keys import Keys, read_keys
from casegraph.service.limits import Limits
from casegraph.service.server import Server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

READ_KEY = "a key that may read, of enough bytes"
WRITE_KEY = "a key that may write, of enough bytes"
PATIENCE = 60.0  # seconds: generous, since nothing is measured


class Live(NamedTuple):
    """A service that runs, and a client that may write."""

    service: Service
    address: str
    client: httpx.Client

    def get(self, path: str, **params: object) -> Any:
        """The JSON of a response that must succeed."""
        response = self.client.get(path, params=params)  # type: ignore[arg-type]
        assert response.status_code == 200, response.text
        return response.json()

    def post(self, path: str, body: object, status: int = 200) -> Any:
        """The JSON of a response with this status."""
        response = self.client.post(path, json=body)
        assert response.status_code == status, response.text
        return response.json()

    def add(self, *facts: tuple[str, str, str]) -> int:
        """Add facts; returns the number of the update."""
        sequence: int = self.post("/v1/update", {"add": facts})["sequence"]
        return sequence


def two_keys() -> Keys:
    """A key that may read, and one that may write."""
    return read_keys(
        None, {"CASEGRAPH_READ_KEY": READ_KEY, "CASEGRAPH_WRITE_KEY": WRITE_KEY}
    )


def patient() -> Limits:
    """Limits of a service that lets a read take its time, on however busy a machine."""
    return Limits(seconds=PATIENCE, slow_seconds=PATIENCE)


def bearer(key: str) -> dict[str, str]:
    """The header that shows a key."""
    return {"Authorization": f"Bearer {key}"}


@contextmanager
def live(
    folder: Path,
    *,
    keys: Keys | None = None,
    limits: Limits | None = None,
    facts: list[Any] | None = None,
) -> Iterator[Live]:
    """Serve a store that holds these facts, or the bundled graph.

    Within the limits that are given, or with patience.
    """
    is_bundled = facts is None
    with CaseStore.open(folder) as store:
        store.update(add=world.facts() if facts is None else facts)
        questions = world.questions() if is_bundled else ()
        service = Service(store, keys, limits or patient(), questions=questions)
        server = Server(service, "127.0.0.1", 0)
        thread = Thread(target=server.run, daemon=True)
        thread.start()
        headers = bearer(WRITE_KEY) if keys else {}
        with httpx.Client(
            base_url=server.address, headers=headers, timeout=PATIENCE
        ) as client:
            wait_until_ready(client)
            try:
                yield Live(service, server.address, client)
            finally:
                server.stop()
                thread.join(PATIENCE)
        assert not thread.is_alive()


def wait_until_ready(client: httpx.Client) -> None:
    """Wait until everything is counted."""
    give_up = time.monotonic() + PATIENCE
    while time.monotonic() < give_up:
        try:
            if client.get("/readyz").status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.02)
    raise AssertionError("the service did not become ready")
