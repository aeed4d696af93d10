"""Metrics for Prometheus: requests, how long they took, and what the store holds."""

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
CONTENT_TYPE = CONTENT_TYPE_LATEST


class Metrics:
    """What is counted while the service runs."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        labels = ["method", "route", "status"]
        self._requests = Counter(
            "casegraph_requests", "Requests answered", labels, registry=self._registry
        )
        self._seconds = Histogram(
            "casegraph_request_seconds",
            "How long requests took",
            ["route"],
            buckets=SECONDS,
            registry=self._registry,
        )
        self._gauges: dict[str, Gauge] = {}

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request; `route` is that of the table of routes, not what a client wrote."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def text(self, now: dict[str, float]) -> bytes:
        """All metrics; `now` is what can be read at any time."""
        for name, value in now.items():
            if name not in self._gauges:
                help_text = name.replace("_", " ")
                self._gauges[name] = Gauge(
                    f"casegraph_{name}", help_text, registry=self._registry
                )
            self._gauges[name].set(value)
        return generate_latest(self._registry)
