"""What a service counts, as Prometheus reads it, over all of its workers; and its log as lines of JSON."""

from __future__ import annotations

import json
import logging
import os
from datetime import UTC, datetime

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from treewass.serve.service_settings import COUNTS_FOLDER

__all__ = ["JsonFormatter", "Measures"]

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Measures:
    """Requests by kind, and what the model holds."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        kinds = ("method", "route", "status")
        self._requests = Counter("treewass_requests", "Requests answered.", kinds, registry=self._registry)
        self._seconds = Histogram(
            "treewass_request_seconds", "Seconds to an answer.", ("route",), registry=self._registry, buckets=_SECONDS
        )
        self._documents, self._pending, self._bytes = (
            Gauge(name, text, registry=self._registry, multiprocess_mode="mostrecent")
            for name, text in (
                ("treewass_documents", "Documents of the model."),
                ("treewass_pending_writes", "Writes since the last fold."),
                ("treewass_pending_bytes", "Bytes of the file of writes."),
            )
        )

    def note(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def text(self, documents: int, pending_writes: int, pending_bytes: int) -> bytes:
        """Write all counts, those of other workers too, in the format of Prometheus."""
        self._documents.set(documents)
        self._pending.set(pending_writes)
        self._bytes.set(pending_bytes)
        registry = self._registry
        if COUNTS_FOLDER in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)


class JsonFormatter(logging.Formatter):
    """Records as JSON, one on each line: time, level, message, and the fields of a request."""

    def format(self, record: logging.LogRecord) -> str:
        """Write a record."""
        entry = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return json.dumps(entry)
