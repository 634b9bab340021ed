"""The Error for a request that the server rejects before it is one of ours (docs/decisions/0032)."""

import logging
from email.utils import formatdate
from functools import cache
from http import HTTPStatus

from changes.acting import begin_request, end_request
from rest.errors import ErrorCode, error_body
from rest.media_type import render_json
from rest.requests import Request
from rest.responses import Finish

logger = logging.getLogger("gunicorn.error")


ERRORS = {
    500: ErrorCode.INTERNAL_ERROR,
    501: ErrorCode.UNSUPPORTED_TRANSFER_CODING,
    503: ErrorCode.UNAVAILABLE,
}
MESSAGES = {
    414: "The request line (method and URL) must have at most 4,094 bytes.",
    431: "The request must have at most 50 headers, each of at most 8,000 bytes.",
}
"""For what is too long. Like all that has no Error of its own, it is 400."""


def reject(status: int, reason: str) -> bytes:
    """Return the response and log why. 204 is the response to `OPTIONS *`."""
    request = Request({"REQUEST_METHOD": "GET", "PATH_INFO": "", "wsgi.url_scheme": "http"})  # nothing of it is known
    if status == HTTPStatus.NO_CONTENT:
        return _written(request, HTTPStatus.NO_CONTENT, {"Allow": "GET, HEAD, OPTIONS, POST"}, b"")
    code = ERRORS.get(status, ErrorCode.BAD_REQUEST)
    if code is not ErrorCode.INTERNAL_ERROR:  # the server has logged a bug
        begin_request(request.id)
        logger.warning("Rejected a request from %s", reason)
        end_request()
    more = {"Retry-After": "1"} if code is ErrorCode.UNAVAILABLE else {}
    body = render_json(error_body(code, MESSAGES.get(status, "")))
    return _written(request, code.status, {**more, "Link": code.help_link}, body)


def _written(request: Request, status: HTTPStatus, headers: dict[str, str], body: bytes) -> bytes:
    """Return the bytes of the response, with the headers that every one has."""
    complete = _finish()(request, status, headers, body).headers
    fields = {"Date": formatdate(usegmt=True), **complete, "Connection": "close"}
    lines = [f"{name}: {value}" for name, value in fields.items()]
    return "\r\n".join([f"HTTP/1.1 {status.value} {status.phrase}", *lines, "", ""]).encode() + body


_finish = cache(Finish)
