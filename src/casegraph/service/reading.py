"""Reading over HTTP: what every route that reads has in common."""

from collections.abc import Callable
from http import HTTPStatus
from threading import Event
from typing import Annotated, Protocol, TypeVar

from fastapi import Depends, Query, Request, Response

from casegraph.casebase import CaseBase
from casegraph.service.core import Service
from casegraph.service.models import MAX_ROWS, MAX_SEQUENCE
from casegraph.service.pages import Cursor, P
from casegraph.service.problems import Refused


class HasSequence(Protocol):
    """A response that says from which state it comes."""

    @property
    def sequence(self) -> int:
        """The number of the last update of that state."""


T = TypeVar("T", bound=HasSequence)


class NotModified(Exception):
    """The client has what it asks for: nothing changed since."""

    def __init__(self, tag: str) -> None:
        super().__init__(tag)
        self.tag = tag


# What routes depend on are coroutines: FastAPI calls them where it is, and sends functions to a
# thread, which takes longer than they do.


async def service_of(request: Request) -> Service:
    """The service that a request is for."""
    service: Service = request.app.state.service
    return service


class Reader:
    """Runs a read, and says by an ETag from which state it comes: the number of its last update."""

    def __init__(self, request: Request, response: Response) -> None:
        self.service: Service = request.app.state.service
        self._request = request
        self._response = response
        self._is_over = Event()

    async def __call__(
        self, as_of: int | None, work: Callable[[CaseBase], T], *, slow: bool = False
    ) -> T:
        """Do something with the state after an update, or with the present one."""
        sequence = self.service.store.sequence if as_of is None else as_of
        tag = f'"{sequence}"'
        if self._request.method == "GET" and self._request.headers.get("if-none-match") == tag:
            raise NotModified(tag)
        try:
            found = await self.service.read_at(as_of, work, slow=slow)
        finally:
            self._is_over.set()
        self._response.headers["ETag"] = f'"{found.sequence}"'
        return found

    def go_on(self, doing: str, done: int, total: int) -> None:
        """`Refused` if nobody waits any more: the client has left, or its time is up.

        Work that has several parts calls it before each of them, as it would show its progress.
        """
        if self._is_over.is_set():
            message = f"nobody waits for it any more ({doing} {done} of {total})"
            raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, message)

    async def page(
        self, at: Cursor, limit: int, rows: Callable[[CaseBase, int, int], tuple[P, bool]]
    ) -> P:
        """Read a page.

        at    where it begins, and in which state
        rows  gives a page of so many rows from one on, and whether there are more
        """

        def page(cases: CaseBase) -> P:
            shown, is_more = rows(cases, at.first, limit)
            return at.paged(shown, limit, is_more=is_more)

        return await self(at.sequence, page, slow=True)


async def not_modified(_: Request, error: Exception) -> Response:
    """The response to a client that has what it asks for."""
    assert isinstance(error, NotModified)
    return Response(status_code=304, headers={"ETag": error.tag})


async def reader_of(request: Request, response: Response) -> Reader:
    """What runs the read that a request is for."""
    return Reader(request, response)


Reading = Annotated[Reader, Depends(reader_of)]
Serving = Annotated[Service, Depends(service_of)]
AsOf = Annotated[
    int | None,
    Query(ge=0, le=MAX_SEQUENCE, description="Answer as after this update; else as of now."),
]
Limit = Annotated[int, Query(ge=1, le=MAX_ROWS, description="Rows of a page.")]
CursorText = Annotated[
    str | None,
    Query(pattern=r"^[0-9]{1,15}\.[0-9]{1,15}$", description="The `next` of the page before."),
]
