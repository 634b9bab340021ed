"""Every error of the service is an Error: `{"code", "message", "status"}` (interface document, section 7)."""

from enum import StrEnum
from http import HTTPStatus
from typing import Any, Self, TypeVar

from django.conf import settings
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from rest_framework.exceptions import APIException, ErrorDetail, MethodNotAllowed, Throttled, ValidationError
from rest_framework.response import Response

from rest.media_type import render_json
from rest.request import Result

R = TypeVar("R", bound=HttpResponseBase)


class ErrorCode(StrEnum):
    """The error codes, each with its HTTP status, what it means and what the caller can do."""

    status: HTTPStatus
    meaning: str
    cure: str

    def __new__(cls, code: str, status: int, meaning: str, cure: str) -> Self:
        self = str.__new__(cls, code)
        self._value_ = code
        self.status = HTTPStatus(status)
        self.meaning = meaning
        self.cure = cure
        return self

    @property
    def help_link(self) -> str:
        """Return the `Link` to the page about this error (RFC 8288), relative: docs/decisions/0001 says why."""
        return f'<{settings.BASE_PATH}/docs/errors/{self.value}>; rel="help"'

    # fmt: off
    MALFORMED_JSON = (
        "malformed_json", 400, "The request body is not valid JSON in UTF-8.",
        "Send one JSON object in UTF-8, without a byte order mark, nested at most 32 levels deep.",
    )
    VALIDATION_FAILED = (
        "validation_failed", 400, "A field of the request body is missing or has an invalid value.",
        "Fix the fields named in `message`.",
    )
    INVALID_PARAMETER = (
        "invalid_parameter", 400, "A query parameter has an invalid value or is repeated.",
        "Fix the parameters named in `message`.",
    )
    INVALID_CURSOR = (
        "invalid_cursor", 400, "The cursor is damaged or belongs to another list.",
        "Start at the first page and follow each next link unchanged.",
    )
    BAD_REQUEST = (
        "bad_request", 400, "The request is malformed.",
        "Check the host, headers, parameters and length of the request.",
    )
    API_KEY_MISSING = (
        "api_key_missing", 401, "No API key was provided.",
        "Send Authorization: Bearer <key>.",
    )
    API_KEY_INVALID = (
        "api_key_invalid", 401, "The API key is not valid in this environment.",
        "Check that you copied the whole key and that it belongs to this environment.",
    )
    API_KEY_EXPIRED = (
        "api_key_expired", 401, "The API key has expired.",
        "Use the key that replaced it, or ask the store for a new one.",
    )
    API_KEY_REVOKED = (
        "api_key_revoked", 401, "The API key was revoked.",
        "Ask the store for a new key.",
    )
    INSUFFICIENT_SCOPE = (
        "insufficient_scope", 403, "The scope of the API key does not allow this operation.",
        "Use a key with the scope write.",
    )
    PET_NOT_FOUND = (
        "pet_not_found", 404, "No animal has this ID.",
        "Use IDs from the list of animals.",
    )
    CATEGORY_NOT_FOUND = (
        "category_not_found", 404, "No category has this ID.",
        "Use IDs from the list of categories.",
    )
    ROUTE_NOT_FOUND = (
        "route_not_found", 404, "This path does not exist.",
        "Check the path for typos and remove any trailing slash.",
    )
    METHOD_NOT_ALLOWED = (
        "method_not_allowed", 405, "This path does not support this method.",
        "Use a method listed in the Allow header.",
    )
    IDEMPOTENCY_IN_PROGRESS = (
        "idempotency_in_progress", 409, "A request with this Idempotency-Key is still running.",
        "Wait as long as Retry-After says, then send the same request again.",
    )
    CURSOR_EXPIRED = (
        "cursor_expired", 410,
        "The cursor is no longer valid: the catalogue was restored or moved, or our key changed.",
        "Call GET /changes without a cursor, then read all animals again.",
    )
    BODY_TOO_LARGE = (
        "body_too_large", 413, "The request body is larger than 65,536 bytes.",
        "Send one animal per request.",
    )
    UNSUPPORTED_MEDIA_TYPE = (
        "unsupported_media_type", 415, "The request body is not application/json in UTF-8, or is compressed.",
        "Send Content-Type: application/json, and no Content-Encoding.",
    )
    IDEMPOTENCY_KEY_REUSED = (
        "idempotency_key_reused", 422, "This Idempotency-Key was already used with a different body.",
        "Send the first body again, or use a new Idempotency-Key.",
    )
    RATE_LIMITED = (
        "rate_limited", 429, "Too many requests.",
        "Wait as long as Retry-After says, then retry.",
    )
    INTERNAL_ERROR = (
        "internal_error", 500, "Something went wrong on our side.",
        "Retry once. If it fails again, contact support with the X-Request-ID.",
    )
    UNSUPPORTED_TRANSFER_CODING = (
        "unsupported_transfer_coding", 501, "The transfer coding is not supported.",
        "Send the body as it is, with Content-Length or with Transfer-Encoding: chunked.",
    )
    UNAVAILABLE = (
        "unavailable", 503, "The service is temporarily unavailable.",
        "Wait as long as Retry-After says, then retry. Send the same Idempotency-Key again.",
    )
    # fmt: on


CODES = {code.value: code for code in ErrorCode}

CODE_OF_STATUS = {
    401: ErrorCode.API_KEY_INVALID,
    403: ErrorCode.INSUFFICIENT_SCOPE,
    404: ErrorCode.ROUTE_NOT_FOUND,
    405: ErrorCode.METHOD_NOT_ALLOWED,
    415: ErrorCode.UNSUPPORTED_MEDIA_TYPE,
    429: ErrorCode.RATE_LIMITED,
}
"""The code of an exception that has none of ours."""


class APIError(APIException):
    """An error with one of our codes. `message` says what to fix."""

    def __init__(self, code: ErrorCode, message: str = "", *, wait: int | None = None) -> None:
        """Use the meaning of the code if there is no more precise message."""
        super().__init__(message or code.meaning, code)
        self.status_code = code.status
        self.wait = wait  # seconds, for `Retry-After`


def error_body(code: ErrorCode, message: str = "") -> dict[str, Any]:
    """Return the Error as a dict in the order of the interface document."""
    return {"code": code.value, "message": message or code.meaning, "status": int(code.status)}


def error_response(code: ErrorCode, message: str = "", *, retry_after: int | None = None) -> HttpResponse:
    """Return the Error as a Django response, for requests that never reach a view."""
    body = render_json(error_body(code, message))
    response = HttpResponse(body, status=code.status, content_type="application/json")
    response["Content-Length"] = str(len(body))  # CommonMiddleware does not see them all
    if retry_after is not None:
        response["Retry-After"] = str(retry_after)
    response["Link"] = code.help_link
    return _labelled(response, code, message)


def error_result(error: APIException) -> Result:
    """Convert what an operation or a check raised into an Error."""
    code = _code_of(error)
    is_plain = isinstance(error, (MethodNotAllowed, Throttled))
    message = ("" if is_plain else " ".join(_sentences(error.detail))) or code.meaning
    headers = {"Link": code.help_link}
    if challenge := getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = challenge
    if wait := getattr(error, "wait", None):
        headers["Retry-After"] = str(wait)
    if accepted := getattr(error, "accept_encoding", None):
        headers["Accept-Encoding"] = accepted
    return Result(error_body(code, message), int(code.status), headers, code.value, message)


def exception_handler(error: Exception, _context: dict[str, Any]) -> Response | None:
    """Convert an exception into an Error. Return None to leave it to Django (database errors, bugs)."""
    if not isinstance(error, APIException):
        return None
    result = error_result(error)
    response = Response(result.data, result.status, headers=dict(result.headers))
    return _labelled(response, CODES[result.code], result.message)


def _labelled(response: R, code: ErrorCode, message: str) -> R:
    response.error_code = code.value  # type: ignore[attr-defined]  # for the log's line about this request
    response.error_message = message or code.meaning  # type: ignore[attr-defined]  # for the request desk
    return response


def _code_of(error: APIException) -> ErrorCode:
    code = getattr(error.detail, "code", None)
    if code in CODES:
        return CODES[code]
    if isinstance(error, ValidationError):
        return ErrorCode.VALIDATION_FAILED
    return CODE_OF_STATUS.get(error.status_code, ErrorCode.BAD_REQUEST)


def _sentences(detail: Any, field: str = "") -> list[str]:
    if isinstance(detail, dict):
        return [text for name, inner in detail.items() for text in _sentences(inner, str(name))]
    if isinstance(detail, list):
        return [text for inner in detail for text in _sentences(inner, field)]
    return [f"{field} {detail}" if field else str(detail)] if isinstance(detail, ErrorDetail) else []
