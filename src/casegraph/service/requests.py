"""What all routes that read have in common."""

from collections.abc import Callable, Iterable
from typing import Annotated, Any, Protocol, TypeVar

from fastapi import Depends, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError

from casegraph.casebase import CaseBase
from casegraph.service.core import Service
from casegraph.service.models import MAX_ROWS, MAX_SEQUENCE, NamedQuestion
from casegraph.service.pages import Cursor, P


class HasSequence(Protocol):
    """A response that says which state it was read from."""

    @property
    def sequence(self) -> int:
        """The number of the last update of that state."""


T = TypeVar("T", bound=HasSequence)


class NotModified(Exception):
    """The client already has the current response."""

    def __init__(self, tag: str) -> None:
        super().__init__(tag)
        self.tag = tag


def tag_of(sequence: int) -> str:
    """The ETag of a response that was read from the state after an update."""
    return f'"{sequence}"'


# The dependencies of routes are coroutines, because FastAPI runs plain functions in a thread, which
# takes longer than they do.


async def service_of(request: Request) -> Service:
    """The service that a request is for."""
    service: Service = request.app.state.service
    return service


class Reader:
    """Runs a read; the ETag of the response is the number of the update it was read after."""

    def __init__(self, request: Request, response: Response | None = None) -> None:
        self.service: Service = request.app.state.service
        self._request = request
        self._response = response

    async def __call__(
        self,
        as_of: int | None,
        work: Callable[[CaseBase], T],
        *,
        slow: bool = False,
        about: Iterable[NamedQuestion] = (),
    ) -> T:
        """Run some work with a state, as `Service.read_at` does, and set the ETag."""
        self._check_modified(as_of)
        found = await self.service.read_at(as_of, work, slow=slow, about=about)
        if self._response is not None:
            self._response.headers["ETag"] = tag_of(found.sequence)
        return found

    async def answer(
        self, as_of: int | None, question: NamedQuestion, work: Callable[[CaseBase], T]
    ) -> T:
        """Run the work that answers one question, as `Service.answer` does."""
        self._check_modified(as_of)
        return await self.service.answer(as_of, question, work)

    def _check_modified(self, as_of: int | None) -> None:
        """`NotModified` if the client already has the response."""
        sequence = self.service.store.sequence if as_of is None else as_of
        tag = tag_of(sequence)
        tag_of_client = self._request.headers.get("if-none-match")
        if self._request.method == "GET" and tag_of_client == tag:
            raise NotModified(tag)

    async def page(
        self,
        at: Cursor,
        limit: int,
        rows: Callable[[CaseBase, int, int], tuple[P, bool]],
    ) -> P:
        """Read a page.

        at    where the page begins, and in which state
        rows  from a case base, the first row and the number of rows, makes the page, and says
              whether there are more rows
        """

        def page(cases: CaseBase) -> P:
            shown, is_more = rows(cases, at.first, limit)
            return at.paged(shown, limit, is_more=is_more)

        return await self(at.sequence, page, slow=True)


M = TypeVar("M", bound=BaseModel)


def query_of(request: Request, model: type[M]) -> M:
    """The query parameters of a request, as a model.

    FastAPI does the same for parameters that a route declares one by one, but that takes a third of
    the time of a request.
    """
    try:
        return model.model_validate(dict(request.query_params))
    except ValidationError as error:
        problems = []
        for found in error.errors(include_url=False, include_context=False):
            problems.append({**found, "loc": ("query", *found["loc"])})
        raise RequestValidationError(problems) from None


def query_parameters(model: type[BaseModel]) -> dict[str, Any]:
    """The query parameters of a model, for the OpenAPI document."""
    described = model.model_json_schema()
    parameters = []
    for name, schema in described["properties"].items():
        parameter = {"name": name, "in": "query", "schema": schema}
        parameter["required"] = name in described["required"]
        if "description" in schema:
            parameter["description"] = schema["description"]
        parameters.append(parameter)
    return {"parameters": parameters}


async def not_modified(_: Request, error: Exception) -> Response:
    """The response to a client that already has the current response."""
    assert isinstance(error, NotModified)
    return Response(status_code=304, headers={"ETag": error.tag})


async def reader_of(request: Request, response: Response) -> Reader:
    """The reader for a request."""
    return Reader(request, response)


Reading = Annotated[Reader, Depends(reader_of)]
Serving = Annotated[Service, Depends(service_of)]
AsOf = Annotated[
    int | None,
    Query(
        ge=0,
        le=MAX_SEQUENCE,
        description="Answer as after this update; else as of now.",
    ),
]
Limit = Annotated[int, Query(ge=1, le=MAX_ROWS, description="Rows of a page.")]
CursorText = Annotated[
    str | None,
    Query(
        pattern=r"^[0-9]{1,15}\.[0-9]{1,15}$",
        description="The `next` of the page before.",
    ),
]
