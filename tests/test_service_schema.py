"""Whatever is sent to the service, it answers as its OpenAPI document says, and stays alive.

By default few cases are tried for each operation; CASEGRAPH_SCHEMA_CASES tries more.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from tests.serving import WRITE_KEY, Live, bearer, live, two_keys

from casegraph.service.app import routes
from casegraph.service.rights import ROUTES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import Tally

schemathesis = pytest.importorskip(
    "schemathesis", reason="schemathesis is not installed"
)

checks = pytest.importorskip("schemathesis.specs.openapi.checks")

CASES = int(os.environ.get("CASEGRAPH_SCHEMA_CASES", "5"))
NOT_TRIED = {
    "/v1/events",
    "/v1/openapi.json",
}  # a stream without end, and the document itself
# No schema can say what a file of facts is.
OF_FILES = {"/v1/preview", "/v1/import"}
OPERATIONS = sorted(route for route in ROUTES if route[1] not in NOT_TRIED)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A service with keys."""
    with live(tmp_path_factory.mktemp("schema") / "store", keys=two_keys()) as served:
        yield served


@pytest.fixture(scope="module")
def document(running: Live) -> Any:
    return schemathesis.openapi.from_dict(routes(running.service).openapi())


@pytest.mark.parametrize(("method", "path"), OPERATIONS, ids=" ".join)
def test_every_operation_answers_as_the_document_says(
    running: Live,
    document: Any,
    method: str,
    path: str,
    tally: Tally,
) -> None:
    tried = 0

    @settings(
        max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck)
    )
    @given(case=document[path][method].as_strategy())
    def answers_as_documented(case: Any) -> None:
        nonlocal tried
        tried += 1
        case.call_and_validate(
            base_url=running.address,
            headers=bearer(WRITE_KEY),
            excluded_checks=[checks.positive_data_acceptance]
            if path in OF_FILES
            else [],
        )

    answers_as_documented()
    tally("requests made of the OpenAPI document", tried)
    assert running.client.get("/healthz").status_code == 200
