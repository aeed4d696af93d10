"""
The server: uvicorn with the application, on a safe address.

Without keys it listens to this computer only. A client that begins a request and does not finish
its head in time, or in so many bytes, is cut off: uvicorn itself waits forever.
"""

import asyncio
import logging
import socket
import sys
from collections.abc import Iterable
from ipaddress import ip_address

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from casegraph.errors import CasegraphError, InvalidArgument
from casegraph.service.app import application
from casegraph.service.core import Service
from casegraph.service.keys import Keys

HEAD_SECONDS = 10.0  # the head of a request must arrive within this time
HEAD_BYTES = 1 << 16  # the largest head of a request that arrives in several parts
KEEP_ALIVE = 15  # seconds that a connection may wait for the next request
CONNECTIONS = 2_048
GRACE = 5  # seconds that requests under way have when the server is stopped
# How long a thread that returns from a kernel waits for another one that runs Python code. A
# question returns many times; with Python's default of 5 ms it would wait longer than it computes.
SWITCH_SECONDS = 0.0002
HTTP_PORTS = (80, 443)  # clients leave out these ports in the name of the host

logger = logging.getLogger(__name__)


class Protocol(HttpToolsProtocol):
    """HTTP/1.1 by uvicorn, with limits on the time and the size of the head of a request."""

    _deadline: asyncio.TimerHandle | None = None
    _head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has connected; its request must follow soon."""
        super().connection_made(transport)
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        """Bytes arrived: perhaps the rest of a head, perhaps the beginning of the next."""
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self._stop_waiting()
        elif self.cycle is None or self.cycle.response_complete:
            self._expect_head()
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES and not self.transport.is_closing():
                self.send_400_response("The head of the request is too large.")

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has disconnected."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _expect_head(self) -> None:
        if self._deadline is None:
            self._head_bytes = 0
            self._deadline = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def check_address(host: str, keys: Keys) -> None:
    """An error if other computers can reach an address, and there are no keys."""
    if is_loopback(host) or len(keys):
        return
    expected = "an address of this computer such as 127.0.0.1, or keys (--keys FILE)"
    raise InvalidArgument("host", host, expected)


def is_loopback(host: str) -> bool:
    """Whether only this computer can reach an address."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def hosts_of(host: str, port: int, also: Iterable[str] = ()) -> list[str]:
    """The host names, with ports, that requests may have."""
    names = (
        ["127.0.0.1", "localhost", "[::1]"] if is_loopback(host) else [_bracketed(host)]
    )
    allowed = [f"{name}:{port}" for name in names]
    if port in HTTP_PORTS:
        allowed += names
    for name in also:
        has_port = ":" in name.rpartition("]")[2]
        allowed += [name] if has_port else [name, f"{name}:{port}"]
    return allowed


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


class _Server(uvicorn.Server):
    """Disconnects listeners of events when it shuts down; else it would wait for them."""

    service: Service

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the server."""
        self.service.feed.close()
        await super().shutdown(sockets)


class Server:
    """A service that listens; `run` serves until it is interrupted, or `stop` is called.

    port  0 for any free port
    also  further host names that requests may have
    """

    def __init__(
        self, service: Service, host: str, port: int, also: Iterable[str] = ()
    ) -> None:
        check_address(host, service.keys)
        self._listening = _listening(host, port)
        port = self._listening.getsockname()[1]
        shown = "localhost" if is_loopback(host) else _bracketed(host)
        self.address = f"http://{shown}:{port}"
        config = uvicorn.Config(
            application(service, hosts_of(host, port, also)),
            http=Protocol,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=KEEP_ALIVE,
            timeout_graceful_shutdown=GRACE,
            limit_concurrency=CONNECTIONS,
        )
        self._server = _Server(config)
        self._server.service = service

    def run(self) -> None:
        """Serve."""
        sys.setswitchinterval(SWITCH_SECONDS)
        self._server.run(sockets=[self._listening])

    def stop(self) -> None:
        """End `run`, from another thread."""
        self._server.should_exit = True


def _listening(host: str, port: int) -> socket.socket:
    """A socket that listens; an error that says what to do if the address is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named, since asyncio sends small parts at once (TCP_NODELAY) only then; else
    # each response would wait some 40 ms for the client to acknowledge its head.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host.strip("[]"), port))
        listening.listen(CONNECTIONS)
    except OSError as error:
        listening.close()
        problem = (error.strerror or str(error)).lower()
        message = (
            f"{host}:{port}: cannot be listened to ({problem}); choose another --port"
        )
        raise CasegraphError(message) from error
    listening.setblocking(False)
    return listening
