"""The Error for a request that the server rejects before it is one of ours (docs/decisions/0032)."""

import logging
from collections.abc import Mapping
from email.utils import formatdate
from http import HTTPStatus
from uuid import uuid4

from history.acting import begin_request, end_request
from rest.errors import ErrorCode, error_body
from rest.media_type import render_json

logger = logging.getLogger("gunicorn.error")


ERRORS = {
    400: (ErrorCode.BAD_REQUEST, {}),
    500: (ErrorCode.INTERNAL_ERROR, {}),
    501: (ErrorCode.UNSUPPORTED_TRANSFER_CODING, {}),
    503: (ErrorCode.UNAVAILABLE, {"Retry-After": "1"}),
}


def reject(status: int, reason: str) -> bytes:
    """Return the response and log why. 204 is the response to `OPTIONS *`, and what has no Error of its own is 400."""
    request_id = uuid4().hex
    if status == 204:
        return _written(HTTPStatus.NO_CONTENT, request_id, {"Allow": "GET, HEAD, OPTIONS, POST"})
    code, more = ERRORS.get(status, ERRORS[400])
    if code is not ErrorCode.INTERNAL_ERROR:  # the server has logged a bug
        begin_request(request_id)
        logger.warning("Rejected a request from %s", reason)
        end_request()
    body = render_json(error_body(code))
    about_body = {"Content-Type": "application/json", "Content-Length": str(len(body))}
    return _written(code.status, request_id, {**about_body, **more, "Link": code.help_link}) + body


def _written(status: HTTPStatus, request_id: str, headers: Mapping[str, str]) -> bytes:
    """Return the head of a response."""
    last = {"Cache-Control": "private, no-cache", "X-Request-ID": request_id, "Connection": "close"}
    fields = {"Date": formatdate(usegmt=True), **headers, **last}
    lines = [f"{name}: {value}" for name, value in fields.items()]
    return "\r\n".join([f"HTTP/1.1 {status.value} {status.phrase}", *lines, "", ""]).encode()
