"""
Problems: error responses in the format of RFC 9457.

The detail is the message of our own error. One table maps each class of errors to a status; routes
catch nothing.
"""

import json
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from casegraph.errors import (
    AmbiguousName,
    CasegraphError,
    DamagedStore,
    IncompatibleFile,
    InvalidArgument,
    MalformedFact,
    NotReached,
    ReadOnlyStore,
    StoreInUse,
    UnknownName,
    UnreadableFile,
)

MEDIA_TYPE = "application/problem+json"
RETRY_SECONDS = "1"

STATUSES: dict[type[CasegraphError], HTTPStatus] = {
    UnknownName: HTTPStatus.NOT_FOUND,
    NotReached: HTTPStatus.NOT_FOUND,
    AmbiguousName: HTTPStatus.CONFLICT,
    MalformedFact: HTTPStatus.UNPROCESSABLE_ENTITY,
    InvalidArgument: HTTPStatus.UNPROCESSABLE_ENTITY,
    ReadOnlyStore: HTTPStatus.SERVICE_UNAVAILABLE,
    StoreInUse: HTTPStatus.SERVICE_UNAVAILABLE,
    DamagedStore: HTTPStatus.SERVICE_UNAVAILABLE,
    IncompatibleFile: HTTPStatus.SERVICE_UNAVAILABLE,
    UnreadableFile: HTTPStatus.SERVICE_UNAVAILABLE,
}


class Refused(CasegraphError):
    """A request that is refused for what it is, not for what it says."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


def problem(
    status: HTTPStatus, detail: str, urn: str = "", **more: object
) -> tuple[HTTPStatus, bytes]:
    """A problem as the body of a response, with its status."""
    document: dict[str, Any] = {
        "type": f"urn:casegraph:{urn}" if urn else "about:blank",
        "title": status.phrase,
        "status": int(status),
        "detail": detail,
        **more,
    }
    return status, json.dumps(document, ensure_ascii=False).encode(errors="replace")


def headers_of(status: HTTPStatus) -> dict[str, str]:
    """Further headers of a problem: when to try again, or how to authenticate."""
    if status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE):
        return {"Retry-After": RETRY_SECONDS}
    if status == HTTPStatus.UNAUTHORIZED:
        return {"WWW-Authenticate": 'Bearer realm="casegraph"'}
    return {}


def status_of(error: CasegraphError) -> HTTPStatus:
    """The status of one of our errors."""
    if isinstance(error, Refused):
        return error.status
    for kind, status in STATUSES.items():
        if isinstance(error, kind):
            return status
    return HTTPStatus.UNPROCESSABLE_ENTITY


def install(app: FastAPI) -> None:
    """Let every error of the application become a problem."""
    app.add_exception_handler(CasegraphError, _of_casegraph)
    app.add_exception_handler(RequestValidationError, _of_validation)
    app.add_exception_handler(HTTPException, _of_http)
    app.add_exception_handler(Exception, _of_bug)


def _response(
    status: HTTPStatus, detail: str, urn: str = "", **more: object
) -> Response:
    _, body = problem(status, detail, urn, **more)
    return Response(body, int(status), headers_of(status), MEDIA_TYPE)


async def _of_casegraph(_: Request, error: Exception) -> Response:
    assert isinstance(error, CasegraphError)
    more: dict[str, object] = {}
    if isinstance(error, UnknownName):
        more = {"kind": error.kind, "name": error.name}
    if isinstance(error, AmbiguousName):
        more = {"kind": error.kind, "name": error.label, "names": error.names[:100]}
    return _response(
        status_of(error), str(error), _dashed(type(error).__name__), **more
    )


async def _of_validation(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    wrong = []
    for found in error.errors()[:10]:
        where = ".".join(map(str, found["loc"]))
        wrong.append({"where": where, "problem": str(found["msg"])})
    first = (
        f"{wrong[0]['where']}: {wrong[0]['problem']}"
        if wrong
        else "the request is malformed"
    )
    return _response(
        HTTPStatus.UNPROCESSABLE_ENTITY, first, "malformed-request", errors=wrong
    )


async def _of_http(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    status = HTTPStatus(error.status_code)
    response = _response(status, str(error.detail))
    response.headers.update(error.headers or {})
    return response


async def _of_bug(_: Request, __: Exception) -> Response:
    """A bug: its traceback is in the log of the server, and nothing of it in the response."""
    detail = "something went wrong in the service; its log has the details"
    return _response(HTTPStatus.INTERNAL_SERVER_ERROR, detail)


def _dashed(name: str) -> str:
    """The name of a class as a part of a URN: UnknownName becomes unknown-name."""
    dashed = "".join(
        f"-{letter.lower()}" if letter.isupper() else letter for letter in name
    )
    return dashed.removeprefix("-")
