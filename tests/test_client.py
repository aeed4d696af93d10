"""The client: its calls are those of the OpenAPI document, waiting or not."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any, get_type_hints

import pytest
from tests.serving import WRITE_KEY, Live, live, two_keys

from casegraph import client as calls
from casegraph.client import AsyncClient, Call, Client, Problem
from casegraph.service import models
from casegraph.service.app import routes
from casegraph.service.rights import ROUTES

if TYPE_CHECKING:
    from collections.abc import Iterator

QUESTION = models.Question(entity="Albert Einstein", relation="citizen of")
EXAMPLES: list[Call[Any]] = [
    calls.info(),
    calls.suggestions(top=3),
    calls.ask("Albert Einstein", "citizen of", top=2, as_of=1),
    calls.ask_many([("Albert Einstein", "citizen of"), QUESTION]),
    calls.explain("Albert Einstein", "citizen of", "Germany"),
    calls.similar("Albert Einstein", "citizen of"),
    calls.what_if(QUESTION, retract=[("Albert Einstein", "born in", "Ulm")]),
    calls.change_of_mind(QUESTION),
    calls.entity("Albert Einstein", cluster=True, limit=3),
    calls.search("einstein"),
    calls.relations(limit=2),
    calls.types(),
    calls.clusters(limit=2),
    calls.cluster_tree(),
    calls.cluster_members(0),
    calls.path_types("citizen of"),
    calls.history(limit=2),
    calls.update(add=[("Nobody", "born in", "Ulm")], idempotency_key="one"),
    calls.start_job(models.AuditJob(kind="audit", relations=["born in"], top=1)),
    calls.jobs(),
    calls.job("none"),
    calls.cancel_job("none"),
    calls.job_rows("none"),
]
NOT_CALLS = {"/healthz", "/readyz", "/metrics", "/v1/openapi.json", "/v1/events"}
FILES = {"/v1/jobs/{job}/result"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with live(tmp_path_factory.mktemp("served") / "store", keys=two_keys()) as running:
        yield running


@pytest.fixture(scope="module")
def document(served: Live) -> dict[str, Any]:
    return routes(served.service).openapi()


def path_of(call: Call[Any]) -> str:
    return call.path.replace("/jobs/none", "/jobs/{job}")


def name_of(call: Call[Any]) -> str:
    return f"{call.method} {call.path}"


def test_there_is_a_call_for_every_route() -> None:
    called = {(call.method, path_of(call)) for call in EXAMPLES}
    assert called == {route for route in ROUTES if route[1] not in NOT_CALLS | FILES}


@pytest.mark.parametrize("call", EXAMPLES, ids=name_of)
def test_a_call_is_as_the_openapi_document_says(
    call: Call[Any], document: dict[str, Any]
) -> None:
    operation = document["paths"][path_of(call)][call.method.lower()]
    known = {
        one["name"] for one in operation.get("parameters", []) if one["in"] == "query"
    }
    assert set(call.params) == known
    headers = {
        one["name"] for one in operation.get("parameters", []) if one["in"] == "header"
    }
    assert {name.lower() for name in call.headers} <= {name.lower() for name in headers}
    status = next(status for status in operation["responses"] if status.startswith("2"))
    content = operation["responses"][status]["content"]["application/json"]["schema"]
    assert content == {"$ref": f"#/components/schemas/{call.model.__name__}"}
    assert (call.body is not None) == ("requestBody" in operation)


@pytest.mark.parametrize("call", EXAMPLES, ids=name_of)
def test_waiting_or_not_the_answer_is_the_same(served: Live, call: Call[Any]) -> None:
    async def not_waiting() -> object:
        async with AsyncClient(served.address, key=WRITE_KEY) as client:
            return await client(call)

    with Client(served.address, key=WRITE_KEY) as client:
        if call.path.startswith("/v1/jobs/none"):
            with pytest.raises(Problem) as refused:
                client(call)
            assert refused.value.status == 404
            with pytest.raises(Problem):
                asyncio.run(not_waiting())
            return
        found = client(call)
        assert isinstance(found, call.model)
        if call.path not in ("/v1/jobs", "/v1/history", "/v1/info"):
            assert asyncio.run(not_waiting()) == found


def test_every_call_is_typed() -> None:
    functions = inspect.getmembers(calls, inspect.isfunction)
    public = [made for name, made in functions if made.__module__ == calls.__name__]
    returning = [
        made for made in public if "return" in getattr(made, "__annotations__", {})
    ]
    made = [
        one
        for one in returning
        if str(one.__annotations__["return"]).startswith("Call[")
    ]
    assert len(made) == len(EXAMPLES)
    assert get_type_hints(Call)["model"]


def test_a_client_without_the_key_is_told_so(served: Live) -> None:
    with Client(served.address) as client, pytest.raises(Problem) as refused:
        client(calls.info())
    assert refused.value.status == 401
    assert "key" in str(refused.value)


def test_a_client_hears_what_happened_since(served: Live) -> None:
    with Client(served.address, key=WRITE_KEY) as client:
        before = client(calls.info()).sequence
        client(calls.update(add=[("Somebody", "born in", "Ulm")]))
        event = next(client.events(since=before))
    assert (event.name, event.sequence) == ("change", before + 1)
    assert event.document["added"] == [["Somebody", "born in", "Ulm"]]
