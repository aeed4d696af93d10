"""
The guard: every request passes it before any route sees it.

It checks, in this order: the host name is allowed; the route has this method; a request that could
change something does not come from another site; its key permits it; its body is small and arrives
in time; there are not too many requests at once. Then the route runs, and is cancelled if the
client disconnects. Responses get security headers.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, MutableMapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

from casegraph.service.core import Service
from casegraph.service.keys import Right
from casegraph.service.problems import MEDIA_TYPE, Refused, headers_of, problem

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

logger = logging.getLogger(__name__)

SAFE = ("GET", "HEAD")
POLICY = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
ALWAYS_SENT = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
TOO_BUSY = "there is more to do than can be done; try later"
NOT_CACHED = (b"cache-control", b"no-cache")


@dataclass(frozen=True, slots=True)
class Rule:
    """What a route needs: the right to use it.

    streams  whether its response has no end, so that it is not counted as a request under way
    is_file  whether its body is a file of facts, which may be larger
    """

    right: Right
    streams: bool = False
    is_file: bool = False


Rules = Callable[[str, str], tuple[str, Rule]]
"""From a method and a path to the name of the route and its rule."""


class Guard:
    """Wraps the application.

    hosts  the host names, with ports, that requests may have
    """

    def __init__(
        self, app: Application, service: Service, rules: Rules, hosts: Iterable[str]
    ) -> None:
        self._app = app
        self._service = service
        self._limits = service.limits
        self._rules = rules
        self._hosts = frozenset(host.lower() for host in hosts)
        self._under_way = Counter[str]()
        self._received = 0  # bytes of requests that are not complete yet

    async def __call__(
        self, scope: MutableMapping[str, Any], receive: Receive, send: Send
    ) -> None:
        """Let a request pass, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        started = monotonic()
        route, rule = self._rules(scope["method"], scope["path"])
        sender = Sender(send, self._limits.slow_client)
        try:
            await self._pass(scope, receive, sender, rule)
        finally:
            if sender.status:
                seconds = monotonic() - started
                self._service.metrics.answered(
                    scope["method"], route, sender.status, seconds
                )

    async def _pass(
        self,
        scope: MutableMapping[str, Any],
        receive: Receive,
        send: "Sender",
        rule: Rule,
    ) -> None:
        headers = _headers(scope)
        try:
            self._check(scope["method"], headers, rule)
            most = self._limits.file if rule.is_file else self._limits.body
            body = await self._body_in_time(headers, receive, most)
            with self._counted(scope, rule):
                await self._run(scope, body, receive, send)
        except Refused as refused:
            await send.refuse(refused.status, str(refused))
        except Gone:
            pass

    def _check(self, method: str, headers: dict[str, str], rule: Rule) -> None:
        """`Refused` if a request may not be made, before its body is read."""
        host = headers.get("host", "").lower()
        if host not in self._hosts:
            message = (
                f"this service is not called {host[:80]!r}; allow it with --allow-host"
            )
            raise Refused(HTTPStatus.MISDIRECTED_REQUEST, message)
        if method not in SAFE and not self._is_from_here(headers, host):
            message = "a page of another site may not use this service"
            raise Refused(HTTPStatus.FORBIDDEN, message)
        if rule.right == Right.NOTHING:
            return
        right = self._service.keys.right_of(headers.get("authorization", ""))
        if right == Right.NOTHING:
            raise Refused(
                HTTPStatus.UNAUTHORIZED, "a key is needed: 'Authorization: Bearer KEY'"
            )
        if right < rule.right:
            raise Refused(HTTPStatus.FORBIDDEN, "this key may read, but not write")

    def _is_from_here(self, headers: dict[str, str], host: str) -> bool:
        """Whether a request comes from a page of this service, or from no page at all."""
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return False
        origin = headers.get("origin")
        return origin is None or urlsplit(origin).netloc.lower() == host

    @contextmanager
    def _counted(self, scope: MutableMapping[str, Any], rule: Rule) -> Iterator[None]:
        """Count a request while it is under way; `Refused` if there are too many."""
        if rule.streams:
            yield
            return
        client, *_ = scope.get("client") or [""]
        if self._under_way[client] >= self._limits.of_one_client:
            message = f"more than {self._limits.of_one_client} requests at once; wait for some"
            raise Refused(HTTPStatus.TOO_MANY_REQUESTS, message)
        if self._under_way.total() >= self._limits.waiting:
            raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, TOO_BUSY)
        self._under_way[client] += 1
        try:
            yield
        finally:
            self._under_way[client] -= 1
            if not self._under_way[client]:
                del self._under_way[client]

    async def _body_in_time(
        self, headers: dict[str, str], receive: Receive, most: int
    ) -> bytes:
        if "content-length" not in headers and "transfer-encoding" not in headers:
            return b""
        try:
            async with asyncio.timeout(self._limits.slow_client):
                return await self._body(headers, receive, most)
        except TimeoutError:
            message = "the request came too slowly"
            raise Refused(HTTPStatus.REQUEST_TIMEOUT, message) from None

    async def _body(
        self, headers: dict[str, str], receive: Receive, most: int
    ) -> bytes:
        """The body of a request; `Refused` if there is no room, `Gone` if its client left."""
        message = f"the request has more than {most:,} bytes; send less at a time"
        too_large = Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message)
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > most:
            raise too_large
        body = bytearray()
        try:
            while True:
                received = await receive()
                if received["type"] == "http.disconnect":
                    raise Gone
                part = received.get("body", b"")
                body += part
                self._received += len(part)
                if len(body) > most:
                    raise too_large
                if self._received > self._limits.bodies:
                    raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, TOO_BUSY)
                if not received.get("more_body", False):
                    return bytes(body)
        finally:
            self._received -= len(body)

    async def _run(
        self,
        scope: MutableMapping[str, Any],
        body: bytes,
        receive: Receive,
        send: "Sender",
    ) -> None:
        """Run the application, until it is done or the client leaves."""
        has_left = asyncio.Event()
        is_given = False

        async def replayed() -> Message:
            nonlocal is_given
            if not is_given:
                is_given = True
                return {"type": "http.request", "body": body, "more_body": False}
            await has_left.wait()
            return {"type": "http.disconnect"}

        working = asyncio.current_task()
        assert working is not None

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            has_left.set()
            working.cancel()

        watching = asyncio.ensure_future(watch())
        try:
            await self._app(scope, replayed, send)
        except asyncio.CancelledError:
            if not has_left.is_set():
                raise
        except SlowClient:
            pass
        finally:
            watching.cancel()


class Gone(Exception):
    """The client left before its request was complete."""


class SlowClient(Exception):
    """The client does not read the response."""


class Sender:
    """Sends a response with security headers; disconnects a client that does not read it."""

    def __init__(self, send: Send, seconds: float) -> None:
        self._send = send
        self._seconds = seconds
        self.status = 0

    async def __call__(self, message: Message) -> None:
        """Send a part of a response."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = list(message.get("headers", ()))
            given = {name.lower() for name, _ in headers}
            for name, value in (*ALWAYS_SENT, NOT_CACHED):
                if name not in given:
                    headers.append((name, value))
            message = {**message, "headers": headers}
        try:
            async with asyncio.timeout(self._seconds):
                await self._send(message)
        except TimeoutError:
            raise SlowClient from None

    async def refuse(self, status: HTTPStatus, detail: str) -> None:
        """Send a problem, and close the connection: the request may not be read to its end."""
        _, body = problem(status, detail)
        headers = [
            (b"content-type", MEDIA_TYPE.encode()),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        for name, value in headers_of(status).items():
            headers.append((name.lower().encode(), value.encode()))
        with suppress(SlowClient):
            await self(
                {
                    "type": "http.response.start",
                    "status": int(status),
                    "headers": headers,
                }
            )
            await self({"type": "http.response.body", "body": body})


def _headers(scope: MutableMapping[str, Any]) -> dict[str, str]:
    """The headers of a request; values of a repeated header are joined, which matches nothing."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1").lower()
        text = value.decode("latin-1")
        found[key] = f"{found[key]}, {text}" if key in found else text
    return found
