"""What became of each request, said once: to the log, the metrics, the use of the key, and the request desk."""

import asyncio
import logging
import re
from random import getrandbits
from typing import NamedTuple

from django.utils import timezone
from rest_framework.permissions import SAFE_METHODS

from history.acting import begin_request
from petstore_site import metrics
from petstore_site.apikeys import usage
from petstore_site.apikeys.lookup import CachedKey
from petstore_site.request_desk import records
from petstore_site.request_desk.models import LONGEST_MESSAGE
from rest.api import is_api

STARTED = "petstore.started"
"""In the environ: the reading of `time.perf_counter` when the request came, and later by the time its body took."""

AFTER_SECONDS = 0.01
"""How long a request may wait until it is logged and counted. A worker that ends waits longer (`door/worker.py`)."""

requests_logger = logging.getLogger("petstore.requests")

WRITING = {"POST", "PUT", "PATCH", "DELETE"}


class Seen(NamedTuple):
    """A request and its response."""

    request_id: str
    method: str
    path: str
    route: str
    """The route's name, empty if no route was reached."""
    status: int
    seconds: float
    code: str = ""
    message: str = ""
    """Of the Error."""
    key: CachedKey | None = None
    """The key that was accepted."""
    known_key: CachedKey | None = None
    """The key that was sent, expired and revoked ones too."""


def request_id(given: str) -> str:
    """Return the caller's `X-Request-ID` if it is one, else a new one."""
    return given if given and re.fullmatch(r"[A-Za-z0-9._-]{1,128}", given) else f"{getrandbits(128):032x}"


def observe(seen: Seen) -> None:
    """Log and count the request; count the use of its key, and record it if support may be asked about it."""
    _log(seen)
    metrics.observe_request(method=seen.method, route=seen.route or "none", status=seen.status, seconds=seen.seconds)
    if seen.key:
        usage.count(seen.key, route=_counted(seen), status=200 if seen.status == 304 else seen.status)
    is_good_read = records.is_good_read(seen.method, seen.status)
    if is_api(seen.path) and (not is_good_read or _is_recorded(seen.key)):
        records.note(_record(seen))


class Later:
    """Observes the requests of an event loop a moment after their responses, those of that moment together.

    One after the other they find the code in the processor's cache: that takes half of the time.
    """

    def __init__(self) -> None:
        """Start with none."""
        self._seen: list[Seen] = []

    def observe(self, seen: Seen) -> None:
        """Observe the request within `AFTER_SECONDS`."""
        if not self._seen:
            asyncio.get_running_loop().call_later(AFTER_SECONDS, self._observe_all)
        self._seen.append(seen)

    def _observe_all(self) -> None:
        all_seen, self._seen = self._seen, []
        for seen in all_seen:
            begin_request(seen.request_id)
            observe(seen)


def _is_recorded(key: CachedKey | None) -> bool:
    """Return whether staff switched on the recording of all requests with this key."""
    return key is not None and key.recorded_until is not None and key.recorded_until > timezone.now()


def _log(seen: Seen) -> None:
    if not requests_logger.isEnabledFor(logging.INFO):
        return
    milliseconds = round(seen.seconds * 1000, 1)
    words = f"{seen.method} {seen.path} {seen.status} {f'{seen.code} ' if seen.code else ''}{milliseconds} ms"
    # Not by `info`, which takes as long as the rest of the line to find out who called it and what to add.
    line = logging.LogRecord(requests_logger.name, logging.INFO, "", 0, words, None, None)
    line.facts = {
        "method": seen.method,
        "path": seen.path,
        "route": seen.route or "-",
        "status": seen.status,
        "code": seen.code or None,
        "key_id": seen.key.key_id if seen.key else None,
        "milliseconds": milliseconds,
    }
    requests_logger.handle(line)


def _counted(seen: Seen) -> str:
    """Return the route's name, followed by a space and the method unless it reads: one path can have several."""
    if seen.method in SAFE_METHODS:
        return seen.route
    return f"{seen.route} {seen.method if seen.method in WRITING else 'OTHER'}"


def _record(seen: Seen) -> records.Record:
    return records.Record(
        request_id=seen.request_id,
        key=seen.known_key and seen.known_key.pk,
        at=timezone.now(),
        method=seen.method,
        route=seen.route,
        status=seen.status,
        code=seen.code,
        message=seen.message[:LONGEST_MESSAGE],
        milliseconds=round(seen.seconds * 1000),
    )
