"""
A client of the service (the extra `client`): every route is a function that returns a `Call`.

Calls are executed by a synchronous or an asynchronous client:

    from casegraph.client import AsyncClient, Client, ask

    with Client("http://localhost:8321") as client:
        answers = client(ask("Albert Einstein", "citizen of"))

    async with AsyncClient("http://localhost:8321", key=KEY) as client:
        answers = await client(ask("Albert Einstein", "citizen of"))

Both return the models of `service.models`, and raise a `Problem` if the service returns an error.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Self, TypeVar

import httpx
from pydantic import BaseModel

from casegraph.errors import CasegraphError
from casegraph.service import models

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator, Mapping

M = TypeVar("M", bound=BaseModel)
FactLike = tuple[str, str, str]
TIMEOUT = httpx.Timeout(30.0)


class Problem(CasegraphError):
    """The service returned an error.

    status    the status code of HTTP
    document  the problem details of RFC 9457; its "detail" is the message
    """

    def __init__(self, status: int, document: Mapping[str, Any]) -> None:
        message = document.get("detail", f"the service answered with {status}")
        super().__init__(str(message))
        self.status = status
        self.document = dict(document)


@dataclass(frozen=True, slots=True)
class Call(Generic[M]):
    """A request that a client can make, and the model of its response."""

    method: str
    path: str
    model: type[M]
    params: dict[str, Any] = field(default_factory=dict)
    body: BaseModel | None = None
    headers: dict[str, str] = field(default_factory=dict)

    def request(self) -> dict[str, Any]:
        """The arguments for httpx; parameters that are None are left to the service."""
        params = {
            name: _text(value)
            for name, value in self.params.items()
            if value is not None
        }
        headers = dict(self.headers)
        request = {
            "method": self.method,
            "url": self.path,
            "params": params,
            "headers": headers,
        }
        if self.body is not None:
            request["content"] = self.body.model_dump_json()
            headers["content-type"] = "application/json"
        return request


class StreamedEvent(NamedTuple):
    """An event of the stream: "hello", "change" or "job"; a change has the number of its update."""

    name: str
    document: dict[str, Any]
    sequence: int | None


class Client:
    """A synchronous client."""

    def __init__(self, address: str, key: str | None = None, **options: Any) -> None:  # noqa: ANN401
        self._http = httpx.Client(base_url=address, **_options(key, options))

    def __call__(self, call: Call[M]) -> M:
        """Make a call."""
        response = self._http.request(**call.request())
        return _result(call, response)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def events(self, since: int | None = None) -> Iterator[StreamedEvent]:
        """Changes and jobs as they happen; with `since`, all changes after that update first."""
        with self._http.stream(
            "GET", "/v1/events", **_stream_options(since)
        ) as response:
            if response.status_code != httpx.codes.OK:
                response.read()
                raise _problem(response)
            reading = EventReader()
            for line in response.iter_lines():
                event = reading.take(line)
                if event is not None:
                    yield event


class AsyncClient:
    """An asynchronous client."""

    def __init__(self, address: str, key: str | None = None, **options: Any) -> None:  # noqa: ANN401
        self._http = httpx.AsyncClient(base_url=address, **_options(key, options))

    async def __call__(self, call: Call[M]) -> M:
        """Make a call."""
        response = await self._http.request(**call.request())
        return _result(call, response)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def events(self, since: int | None = None) -> AsyncIterator[StreamedEvent]:
        """Changes and jobs as they happen; with `since`, all changes after that update first."""
        async with self._http.stream(
            "GET", "/v1/events", **_stream_options(since)
        ) as response:
            if response.status_code != httpx.codes.OK:
                await response.aread()
                raise _problem(response)
            reading = EventReader()
            async for line in response.aiter_lines():
                event = reading.take(line)
                if event is not None:
                    yield event


class EventReader:
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


def info(*, as_of: int | None = None) -> Call[models.Info]:
    """What the store holds, and what the service allows."""
    return Call("GET", "/v1/info", models.Info, {"as_of": as_of})


def suggestions(*, top: int | None = None) -> Call[models.Suggestions]:
    """Questions to begin with."""
    return Call("GET", "/v1/suggestions", models.Suggestions, {"top": top})


def ask(
    entity: str,
    relation: str,
    *,
    wanted: models.Wanted = "tail",
    top: int = 10,
    known: models.Known = "mark",
    of_type: str | None = None,
    as_of: int | None = None,
) -> Call[models.Answers]:
    """The best answers to (entity, relation, ?), or to (?, relation, entity) for wanted="head"."""
    params = {
        "entity": entity,
        "relation": relation,
        "wanted": wanted,
        "top": top,
        "known": known,
        "of_type": of_type,
        "as_of": as_of,
    }
    return Call("GET", "/v1/ask", models.Answers, params)


def ask_many(
    questions: Iterable[tuple[str, str] | models.Question],
    *,
    top: int = 10,
    known: models.Known = "mark",
    of_type: str | None = None,
    candidates: list[str] | None = None,
    as_of: int | None = None,
) -> Call[models.Batch]:
    """Several questions at once; a pair is an entity and a relation."""
    asked = []
    for question in questions:
        if not isinstance(question, models.Question):
            entity, relation = question
            asked.append(models.Question(entity=entity, relation=relation))
        else:
            asked.append(question)
    body = models.Questions(
        questions=asked,
        top=top,
        known=known,
        of_type=of_type,
        candidates=candidates,
        as_of=as_of,
    )
    return Call("POST", "/v1/ask", models.Batch, body=body)


def explain(
    entity: str,
    relation: str,
    answer: str,
    *,
    wanted: models.Wanted = "tail",
    as_of: int | None = None,
) -> Call[models.Explanation]:
    """Why an entity is an answer."""
    params = {
        "entity": entity,
        "relation": relation,
        "answer": answer,
        "wanted": wanted,
        "as_of": as_of,
    }
    return Call("GET", "/v1/explain", models.Explanation, params)


def similar(
    entity: str, relation: str | None = None, *, top: int = 10, as_of: int | None = None
) -> Call[models.Similar]:
    """The entities most like an entity; with a relation, only those that have it."""
    params = {"entity": entity, "relation": relation, "top": top, "as_of": as_of}
    return Call("GET", "/v1/similar", models.Similar, params)


def what_if(
    question: models.Question,
    *,
    add: Iterable[FactLike] = (),
    retract: Iterable[FactLike | str] = (),
    top: int = 10,
    known: models.Known = "mark",
    as_of: int | None = None,
) -> Call[models.Imagined]:
    """Ask a question as if some facts were added and others retracted."""
    body = models.WhatIf(
        question=question,
        add=list(add),
        retract=list(retract),
        top=top,
        known=known,
        as_of=as_of,
    )
    return Call("POST", "/v1/what-if", models.Imagined, body=body)


def change_of_mind(
    question: models.Question,
    answer: str | None = None,
    *,
    known: models.Known = "exclude",
    most: int = 3,
    as_of: int | None = None,
) -> Call[models.ChangeOfMind]:
    """The fewest facts without which an answer, by default the first, loses its place."""
    body = models.MindQuestion(
        question=question, answer=answer, known=known, most=most, as_of=as_of
    )
    return Call("POST", "/v1/change-of-mind", models.ChangeOfMind, body=body)


def entity(
    name: str,
    *,
    cluster: bool = False,
    limit: int | None = None,
    cursor: str | None = None,
    as_of: int | None = None,
) -> Call[models.Entity]:
    """What is known about an entity."""
    params = {
        "entity": name,
        "cluster": cluster,
        "limit": limit,
        "cursor": cursor,
        "as_of": as_of,
    }
    return Call("GET", "/v1/entity", models.Entity, params)


def search(words: str, *, top: int = 10, as_of: int | None = None) -> Call[models.Hits]:
    """The entities whose name or label contains all these words."""
    params = {"words": words, "top": top, "as_of": as_of}
    return Call("GET", "/v1/search", models.Hits, params)


def relations(
    *, limit: int | None = None, cursor: str | None = None, as_of: int | None = None
) -> Call[models.Relations]:
    """A page of the relations."""
    params = {"limit": limit, "cursor": cursor, "as_of": as_of}
    return Call("GET", "/v1/relations", models.Relations, params)


def types(*, as_of: int | None = None) -> Call[models.Types]:
    """The types of entities."""
    return Call("GET", "/v1/types", models.Types, {"as_of": as_of})


def clusters(
    *, limit: int | None = None, cursor: str | None = None, as_of: int | None = None
) -> Call[models.Clusters]:
    """A page of the clusters, the largest first."""
    params = {"limit": limit, "cursor": cursor, "as_of": as_of}
    return Call("GET", "/v1/clusters", models.Clusters, params)


def cluster_tree(*, as_of: int | None = None) -> Call[models.Tree]:
    """The tree of clusters, from its root down to the clusters."""
    return Call("GET", "/v1/clusters/tree", models.Tree, {"as_of": as_of})


def cluster_members(
    cluster: int,
    *,
    limit: int | None = None,
    cursor: str | None = None,
    as_of: int | None = None,
) -> Call[models.ClusterMembers]:
    """A page of the members of a cluster."""
    params = {"cluster": cluster, "limit": limit, "cursor": cursor, "as_of": as_of}
    return Call("GET", "/v1/clusters/members", models.ClusterMembers, params)


def path_types(
    relation: str,
    *,
    wanted: models.Wanted = "tail",
    cluster: int | None = None,
    top: int | None = None,
    as_of: int | None = None,
) -> Call[models.PathTypes]:
    """The best path types of a relation, for a cluster or for everyone."""
    params = {
        "relation": relation,
        "wanted": wanted,
        "cluster": cluster,
        "top": top,
        "as_of": as_of,
    }
    return Call("GET", "/v1/path-types", models.PathTypes, params)


def history(
    since: int = 0, *, limit: int | None = None, cursor: str | None = None
) -> Call[models.History]:
    """A page of the facts that were added and retracted after an update."""
    params = {"since": since, "limit": limit, "cursor": cursor}
    return Call("GET", "/v1/history", models.History, params)


def update(
    add: Iterable[FactLike] = (),
    retract: Iterable[FactLike | str] = (),
    describe: Iterable[models.Description] = (),
    *,
    idempotency_key: str | None = None,
) -> Call[models.Updated]:
    """Retract facts, then add facts; all or nothing, and on disk when the response arrives."""
    body = models.Update(add=list(add), retract=list(retract), describe=list(describe))
    headers = {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}
    return Call("POST", "/v1/update", models.Updated, body=body, headers=headers)


def start_job(wanted: models.CompleteJob | models.AuditJob) -> Call[models.Job]:
    """Start a job."""
    return Call("POST", "/v1/jobs", models.Job, body=wanted)


def jobs() -> Call[models.Jobs]:
    """All jobs, the newest first."""
    return Call("GET", "/v1/jobs", models.Jobs)


def job(number: str) -> Call[models.Job]:
    """How far a job is."""
    return Call("GET", f"/v1/jobs/{number}", models.Job)


def cancel_job(number: str) -> Call[models.Job]:
    """Cancel a job."""
    return Call("DELETE", f"/v1/jobs/{number}", models.Job)


def job_rows(
    number: str, *, limit: int | None = None, cursor: str | None = None
) -> Call[models.Rows]:
    """A page of the result of a job."""
    params = {"limit": limit, "cursor": cursor}
    return Call("GET", f"/v1/jobs/{number}/rows", models.Rows, params)


def _options(key: str | None, options: dict[str, Any]) -> dict[str, Any]:
    headers = dict(options.pop("headers", {}))
    if key is not None:
        headers["Authorization"] = f"Bearer {key}"
    return {"timeout": TIMEOUT, **options, "headers": headers}


def _stream_options(since: int | None) -> dict[str, Any]:
    headers = {} if since is None else {"Last-Event-ID": str(since)}
    return {"headers": headers, "timeout": None}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _result(call: Call[M], response: httpx.Response) -> M:
    if response.status_code >= httpx.codes.BAD_REQUEST:
        raise _problem(response)
    return call.model.model_validate_json(response.content)


def _problem(response: httpx.Response) -> Problem:
    try:
        document = response.json()
    except ValueError:
        document = None
    is_object = isinstance(document, dict)
    return Problem(response.status_code, document if is_object else {})
