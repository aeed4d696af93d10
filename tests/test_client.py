"""The client: its methods are those of the OpenAPI document, waiting or not."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any

import pytest
from tests.serving import WRITE_KEY, Live, live, two_keys

from casegraph import client as calls
from casegraph.client import AsyncClient, Client, Problem, Route
from casegraph.service import models
from casegraph.service.app import routes
from casegraph.service.rights import ROUTES

if TYPE_CHECKING:
    from collections.abc import Iterator

QUESTION = models.NamedQuestion(entity="Albert Einstein", relation="citizen of")
PAIR = ("Albert Einstein", "citizen of")
RETRACTED = [("Albert Einstein", "born in", "Ulm")]
EXAMPLES: dict[str, dict[str, Any]] = {
    "info": {},
    "suggestions": {"top": 3},
    "ask": {"entity": PAIR[0], "relation": PAIR[1], "top": 2, "as_of": 1},
    "ask_many": {"questions": [PAIR, QUESTION]},
    "explain": {"entity": PAIR[0], "relation": PAIR[1], "answer": "Germany"},
    "similar": {"entity": PAIR[0], "relation": PAIR[1]},
    "what_if": {"question": QUESTION, "retract": RETRACTED},
    "counterfactual": {"question": PAIR},
    "entity": {"entity": PAIR[0], "cluster": True, "limit": 3},
    "search": {"words": "einstein"},
    "relations": {"limit": 2},
    "types": {},
    "clusters": {"limit": 2},
    "cluster_tree": {},
    "cluster_members": {"cluster": 0},
    "path_types": {"relation": "citizen of"},
    "history": {"limit": 2},
    "update": {"add": [("Nobody", "born in", "Ulm")], "idempotency_key": "one"},
    "start_job": {"job": models.AuditJob(kind="audit", relations=["born in"], top=1)},
    "jobs": {},
    "job": {"job": "none"},
    "cancel_job": {"job": "none"},
    "job_rows": {"job": "none", "limit": 2},
}
NOT_CALLS = {"/healthz", "/readyz", "/metrics", "/v1/openapi.json", "/v1/events"}
FILES = {"/v1/jobs/{job}/result", "/v1/preview", "/v1/import"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with live(tmp_path_factory.mktemp("served") / "store", keys=two_keys()) as running:
        yield running


@pytest.fixture(scope="module")
def document(served: Live) -> dict[str, Any]:
    return routes(served.service).openapi()


def route_of(name: str) -> Route[..., Any]:
    route = getattr(Client, name)
    assert isinstance(route, Route)
    return route


def test_there_is_a_method_for_every_route() -> None:
    called = {(route_of(name).method, route_of(name).path) for name in EXAMPLES}
    assert called == {route for route in ROUTES if route[1] not in NOT_CALLS | FILES}
    routes_of_client = inspect.getmembers(Client, lambda one: isinstance(one, Route))
    assert {name for name, _ in routes_of_client} == EXAMPLES.keys()


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_method_is_as_the_openapi_document_says(
    name: str, document: dict[str, Any]
) -> None:
    route = route_of(name)
    operation = document["paths"][route.path][route.method.lower()]
    parameters = operation.get("parameters", [])
    known = {one["name"] for one in parameters if one["in"] == "query"}
    headers = {one["name"].lower() for one in parameters if one["in"] == "header"}
    request = route.request(**EXAMPLES[name])
    assert set(request.get("params", ())) <= known
    assert {header.lower() for header in request["headers"]} <= headers
    taken = typed_names(route)
    assert known <= taken
    status = next(status for status in operation["responses"] if status.startswith("2"))
    content = operation["responses"][status]["content"]["application/json"]["schema"]
    assert content == {"$ref": f"#/components/schemas/{route.model.__name__}"}
    assert ("json" in request) == ("requestBody" in operation)
    assert route.body is None or route.body.model_fields.keys() <= taken | {"kind"}


def typed_names(route: Route[..., Any]) -> set[str]:
    """The parameters of a method; those of a typed dictionary one by one."""
    names = set()
    for name, parameter in route.__signature__.parameters.items():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            keywords = parameter.annotation.removeprefix("Unpack[").removesuffix("]")
            names |= getattr(calls, keywords).__annotations__.keys()
        else:
            names.add(name)
    if "job" in names and route.body is not None:
        names |= set(route.body.model_fields)
    return names


@pytest.mark.parametrize("name", EXAMPLES)
def test_waiting_or_not_the_answer_is_the_same(served: Live, name: str) -> None:
    given = EXAMPLES[name]

    async def not_waiting() -> object:
        async with AsyncClient(served.address, key=WRITE_KEY) as client:
            return await getattr(client, name)(**given)

    with Client(served.address, key=WRITE_KEY) as client:
        method = getattr(client, name)
        if given.get("job") == "none":
            with pytest.raises(Problem) as refused:
                method(**given)
            assert refused.value.status == 404
            with pytest.raises(Problem):
                asyncio.run(not_waiting())
            return
        found = method(**given)
        assert isinstance(found, route_of(name).model)
        if name not in ("start_job", "jobs", "history", "info"):
            assert asyncio.run(not_waiting()) == found


def test_a_service_that_is_not_there_is_a_problem() -> None:
    async def not_waiting() -> object:
        async with AsyncClient("http://127.0.0.1:9") as client:
            return await client.info()

    with Client("http://127.0.0.1:9") as client, pytest.raises(Problem) as refused:
        client.info()
    assert str(refused.value).startswith("http://127.0.0.1:9/: cannot be reached")
    with pytest.raises(Problem, match="cannot be reached"):
        asyncio.run(not_waiting())


def test_a_client_without_the_key_is_told_so(served: Live) -> None:
    with Client(served.address) as client, pytest.raises(Problem) as refused:
        client.info()
    assert refused.value.status == 401
    assert "key" in str(refused.value)


def test_a_client_hears_what_happened_since(served: Live) -> None:
    with Client(served.address, key=WRITE_KEY) as client:
        before = client.info().sequence
        client.update(add=[("Somebody", "born in", "Ulm")])
        event = next(client.events(since=before))
    assert (event.name, event.sequence) == ("change", before + 1)
    assert event.document["added"] == [["Somebody", "born in", "Ulm"]]
