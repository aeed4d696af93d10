"""What all routes that read have in common."""

from collections.abc import Callable, Iterable
from typing import Annotated, Any, Protocol, TypeVar

from fastapi import Depends, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError

from casegraph.casebase import CaseBase
from casegraph.service.core import Service
from casegraph.service.models import MAX_ROWS, MAX_SEQUENCE, Question
from casegraph.service.pages import Cursor, P


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


def tag_of(sequence: int) -> str:
    """The ETag of what was read from the state after an update."""
    return f'"{sequence}"'


# What routes depend on are coroutines: FastAPI calls them where it is, and sends functions to a
# thread, which takes longer than they do.


async def service_of(request: Request) -> Service:
    """The service that a request is for."""
    service: Service = request.app.state.service
    return service


class Reader:
    """Runs a read, and says by an ETag from which state it comes: the number of its last update."""

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
        about: Iterable[Question] = (),
    ) -> T:
        """Do something with the state after an update, or with the present one.

        about  the questions that it answers: what they need is counted first
        """
        self._check_modified(as_of)
        found = await self.service.read_at(as_of, work, slow=slow, about=about)
        if self._response is not None:
            self._response.headers["ETag"] = tag_of(found.sequence)
        return found

    async def answer(
        self, as_of: int | None, question: Question, work: Callable[[CaseBase], T]
    ) -> T:
        """Do with a state what answers a question, with few answers."""
        self._check_modified(as_of)
        return await self.service.answer(as_of, question, work)

    def _check_modified(self, as_of: int | None) -> None:
        """`NotModified` if the client has what it asks for."""
        sequence = self.service.store.sequence if as_of is None else as_of
        tag = tag_of(sequence)
        if self._request.method == "GET" and self._request.headers.get("if-none-match") == tag:
            raise NotModified(tag)

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


M = TypeVar("M", bound=BaseModel)


def query_of(request: Request, model: type[M]) -> M:
    """What is behind the `?` of an address.

    FastAPI does the same for parameters that a route declares one by one, but that takes a third of
    a request.
    """
    try:
        return model.model_validate(dict(request.query_params))
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False)
        wrong = [{**one, "loc": ("query", *one["loc"])} for one in found]
        raise RequestValidationError(wrong) from None


def query_parameters(model: type[BaseModel]) -> dict[str, Any]:
    """The same for the OpenAPI document."""
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
