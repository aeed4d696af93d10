"""Routes for operators: liveness, readiness, metrics."""

from fastapi import APIRouter, Response

from casegraph.service import metrics, models
from casegraph.service.requests import Serving

router = APIRouter(tags=["operating"])


@router.get("/healthz")
async def healthz() -> models.Health:
    """Whether the service lives."""
    return models.Health(status="alive")


@router.get("/readyz", responses={503: {"model": models.Health}})
async def readyz(service: Serving, response: Response) -> models.Health:
    """Whether the first questions will be answered at once: 503 until everything is counted."""
    if not service.is_ready:
        response.status_code = 503
        return models.Health(status="counting")
    return models.Health(status="ready")


@router.get("/metrics", response_class=Response)
async def all_metrics(service: Serving) -> Response:
    """Metrics for Prometheus."""
    return Response(
        service.metrics.text(service.now()), media_type=metrics.CONTENT_TYPE
    )
