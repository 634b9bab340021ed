"""Report each request once: to the log, the metrics, the use of its key, and the request desk."""

import asyncio
import logging
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from django.http import HttpResponse
from django.utils import timezone
from rest_framework.permissions import SAFE_METHODS

from petstore_site.apikeys import usage
from petstore_site.back_office.request_desk import records
from petstore_site.serving import metrics
from rest.request import Request

AFTER_SECONDS = 0.01
"""How long a request may wait until it is logged and counted. A worker that ends waits longer (`server/worker.py`)."""

MOST_TOGETHER = 16
"""How many requests are observed at once: others wait meanwhile."""

requests_logger = logging.getLogger("petstore.requests")

WRITING = {"POST", "PUT", "PATCH", "DELETE"}


class AccessRecord(NamedTuple):
    """A request and its response."""

    request: Request
    status: int
    seconds: float
    code: str = ""
    message: str = ""
    """Of the Error."""

    @property
    def is_good_read(self) -> bool:
        """Whether the request read and succeeded: such a one is only counted."""
        return self.status < 400 and self.request.method in SAFE_METHODS


def record_of(request: Request, status: int, code: str = "", message: str = "") -> AccessRecord:
    """Return the record of a request that was responded to just now."""
    return AccessRecord(request, status, time.perf_counter() - request.started, code, message)


def record_of_django(request: Request, response: HttpResponse) -> AccessRecord:
    """Return the same of Django's response."""
    code, message = getattr(response, "error_code", ""), getattr(response, "error_message", "")
    return record_of(request, response.status_code, code, message)


def observe(*access_records: AccessRecord) -> None:
    """Log and count requests; count the use of their keys, and record what support may be asked about."""
    _log(access_records)
    for record in access_records:
        request, status, key = record.request, record.status, record.request.key
        metrics.observe_request(
            method=request.method, route=request.route.name or "none", status=status, seconds=record.seconds
        )
        if key:
            usage.count(key, route=_counted(request), status=200 if status == 304 else status)
        if request.is_api and not record.is_good_read:
            records.note(_record(record))


class Batch:
    """Observes the requests of an event loop a moment after their responses, those of that moment together.

    One after the other they find the code in the processor's cache, and their lines are written at once.
    """

    def __init__(self) -> None:
        self._records: list[AccessRecord] = []

    def observe(self, record: AccessRecord) -> None:
        """Observe the request within `AFTER_SECONDS`."""
        self._records.append(record)
        if len(self._records) == 1:
            asyncio.get_running_loop().call_later(AFTER_SECONDS, self._observe_all)
        elif len(self._records) == MOST_TOGETHER:
            asyncio.get_running_loop().call_soon(self._observe_all)

    def _observe_all(self) -> None:
        due, self._records = self._records, []
        observe(*due)


def _log(access_records: Sequence[AccessRecord]) -> None:
    """Log a line for each, all in one record of the log: what the log does for a record takes longer than a line."""
    if not access_records or not requests_logger.isEnabledFor(logging.INFO):
        return
    lines = [_line(record) for record in access_records]
    # Not by `info`, which takes as long as two lines to find out who called it and what to add.
    words = "\n".join(line["message"] for line in lines)
    together = logging.LogRecord(requests_logger.name, logging.INFO, "", 0, words, None, None)
    together.lines = lines
    requests_logger.handle(together)


def _line(record: AccessRecord) -> dict[str, Any]:
    request, milliseconds = record.request, round(record.seconds * 1000, 1)
    code = f"{record.code} " if record.code else ""
    return {
        "request_id": request.id,
        "message": f"{request.method} {request.path} {record.status} {code}{milliseconds} ms",
        "method": request.method,
        "path": request.path,
        "route": request.route.name or "-",
        "status": record.status,
        "code": record.code or None,
        "key_id": request.key.key_id if request.key else None,
        "milliseconds": milliseconds,
    }


def _counted(request: Request) -> str:
    """Return the route's name, followed by a space and the method unless it reads: one path can have several."""
    if request.method in SAFE_METHODS:
        return request.route.name
    return f"{request.route.name} {request.method if request.method in WRITING else 'OTHER'}"


def _record(record: AccessRecord) -> records.Record:
    request = record.request
    return records.Record(
        request_id=request.id,
        key=request.known_key and request.known_key.pk,
        at=timezone.now(),
        method=request.method,
        route=request.route.name,
        status=record.status,
        code=record.code,
        message=record.message,
        milliseconds=round(record.seconds * 1000),
    )
