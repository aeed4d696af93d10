"""The tools for language models, by the reference client; what they say is what HTTP says."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from tests.commands import process
from tests.serving import PATIENCE

from casegraph import CaseStore, world
from casegraph.service import models
from casegraph.service.views import results

if TYPE_CHECKING:
    from pathlib import Path

mcp = pytest.importorskip("mcp", reason="the extra `mcp` is not installed")

ASKED = {"entity": "Albert Einstein", "relation": "citizen of"}
READING = {"ask", "explain", "similar", "search", "relations", "describe", "what_if"}


def called(served: object, name: str, arguments: dict[str, Any]) -> Any:
    async def call() -> object:
        async with mcp.Client(served) as client:
            return await client.call_tool(name, arguments)

    return asyncio.run(call())


def offered(served: object) -> set[str]:
    async def names() -> set[str]:
        async with mcp.Client(served) as client:
            return {tool.name for tool in (await client.list_tools()).tools}

    return asyncio.run(names())


@pytest.fixture
def store(tmp_path: Path) -> CaseStore:
    opened = CaseStore.open(tmp_path / "store")
    opened.update(add=world.facts())
    return opened


def test_tools_say_what_the_routes_say(store: CaseStore) -> None:
    from casegraph.service.tools import server

    serving = server(store)
    cases = store.what_if()
    question = models.NamedQuestion(entity="Albert Einstein", relation="citizen of")
    expected = results.answers(cases, *results.asked(cases, [question], top=3))
    found = called(serving, "ask", {**ASKED, "top": 3})
    assert models.AnswersResponse.model_validate(found.structured_content) == expected
    why = called(serving, "explain", {**ASKED, "answer": "Germany"})
    assert models.ExplanationResponse.model_validate(why.structured_content).reasons
    for name, arguments in (
        ("similar", {"entity": "Albert Einstein"}),
        ("search", {"words": "curie"}),
        ("relations", {}),
        ("describe", {"entity": "Albert Einstein"}),
        ("what_if", {**ASKED, "retract": [["Albert Einstein", "born in", "Ulm"]]}),
    ):
        assert not called(serving, name, arguments).is_error
    wrong = called(serving, "describe", {"entity": "Albert Einstien"})
    assert wrong.is_error
    assert "did you mean 'Albert Einstein'" in wrong.content[0].text


def test_facts_are_changed_only_if_that_is_enabled(store: CaseStore) -> None:
    from casegraph.service.tools import server

    assert offered(server(store)) == READING
    writing = server(store, writes=True)
    assert offered(writing) == READING | {"add", "retract"}
    fact = ("Nobody", "born in", "Ulm")
    assert called(writing, "add", {"facts": [fact]}).structured_content["added"] == 1
    assert fact in store.graph
    assert (
        called(writing, "retract", {"facts": [fact]}).structured_content["retracted"]
        == 1
    )
    assert called(writing, "add", {"facts": [["a", "b", " "]]}).is_error
    assert fact not in store.graph


def test_each_of_many_changes_at_once_is_told_its_own_number(store: CaseStore) -> None:
    tools = pytest.importorskip(
        "casegraph.service.tools", reason="mcp is not installed"
    )
    offered = tools.Tools(store)
    facts = [("Nobody", "born in", f"Nowhere {number}") for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        written = list(pool.map(lambda fact: offered.add([fact]), facts))
    assert len({one.sequence for one in written}) == len(facts)


def test_the_command_speaks_over_standard_input(store: CaseStore) -> None:
    store.close()
    command, *arguments = process("mcp", store.folder)
    parameters = mcp.StdioServerParameters(command=command, args=arguments)
    assert offered(parameters) == READING


def test_the_command_speaks_over_http(store: CaseStore) -> None:
    store.close()
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    command = process("mcp", store.folder, "--http", "--port", str(port))
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as serving:
        try:
            wait_until_listening(port)
            assert offered(f"http://127.0.0.1:{port}/mcp") == READING
        finally:
            serving.terminate()


def wait_until_listening(port: int) -> None:
    give_up = time.monotonic() + PATIENCE
    while time.monotonic() < give_up:
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError("the server did not listen")
