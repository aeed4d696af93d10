"""Routes that change the store, and list changes."""

from itertools import islice
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from fastapi.responses import StreamingResponse

from casegraph.answering.results.labels import labels_of
from casegraph.service import feed, models, uploads
from casegraph.service.core import Service
from casegraph.service.models import MAX_NAME, MAX_SEQUENCE
from casegraph.service.pages import Cursor, cursor_of
from casegraph.service.requests import CursorText, Limit, Serving
from casegraph.service.uploads import Upload

router = APIRouter(prefix="/v1", tags=["changing"])

# Updates that are replayed to a listener; if it missed more, it starts over.
MOST_MISSED = 1_000

Column = Annotated[int | None, Query(ge=1, le=1_000, description="Its column, from 1.")]
IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=200,
        description="Of your choice: the same update with the same key is made once.",
    ),
]
LastEventId = Annotated[
    int | None,
    Header(
        ge=0, le=MAX_SEQUENCE, description="The last update that the client knows of."
    ),
]


@router.post("/update")
async def update(
    service: Serving,
    response: Response,
    update: models.UpdateRequest,
    idempotency_key: IdempotencyKey = None,
) -> models.UpdateResponse:
    """Retract facts, then add facts; all or nothing, and on disk when it is answered."""
    written = await service.write(update, idempotency_key)
    response.headers["ETag"] = f'"{written.sequence}"'
    return written


FILE_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/octet-stream": {
                "schema": {"type": "string", "format": "binary"}
            }
        },
    }
}


async def upload_of(
    request: Request,
    name: Annotated[str, Query(min_length=1, max_length=MAX_NAME)],
    head: Column = None,
    relation: Column = None,
    same: Annotated[
        str, Query(max_length=MAX_NAME, description="The relation of all rows.")
    ] = "",
    tail: Column = None,
    header: Annotated[
        bool | None,
        Query(description="Whether the first line names the columns."),
    ] = None,
) -> Upload:
    """A file of facts, whose columns are detected unless all three are given."""
    columns = None
    if head is not None and tail is not None and (relation is not None or same):
        middle = f"={same}" if relation is None else str(relation)
        columns = [str(head), middle, str(tail)]
    return Upload(name, await request.body(), columns, header)


File = Annotated[Upload, Depends(upload_of)]


@router.post("/preview", openapi_extra=FILE_BODY)
async def preview(service: Serving, file: File) -> models.FilePreview:
    """How a file of facts is understood (TSV, CSV, JSON lines, N-Triples); nothing is stored."""
    return await service.read(lambda: uploads.preview(file), slow=True)


@router.post("/import", openapi_extra=FILE_BODY)
async def import_file(service: Serving, file: File) -> models.UpdateResponse:
    """Add the facts of a file, as one update; lines that are not facts are skipped."""
    return await service.add_file(file)


@router.get("/history")
async def history(
    service: Serving,
    since: Annotated[
        int, Query(ge=0, le=MAX_SEQUENCE, description="After this update.")
    ] = 0,
    limit: Limit = 100,
    cursor: CursorText = None,
) -> models.History:
    """What came and went, oldest first."""
    at = cursor_of(cursor, since)
    return await service.read(lambda: _history(service, at, limit), slow=True)


def _history(service: Service, at: Cursor, limit: int) -> models.History:
    """A page of the history after update `at.sequence`, without the first `at.first` events."""
    since = at.sequence or 0
    events = islice(service.store.history(since), at.first, at.first + limit + 1)
    found = []
    for event in events:
        shown = models.HistoryEvent(
            sequence=event.sequence,
            time=event.time.isoformat(),
            sign=event.sign,
            fact=event.fact,
        )
        found.append(shown)
    following = str(Cursor(since, at.first + limit)) if len(found) > limit else None
    names = [name for event in found[:limit] for name in event.fact]
    return models.History(
        events=found[:limit],
        next=following,
        sequence=service.store.sequence,
        labels=labels_of(service.store.descriptions, names),
    )


@router.get("/events", response_class=StreamingResponse)
async def events(
    service: Serving, last_event_id: LastEventId = None
) -> StreamingResponse:
    """Changes and jobs as they happen, as server-sent events; with Last-Event-ID, all since."""
    service.feed.check_room()

    async def missed() -> tuple[list[feed.Message], int]:
        sequence = service.store.sequence
        if last_event_id is None or last_event_id >= sequence:
            return [feed.hello(sequence)], sequence
        told = await service.read(
            lambda: _missed(service, last_event_id, sequence), slow=True
        )
        return told, sequence

    return StreamingResponse(
        service.feed.stream(missed), media_type="text/event-stream"
    )


def _missed(service: Service, since: int, sequence: int) -> list[feed.Message]:
    """What a listener has missed; only where it is now, if that is too much."""
    changes = list(islice(feed.changes_since(service.store, since), MOST_MISSED + 1))
    if len(changes) > MOST_MISSED:
        return [feed.hello(sequence)]
    return [feed.of_change(change) for change in changes if change.sequence <= sequence]
