"""Everything that says no to a request: an Error for API clients, a page for people in the back office.

An operation or a check raises what `rest/errors.py` converts. All that fails around them is here.
"""

import errno
import logging
import sys
from collections.abc import Callable
from email.utils import formatdate
from functools import cache, wraps
from http import HTTPStatus
from traceback import clear_frames
from typing import Any, TypeVar, cast

from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt
from rest_framework.permissions import SAFE_METHODS

from database import errors as database_errors
from database.errors import data_rejected
from history.acting import acting, begin_request, end_request
from rest.errors import CODES, APIError, ErrorCode, error_body, error_response
from rest.media_type import render_json
from rest.request import Request
from rest.responses import Finish

logger = logging.getLogger(__name__)
server_logger = logging.getLogger("gunicorn.error")

PEOPLE = "/admin/"
FOR_PEOPLE = {
    ErrorCode.BAD_REQUEST: "Your browser sent a malformed request. Go back, reload the page and try again.",
    ErrorCode.ROUTE_NOT_FOUND: "This page does not exist. Check the address for typos. "
    "Its content may have been deleted.",
    ErrorCode.INTERNAL_ERROR: "We logged it. Check whether your change was saved before you "
    "send it again. If this page comes back, give an administrator the request ID below.",
    ErrorCode.UNAVAILABLE: "The service is temporarily unavailable. Wait a moment, then reload the page. "
    "Check whether your change was saved before you send it again.",
}
"""What the pages say where the meaning of the code is written for developers."""

HEADINGS = {
    ErrorCode.BODY_TOO_LARGE: "The file is too large",
    ErrorCode.INSUFFICIENT_SCOPE: "Not allowed",
    ErrorCode.ROUTE_NOT_FOUND: "Page not found",
    ErrorCode.INTERNAL_ERROR: "Something went wrong",
    ErrorCode.UNAVAILABLE: "Back in a moment",
}
"""The headings of pages where the phrase of HTTP says little to people."""

TOO_LONG = {
    414: "The request line (method and URL) must have at most 4,094 bytes.",
    431: "The request must have at most 50 headers, each of at most 8,000 bytes.",
}
"""By the status from the server, before a request is one of ours (docs/decisions/0032). All others are 400."""

NOTHING_KNOWN: dict[str, Any] = {
    "method": "GET", "raw_path": b"", "query_string": b"", "headers": [], "scheme": "http", "server": None
}  # fmt: skip

BUSY_SECONDS = 1
"""After which a caller tries again for whom there was no room."""

FULL = {errno.ENOSPC, errno.EDQUOT}
"""What a disk says that has no room for a file that was sent, or a part of it."""

View = TypeVar("View", bound=Callable[..., HttpResponseBase])


class OverloadError(Exception):
    """No thread or connection was free, or will be free in time: the request was not begun."""


class UnknownOutcomeError(Exception):
    """The connection broke after a COMMIT was sent, or no standby confirmed it: what the request asks may be done."""

    level, text = logging.ERROR, "Database error in a request that may be done: %s"


class LateError(UnknownOutcomeError):
    """The deadline passed."""

    level = logging.WARNING
    text = "No response in time. The caller got a 503, the thread its database connection closed."


def read_only(view: View) -> View:
    """Allow GET, HEAD and OPTIONS on a page that changes nothing; other methods get an Error."""

    @csrf_exempt
    @wraps(view)
    def wrapper(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.method in {"GET", "HEAD"}:
            return view(request, *args, **kwargs)
        if request.method == "OPTIONS":
            response = HttpResponse(status=204)
            del response["Content-Type"]
        else:
            response = error_response(ErrorCode.METHOD_NOT_ALLOWED)
        response["Allow"] = "GET, HEAD, OPTIONS"
        return response

    return cast("View", wrapper)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Return 400: a foreign Host, too many fields, a suspicious cookie."""
    return _respond(request, ErrorCode.BAD_REQUEST)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Return 403."""
    return _respond(
        request, ErrorCode.INSUFFICIENT_SCOPE, "You don't have permission to do this. Ask an administrator."
    )


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Return 403 for a form that is not from this site or has expired."""
    logger.warning("Form rejected: %s", reason)
    message = "This form has expired or did not come from this site. Go back, reload the page and send it again."
    return _respond(request, ErrorCode.INSUFFICIENT_SCOPE, message)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Return 404."""
    return _respond(request, ErrorCode.ROUTE_NOT_FOUND)


def too_many_requests(request: HttpRequest) -> HttpResponse:
    """Return 429 to a user who sends forms too fast; what is counted is forms a minute."""
    message = "You are sending forms too fast. Wait a minute and try again."
    return _respond(request, ErrorCode.RATE_LIMITED, message, retry_after=60)


def server_error(request: HttpRequest) -> HttpResponse:
    """Return 500, or 503 if the database failed."""
    error = sys.exc_info()[1]
    response = for_exception(request, error) if error else None
    return response or _respond(request, ErrorCode.INTERNAL_ERROR)


def unavailable(request: HttpRequest, retry_after: int, *, may_be_done: bool = False) -> HttpResponse:
    """Return 503, for a writing request with whether it may be done nevertheless; `retry_after` is in seconds."""
    response = _respond(request, ErrorCode.UNAVAILABLE, retry_after=retry_after)
    if request.method not in SAFE_METHODS:
        unknown = may_be_done or database_errors.outcome_is_unknown()
        response["Request-Outcome"] = "unknown" if unknown else "not-done"
    return response


def confirmed(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Return the response, or 503 if no standby confirmed a COMMIT of the request: its outcome is not known."""
    if not database_errors.commit_unconfirmed():
        return response
    logger.error("A standby did not confirm the commit of this request. The response is 503.")
    return unavailable(request, database_errors.BROKEN.retry_after)


def for_exception(request: HttpRequest, error: BaseException) -> HttpResponse | None:
    """Return the response to a request that ended with `error`, or None if that is a bug."""
    if isinstance(error, APIError):
        return _respond(request, CODES[str(error.get_codes())], str(error.detail))
    if isinstance(error, OverloadError):
        return unavailable(request, BUSY_SECONDS)
    if isinstance(error, UnknownOutcomeError):
        logger.log(error.level, error.text, *error.args)
        return unavailable(request, database_errors.BROKEN.retry_after, may_be_done=True)
    if database_errors.rejected_data(error):
        logger.error("The database rejected a value that our validation accepted", exc_info=error)
        data_rejected.send(sender=None)
        return _respond(request, ErrorCode.BAD_REQUEST)
    is_full = isinstance(error, OSError) and error.errno in FULL
    failure = database_errors.DISK if is_full else database_errors.failure_of(error)
    if failure is None:
        return None
    logger.error("%s error: %s", "Disk" if is_full else "Database", database_errors.described(error))
    clear_frames(error.__traceback__)  # frees SQLite's cursor, as serving/threads.py explains
    if failure.drop_connection:
        database_errors.drop(connection)
    return unavailable(request, failure.retry_after)


def _respond(
    request: HttpRequest, code: ErrorCode, message: str = "", *, retry_after: int | None = None
) -> HttpResponse:
    if not request.path_info.startswith(PEOPLE):
        return error_response(code, message, retry_after=retry_after)
    shown = message or FOR_PEOPLE.get(code, code.meaning)
    heading = HEADINGS.get(code, code.status.phrase.capitalize())
    context = {"heading": heading, "message": shown, "request_id": acting().request_id}
    try:
        response = render(request, "error.html", context, status=code.status)
    except Exception:
        logger.exception("The page for this error could not be rendered")
        return error_response(code, message, retry_after=retry_after)
    if retry_after is not None:
        response["Retry-After"] = str(retry_after)
    return response


def reject(status: int, reason: str) -> bytes:
    """Return the response to a request that the server rejects, and log why."""
    request = Request(NOTHING_KNOWN)
    code = ErrorCode.UNSUPPORTED_TRANSFER_CODING if status == HTTPStatus.NOT_IMPLEMENTED else ErrorCode.BAD_REQUEST
    begin_request(request.id)
    server_logger.warning("Rejected a request from %s", reason)
    end_request()
    body = render_json(error_body(code, TOO_LONG.get(status, "")))
    headers = _finish()(request, code.status, {"Link": code.help_link}, body).headers
    fields = {"Date": formatdate(usegmt=True), **headers, "Connection": "close"}
    lines = [f"{name}: {value}" for name, value in fields.items()]
    return "\r\n".join([f"HTTP/1.1 {code.status.value} {code.status.phrase}", *lines, "", ""]).encode() + body


_finish = cache(Finish)
