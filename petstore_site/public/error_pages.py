"""Django's own errors: an Error for API clients, a page for people in the back office."""

import logging
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt
from rest_framework.permissions import SAFE_METHODS

from changes.acting import acting
from database import errors as database_errors
from database.signals import data_rejected
from rest.errors import CODES, APIError, ErrorCode, error_response

logger = logging.getLogger(__name__)

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

View = TypeVar("View", bound=Callable[..., HttpResponseBase])


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


def open_to_every_origin(view: View) -> View:
    """Let scripts of every origin read a page (CORS): it is the same for everyone."""

    @wraps(view)
    def wrapper(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response = view(request, *args, **kwargs)
        response["Access-Control-Allow-Origin"] = "*"
        response["Access-Control-Expose-Headers"] = "ETag, X-Request-ID"
        if request.method == "OPTIONS":
            response["Access-Control-Allow-Headers"] = "*"
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


def rejected(request: HttpRequest, error: APIError) -> HttpResponse:
    """Return the response to a request whose body was not read."""
    return _respond(request, CODES[str(error.get_codes())], str(error.detail))


def too_many_requests(request: HttpRequest) -> HttpResponse:
    """Return 429 to a user who sends forms too fast; what is counted is forms a minute."""
    message = "You are sending forms too fast. Wait a minute and try again."
    return _respond(request, ErrorCode.RATE_LIMITED, message, retry_after=60)


def server_error(request: HttpRequest) -> HttpResponse:
    """Return 500, or 503 if the database failed."""
    error = sys.exc_info()[1]
    response = for_database_error(request, error) if error else None
    return response or _respond(request, ErrorCode.INTERNAL_ERROR)


def unavailable(request: HttpRequest, retry_after: int, *, may_be_done: bool = False) -> HttpResponse:
    """Return 503, for a writing request with whether it may be done nevertheless; `retry_after` is in seconds."""
    response = _respond(request, ErrorCode.UNAVAILABLE, retry_after=retry_after)
    if request.method not in SAFE_METHODS:
        unknown = may_be_done or database_errors.outcome_is_unknown()
        response["Request-Outcome"] = "unknown" if unknown else "not-done"
    return response


def unconfirmed(request: HttpRequest) -> HttpResponse:
    """Return 503 for a request whose COMMIT no standby confirmed: its outcome is not known."""
    logger.error("A standby did not confirm the commit of this request. The response is 503.")
    return unavailable(request, database_errors.BROKEN.retry_after)


def for_database_error(request: HttpRequest, error: BaseException) -> HttpResponse | None:
    """Return 503 or 400 if `error` is a known database error, else None."""
    if database_errors.rejected_data(error):
        logger.error("The database rejected a value that our validation accepted", exc_info=error)
        data_rejected.send(sender=None)
        return _respond(request, ErrorCode.BAD_REQUEST)
    failure = database_errors.failure_of(error)
    if failure is None:
        return None
    logger.error("Database error: %s", database_errors.described(error))
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
