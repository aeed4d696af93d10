"""Routes for jobs: work that takes longer than a request."""

from typing import Annotated, Literal

from fastapi import APIRouter, Body, Path, Response
from fastapi.responses import FileResponse

from casegraph.answering.results.labels import labels_of
from casegraph.service import models
from casegraph.service.jobs import FORMATS
from casegraph.service.pages import Cursor, cursor_of
from casegraph.service.requests import CursorText, Limit, Serving

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])

JobRequest = Annotated[models.CompleteJob | models.AuditJob, Body(discriminator="kind")]
JobNumber = Annotated[str, Path(min_length=1, max_length=40)]


@router.get("")
async def jobs(service: Serving) -> models.Jobs:
    """All jobs, the newest first."""
    return models.Jobs(jobs=service.jobs.all())


@router.post("", status_code=202)
async def start(service: Serving, response: Response, job: JobRequest) -> models.Job:
    """Propose missing facts (complete), or list doubtful ones (audit)."""
    started = service.jobs.start(job, service.snapshots.now)
    response.headers["Location"] = f"/v1/jobs/{started.job}"
    return started


@router.get("/{job}")
async def job(service: Serving, job: JobNumber) -> models.Job:
    """How far a job is."""
    return service.jobs.get(job).seen()


@router.delete("/{job}")
async def cancel(service: Serving, job: JobNumber) -> models.Job:
    """End a job that waits or runs."""
    return service.jobs.cancel(job)


@router.get("/{job}/rows")
async def rows(
    service: Serving, job: JobNumber, limit: Limit = 100, cursor: CursorText = None
) -> models.Rows:
    """A page of the result of a job."""
    at = cursor_of(cursor, None)
    found = await service.read(
        lambda: service.jobs.rows(job, at.first, limit + 1), slow=True
    )
    page = found[:limit]
    following = str(Cursor(0, at.first + limit)) if len(found) > limit else None
    names = [
        str(row[column])
        for row in page
        for column in ("head", "relation", "tail", "instead")
        if row.get(column)
    ]
    return models.Rows(
        columns=list(page[0]) if page else [],
        rows=page,
        next=following,
        labels=labels_of(service.store.descriptions, names),
    )


@router.get("/{job}/result", response_class=FileResponse)
async def result(
    service: Serving,
    job: JobNumber,
    format: Literal["jsonl", "csv"] = "jsonl",  # noqa: A002
) -> FileResponse:
    """The result of a job as a file."""
    work = service.jobs.finished(job)
    name = f"{work.wanted.kind}-{work.sequence}.{format}"
    return FileResponse(work.file(format), media_type=FORMATS[format], filename=name)
