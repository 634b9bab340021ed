"""For every request, pages included: an ID, a log line, and a 503 when the database fails."""

import logging
import re
import time
from collections.abc import Callable
from uuid import uuid4

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from history.acting import begin_request
from petstore_site import metrics
from petstore_site.public import error_pages
from rest import database_errors
from rest.middleware import is_api

GetResponse = Callable[[HttpRequest], HttpResponse]

requests_logger = logging.getLogger("petstore.requests")
logger = logging.getLogger(__name__)

RETRIES = 2


class RequestLogMiddleware:
    """Give the request its ID (`X-Request-ID`), measure it, and log one line when it is done."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Set `X-Request-ID`, which later layers read, and log the response."""
        name = request.META["HTTP_X_REQUEST_ID"] = _request_id(request)
        begin_request(name)
        started = time.perf_counter()
        response = self.get_response(request)
        response["X-Request-ID"] = name
        _log(request, response, seconds=time.perf_counter() - started)
        return response


def _request_id(request: HttpRequest) -> str:
    given = request.headers.get("X-Request-ID", "")
    return given if re.fullmatch(r"[A-Za-z0-9._-]{1,128}", given) else uuid4().hex


def _log(request: HttpRequest, response: HttpResponseBase, *, seconds: float) -> None:
    route = request.resolver_match.view_name if request.resolver_match else ""
    facts = {
        "method": request.method,
        "path": request.path,
        "route": route or "-",
        "status": response.status_code,
        "code": getattr(response, "error_code", None),
        "key_id": getattr(getattr(request, "auth", None), "key_id", None),
        "milliseconds": round(seconds * 1000, 1),
    }
    words = (f"{word}" for word in (facts["method"], facts["path"], facts["status"], facts["code"]) if word)
    requests_logger.info("%s %.1f ms", " ".join(words), seconds * 1000, extra={"facts": facts})
    metrics.observe_request(
        method=request.method or "", route=route or "none", status=response.status_code, seconds=seconds
    )


class HeadMiddleware:
    """Respond to HEAD as to GET, without the body (RFC 9110, section 9.3.2)."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Drop the body, keep `Content-Length`."""
        response = self.get_response(request)
        if request.method == "HEAD" and not response.streaming:
            response.content = b""
        return response


class DatabaseErrorMiddleware:
    """Respond with 503 and `Retry-After` while the database fails, by the table in `database_errors`.

    An API request that lost to another transaction is retried, twice at most. If the standby did
    not confirm the COMMIT, the response is replaced by a 503: its outcome is not known.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Replace a response whose COMMIT was not confirmed."""
        database_errors.reset_commit_state()
        response = self.get_response(request)
        if database_errors.commit_unconfirmed():
            logger.error("A standby did not confirm the commit of this request. The response is 503.")
            return error_pages.unavailable(request, database_errors.BROKEN.retry_after)
        return response

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponseBase | None:
        """Return a response if the database failed. Return None to leave the exception to Django (500)."""
        for _ in range(RETRIES if is_api(request) else 0):
            if database_errors.sqlstate(error) not in database_errors.RETRYABLE or request.resolver_match is None:
                break
            match = request.resolver_match
            try:
                response: HttpResponseBase = match.func(request, *match.args, **match.kwargs)
                return response  # noqa: TRY300 - the next line is for what it raised
            except Exception as again:  # noqa: BLE001 - handled below like the first
                error = again
        return error_pages.for_database_error(request, error)
