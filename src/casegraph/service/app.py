"""The application: the routes, the page, and the guard around both."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles

from casegraph import __version__
from casegraph.service import models, problems, requests
from casegraph.service.core import Service
from casegraph.service.guard import Guard
from casegraph.service.keys import Right
from casegraph.service.rights import ROUTES, rule_of
from casegraph.service.routes import (
    exploration,
    job_control,
    operations,
    queries,
    updates,
)

PAGE = Path(__file__).parent / "page"
REFUSALS = (400, 401, 403, 404, 405, 408, 409, 413, 415, 421, 422, 429, 503)
DESCRIPTION = (
    "Answers by precedent, with reasons. Errors are problems in the form of RFC 9457."
)


def application(service: Service, hosts: Iterable[str]) -> Guard:
    """The whole service as an ASGI application.

    hosts  the only names, with ports, by which clients may call it
    """
    return Guard(routes(service), service, rule_of, hosts)


def routes(service: Service) -> FastAPI:
    """The routes and the page, without the guard."""

    @asynccontextmanager
    async def living(_: FastAPI) -> AsyncIterator[None]:
        await service.start()
        try:
            yield
        finally:
            await service.stop()

    app = FastAPI(
        title="casegraph",
        version=__version__,
        description=DESCRIPTION,
        openapi_url="/v1/openapi.json",
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
        lifespan=living,
        responses=_refusals(),
        generate_unique_id_function=lambda route: route.name,
    )
    app.state.service = service
    problems.install(app)
    app.add_exception_handler(requests.NotModified, requests.not_modified)
    for part in (queries, exploration, updates, job_control, operations):
        app.include_router(part.router)
    app.mount("/", StaticFiles(directory=PAGE, html=True))
    _say_who_may(app)
    return app


def _refusals() -> dict[int | str, dict[str, Any]]:
    """What any route may answer instead: a problem."""
    schema = {"$ref": "#/components/schemas/Problem"}
    content = {problems.MEDIA_TYPE: {"schema": schema}}
    return {
        status: {"description": "Problem", "content": content} for status in REFUSALS
    }


def _say_who_may(app: FastAPI) -> None:
    """Put the keys, and what each route needs, into the OpenAPI document."""
    made = app.openapi

    def document() -> dict[str, Any]:
        if app.openapi_schema is not None:
            return app.openapi_schema
        described = made()
        parts = described.setdefault("components", {})
        parts.setdefault("schemas", {})["Problem"] = (
            models.ProblemDocument.model_json_schema()
        )
        parts["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        for (method, path), rule in ROUTES.items():
            operation = described["paths"].get(path, {}).get(method.lower())
            if operation is not None and rule.right > Right.NOTHING:
                operation["security"] = [{"key": []}]
        app.openapi_schema = described
        return described

    app.openapi = document  # type: ignore[method-assign]
