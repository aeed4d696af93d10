"""
A client of the service (the extra `client`): every route is a method, synchronous or not.

    from casegraph.client import AsyncClient, Client

    with Client("http://localhost:8321") as client:
        answers = client.ask("Albert Einstein", "citizen of")

    async with AsyncClient("http://localhost:8321", key=KEY) as client:
        answers = await client.ask("Albert Einstein", "citizen of")

Both return the models of `service.models`, and raise a `Problem` if the service returns an error or
cannot be reached.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable
from inspect import signature
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    NamedTuple,
    ParamSpec,
    Self,
    TypedDict,
    TypeVar,
    Unpack,
    overload,
)

import httpx
from pydantic import BaseModel

from casegraph.errors import CasegraphError
from casegraph.service import models

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping

    from casegraph.answering.questions import End, Known

M = TypeVar("M", bound=BaseModel)
P = ParamSpec("P")
Arguments = Callable[Concatenate[Any, P], None]
FactLike = tuple[str, str, str]
TIMEOUT = httpx.Timeout(30.0)
KEYWORDS = ("at", "page", "options")  # parameters that stand for several
LISTS = {"add", "retract", "describe"}


class Problem(CasegraphError):
    """The service returned an error, or cannot be reached.

    status    the status code of HTTP; 0 if there was no response
    document  the problem details of RFC 9457; its "detail" is the message
    """

    def __init__(self, status: int, document: Mapping[str, Any]) -> None:
        message = document.get("detail", f"the service answered with {status}")
        super().__init__(str(message))
        self.status = status
        self.document = dict(document)


class Route(Generic[P, M]):
    """A route of the service, which is a method of both clients.

    model      of its response
    arguments  a function with its parameters: of its path, and of its query or its body
    body       the model of its body, if it has one
    """

    def __init__(
        self,
        method: str,
        path: str,
        model: type[M],
        arguments: Arguments[P],
        body: type[BaseModel] | None,
    ) -> None:
        self.method = method
        self.path = path
        self.model = model
        self.body = body
        self.__doc__ = arguments.__doc__
        self.__signature__ = signature(arguments)

    @overload
    def __get__(self, client: None, owner: type[object]) -> Route[P, M]: ...
    @overload
    def __get__(self, client: Client, owner: type[object]) -> Callable[P, M]: ...
    @overload
    def __get__(
        self, client: AsyncClient, owner: type[object]
    ) -> Callable[P, Awaitable[M]]: ...
    def __get__(
        self, client: Client | AsyncClient | None, owner: type[object]
    ) -> object:
        if client is None:
            return self

        def method(*args: P.args, **kwargs: P.kwargs) -> object:
            return client.send(self.model, self.request(*args, **kwargs))

        method.__doc__ = self.__doc__
        return method

    def request(self, *args: P.args, **kwargs: P.kwargs) -> dict[str, Any]:
        """What httpx is to send; parameters that are None are left to the service."""
        _, *arguments = self.__signature__.bind(None, *args, **kwargs).arguments.items()
        given: dict[str, Any] = {}
        for name, value in arguments:
            given |= value if name in KEYWORDS else {name: value}
        key = given.pop("idempotency_key", None)
        headers = {} if key is None else {"Idempotency-Key": key}
        request = {"method": self.method, "url": self.path, "headers": headers}
        if self.body is not None:
            return {**request, "json": _body(self.body, given)}
        params = {name: value for name, value in given.items() if value is not None}
        if "job" in params:
            request["url"] = self.path.format(job=params.pop("job"))
        return {**request, "params": params}


def _body(model: type[BaseModel], given: dict[str, Any]) -> dict[str, Any]:
    """The body of a request: a job as it is, or of the arguments, where a pair is a question."""
    job = given.get("job")
    if isinstance(job, model):
        return job.model_dump(mode="json")
    values = dict(given)
    for name in LISTS & given.keys():
        values[name] = list(given[name])
    if "question" in given:
        values["question"] = _question(given["question"])
    if "questions" in given:
        values["questions"] = [_question(one) for one in given["questions"]]
    return model.model_validate(values).model_dump(mode="json")


def _question(question: Pair) -> models.NamedQuestion:
    if isinstance(question, models.NamedQuestion):
        return question
    entity, relation = question
    return models.NamedQuestion(entity=entity, relation=relation)


class AsOf(TypedDict, total=False):
    """Answer as after this update; by default as of now."""

    as_of: int | None


class Page(AsOf, total=False):
    """How many rows of a long list, and the `next` of the page before."""

    limit: int
    cursor: str | None


class Top(AsOf, total=False):
    """How many to return."""

    top: int


class Asking(Top, total=False):
    """Which answers to a question are wanted."""

    known: Known


class AskingOne(Asking, total=False):
    """Also which end of the fact is wanted, and of which type."""

    wanted: End
    of_type: str | None


class AskingMany(Asking, total=False):
    """Also of which type answers may be, and which entities."""

    of_type: str | None
    candidates: list[str] | None


Pair = tuple[str, str] | models.NamedQuestion
"""A question: an entity and a relation, whose tail is wanted; or a model that says more."""


def route(
    method: str, path: str, model: type[M], body: type[BaseModel] | None = None
) -> Callable[[Arguments[P]], Route[P, M]]:
    """A route that takes the arguments of a function, which is never called."""
    return lambda arguments: Route(method, path, model, arguments, body)


class Routes:
    """The routes that return JSON, in the order of `service.rights.ROUTES`."""

    @route("GET", "/v1/info", models.Info)
    def info(self, **at: Unpack[AsOf]) -> None:
        """What the store holds, and what the service allows."""

    @route("GET", "/v1/suggestions", models.Suggestions)
    def suggestions(self, *, top: int = 8) -> None:
        """Questions to begin with."""

    @route("GET", "/v1/ask", models.AnswersResponse)
    def ask(self, entity: str, relation: str, **options: Unpack[AskingOne]) -> None:
        """The best answers to (entity, relation, ?), or (?, relation, entity) for wanted="head"."""

    @route("POST", "/v1/ask", models.BatchResponse, models.QuestionsRequest)
    def ask_many(
        self, questions: Iterable[Pair], **options: Unpack[AskingMany]
    ) -> None:
        """Several questions at once."""

    @route("GET", "/v1/explain", models.ExplanationResponse)
    def explain(
        self,
        entity: str,
        relation: str,
        answer: str,
        wanted: End = "tail",
        **at: Unpack[AsOf],
    ) -> None:
        """Why an entity is an answer."""

    @route("GET", "/v1/similar", models.Similar)
    def similar(
        self, entity: str, relation: str | None = None, **options: Unpack[Top]
    ) -> None:
        """The entities most like an entity; with a relation, only those that have it."""

    @route("POST", "/v1/what-if", models.WhatIfResponse, models.WhatIfRequest)
    def what_if(
        self,
        question: Pair,
        *,
        add: Iterable[FactLike] = (),
        retract: Iterable[FactLike | str] = (),
        **options: Unpack[Asking],
    ) -> None:
        """Ask a question as if some facts were added and others retracted."""

    @route(
        "POST",
        "/v1/counterfactual",
        models.CounterfactualResponse,
        models.CounterfactualRequest,
    )
    def counterfactual(
        self,
        question: Pair,
        answer: str | None = None,
        *,
        known: Known = "exclude",
        most: int = 3,
        **at: Unpack[AsOf],
    ) -> None:
        """The fewest facts without which an answer, by default the first, loses its place."""

    @route("GET", "/v1/entity", models.Entity)
    def entity(
        self, entity: str, *, cluster: bool = False, **page: Unpack[Page]
    ) -> None:
        """What is known about an entity; `cluster` says whether to look for its cluster."""

    @route("GET", "/v1/search", models.SearchResponse)
    def search(self, words: str, **options: Unpack[Top]) -> None:
        """The entities whose name or label contains all these words."""

    @route("GET", "/v1/relations", models.Relations)
    def relations(self, **page: Unpack[Page]) -> None:
        """A page of the relations."""

    @route("GET", "/v1/types", models.Types)
    def types(self, **at: Unpack[AsOf]) -> None:
        """The types of entities."""

    @route("GET", "/v1/clusters", models.ClusterPage)
    def clusters(self, **page: Unpack[Page]) -> None:
        """A page of the clusters, the largest first."""

    @route("GET", "/v1/clusters/tree", models.Tree)
    def cluster_tree(self, **at: Unpack[AsOf]) -> None:
        """The tree of clusters, from its root down to the clusters."""

    @route("GET", "/v1/clusters/members", models.ClusterMembers)
    def cluster_members(self, cluster: int, **page: Unpack[Page]) -> None:
        """A page of the members of a cluster."""

    @route("GET", "/v1/path-types", models.PathTypes)
    def path_types(
        self,
        relation: str,
        *,
        wanted: End = "tail",
        cluster: int | None = None,
        **options: Unpack[Top],
    ) -> None:
        """The best path types of a relation, for a cluster or for everyone."""

    @route("GET", "/v1/history", models.History)
    def history(
        self, since: int = 0, *, limit: int = 100, cursor: str | None = None
    ) -> None:
        """A page of the facts that were added and retracted after an update."""

    @route("POST", "/v1/update", models.UpdateResponse, models.UpdateRequest)
    def update(
        self,
        add: Iterable[FactLike] = (),
        retract: Iterable[FactLike | str] = (),
        describe: Iterable[models.NewDescription] = (),
        *,
        idempotency_key: str | None = None,
    ) -> None:
        """Retract facts, then add facts; all or nothing, and on disk when the response arrives.

        idempotency_key  of your choice: the same update with the same key is made once
        """

    @route("GET", "/v1/jobs", models.Jobs)
    def jobs(self) -> None:
        """All jobs, the newest first."""

    @route("POST", "/v1/jobs", models.Job, models.AnyJob)
    def start_job(self, job: models.CompleteJob | models.AuditJob) -> None:
        """Start a job."""

    @route("GET", "/v1/jobs/{job}", models.Job)
    def job(self, job: str) -> None:
        """How far a job is."""

    @route("DELETE", "/v1/jobs/{job}", models.Job)
    def cancel_job(self, job: str) -> None:
        """Cancel a job."""

    @route("GET", "/v1/jobs/{job}/rows", models.Rows)
    def job_rows(
        self, job: str, *, limit: int = 100, cursor: str | None = None
    ) -> None:
        """A page of the result of a job."""


class StreamedEvent(NamedTuple):
    """An event of the stream: "hello", "change" or "job"; a change has the number of its update."""

    name: str
    document: dict[str, Any]
    sequence: int | None


class Client(Routes):
    """A synchronous client."""

    def __init__(self, address: str, key: str | None = None, **options: Any) -> None:  # noqa: ANN401
        self._http = httpx.Client(base_url=address, **_options(key, options))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def send(self, model: type[M], request: dict[str, Any]) -> M:
        """Make a request; its response is read as a model."""
        try:
            response = self._http.request(**request)
        except httpx.TransportError as error:
            raise _unreachable(error) from error
        return _result(model, response)

    def events(self, since: int | None = None) -> Iterator[StreamedEvent]:
        """Changes and jobs as they happen; with `since`, all changes after that update first."""
        with self._http.stream(
            "GET", "/v1/events", **_stream_options(since)
        ) as response:
            if response.status_code != httpx.codes.OK:
                response.read()
                raise _problem(response)
            parser = EventParser()
            for line in response.iter_lines():
                event = parser.take(line)
                if event is not None:
                    yield event


class AsyncClient(Routes):
    """An asynchronous client."""

    def __init__(self, address: str, key: str | None = None, **options: Any) -> None:  # noqa: ANN401
        self._http = httpx.AsyncClient(base_url=address, **_options(key, options))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def send(self, model: type[M], request: dict[str, Any]) -> M:
        """Make a request; its response is read as a model."""
        try:
            response = await self._http.request(**request)
        except httpx.TransportError as error:
            raise _unreachable(error) from error
        return _result(model, response)

    async def events(self, since: int | None = None) -> AsyncIterator[StreamedEvent]:
        """Changes and jobs as they happen; with `since`, all changes after that update first."""
        async with self._http.stream(
            "GET", "/v1/events", **_stream_options(since)
        ) as response:
            if response.status_code != httpx.codes.OK:
                await response.aread()
                raise _problem(response)
            parser = EventParser()
            async for line in response.aiter_lines():
                event = parser.take(line)
                if event is not None:
                    yield event


class EventParser:
    """Parses the lines of server-sent events; an empty line ends an event."""

    def __init__(self) -> None:
        self._fields: dict[str, str] = {}

    def take(self, line: str) -> StreamedEvent | None:
        """Take the next line; returns the event if this line ends one."""
        if line:
            name, _, value = line.partition(":")
            self._fields[name] = value.removeprefix(" ")
            return None
        fields = self._fields
        self._fields = {}
        if "data" not in fields:
            return None
        name = fields.get("event", "message")
        document = json.loads(fields["data"])
        sequence = int(fields["id"]) if "id" in fields else None
        return StreamedEvent(name, document, sequence)


def _options(key: str | None, options: dict[str, Any]) -> dict[str, Any]:
    headers = dict(options.pop("headers", {}))
    if key is not None:
        headers["Authorization"] = f"Bearer {key}"
    return {"timeout": TIMEOUT, **options, "headers": headers}


def _stream_options(since: int | None) -> dict[str, Any]:
    headers = {} if since is None else {"Last-Event-ID": str(since)}
    return {"headers": headers, "timeout": None}


def _result(model: type[M], response: httpx.Response) -> M:
    if response.status_code >= httpx.codes.BAD_REQUEST:
        raise _problem(response)
    return model.model_validate_json(response.content)


def _unreachable(error: httpx.TransportError) -> Problem:
    address = error.request.url.copy_with(raw_path=b"/")
    return Problem(0, {"detail": f"{address}: cannot be reached ({error})"})


def _problem(response: httpx.Response) -> Problem:
    try:
        document = response.json()
    except ValueError:
        document = None
    is_object = isinstance(document, dict)
    return Problem(response.status_code, document if is_object else {})
