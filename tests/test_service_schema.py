"""Whatever is sent to the service, it answers as its OpenAPI document says, and stays alive.

By default few cases are tried for each operation; CASEGRAPH_SCHEMA_CASES tries more.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from hypothesis import HealthCheck, settings
from tests.serving import WRITE_KEY, bearer, live, two_keys

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")

if TYPE_CHECKING:
    from collections.abc import Iterator

CASES = int(os.environ.get("CASEGRAPH_SCHEMA_CASES", "10"))
STREAMS = "/v1/events"


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The document of a service that runs, with keys."""
    with live(tmp_path_factory.mktemp("schema") / "store", keys=two_keys()) as running:
        loaded = schemathesis.openapi.from_url(f"{running.address}/v1/openapi.json")
        yield loaded.exclude(path=STREAMS)
        assert httpx.get(f"{running.address}/healthz").status_code == 200


schema = schemathesis.pytest.from_fixture("document")


@schema.parametrize()  # type: ignore[untyped-decorator]
@settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_operation_answers_as_the_document_says(case: Any) -> None:  # noqa: ANN401
    case.call_and_validate(headers=bearer(WRITE_KEY))
