"""For every request, pages included: an ID, a record of what became of it, and a 503 when the database fails."""

import logging
import time
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from history.acting import begin_request
from petstore_site.observing import STARTED, Seen, observe, request_id
from petstore_site.public import error_pages
from rest import database_errors

GetResponse = Callable[[HttpRequest], HttpResponse]

logger = logging.getLogger(__name__)


class ObservingMiddleware:
    """Give the request its ID (`X-Request-ID`), measure it, and say what became of it."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Set `X-Request-ID`, which later layers read, and observe the response."""
        started = request.META.get(STARTED) or time.perf_counter()
        name = request.META["HTTP_X_REQUEST_ID"] = request_id(request.META.get("HTTP_X_REQUEST_ID", ""))
        begin_request(name)
        response = self.get_response(request)
        response.headers["X-Request-ID"] = name
        observe(_seen(name, request, response, time.perf_counter() - started))
        return response


def _seen(name: str, request: HttpRequest, response: HttpResponseBase, seconds: float) -> Seen:
    return Seen(
        request_id=name,
        method=request.method or "",
        path=request.path,
        route=request.resolver_match.view_name if request.resolver_match else "",
        status=response.status_code,
        seconds=seconds,
        code=getattr(response, "error_code", ""),
        message=getattr(response, "error_message", ""),
        key=getattr(request, "auth", None),
        known_key=getattr(request, "known_key", None),
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

    If the standby did not confirm the COMMIT, the response is replaced by a 503: its outcome is not known.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Replace a response whose COMMIT was not confirmed."""
        database_errors.reset_commit_state()
        response = self.get_response(request)
        return error_pages.unconfirmed(request) if database_errors.commit_unconfirmed() else response

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponseBase | None:
        """Return a response if the database failed. Return None to leave the exception to Django (500)."""
        return error_pages.for_database_error(request, error)
