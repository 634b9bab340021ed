"""The Error for a request that the server rejects before it is one of ours (docs/decisions/0032)."""

import logging
from email.utils import formatdate
from uuid import uuid4

from history.acting import begin_request, end_request
from rest.errors import ErrorCode, error_body
from rest.media_type import render_json

logger = logging.getLogger("gunicorn.error")


def reject(status: int, reason: str) -> bytes:
    """Return the response, and log why: a request that is not HTTP is 400, whatever the server says; a bug is 500."""
    request_id = uuid4().hex
    begin_request(request_id)
    code = ErrorCode.INTERNAL_ERROR if status == 500 else ErrorCode.BAD_REQUEST
    if code is ErrorCode.BAD_REQUEST:
        logger.warning("Rejected a request from %s", reason)
    end_request()
    return _written(code, request_id)


def _written(code: ErrorCode, request_id: str) -> bytes:
    body = render_json(error_body(code))
    head = (
        f"HTTP/1.1 {code.status.value} {code.status.phrase}",
        f"Date: {formatdate(usegmt=True)}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        "Cache-Control: private, no-cache",
        f"X-Request-ID: {request_id}",
        f"Link: {code.help_link}",
        "Connection: close",
    )
    return "\r\n".join((*head, "", "")).encode() + body
