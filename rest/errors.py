"""Every error of the service is an Error: `{"code", "message", "status"}` (interface document, section 7)."""

from enum import StrEnum
from http import HTTPStatus
from typing import Any, Self, TypeVar

from django.http import HttpResponse, UnreadablePostError
from django.http.response import HttpResponseBase
from rest_framework.exceptions import APIException, ErrorDetail, MethodNotAllowed, Throttled, ValidationError
from rest_framework.response import Response

from rest.media_type import render_json

Answer = TypeVar("Answer", bound=HttpResponseBase)


class ErrorCode(StrEnum):
    """What an Error's code may be, each with its HTTP status, what it tells the caller and what the caller can do."""

    status: HTTPStatus
    meaning: str
    cure: str

    def __new__(cls, code: str, status: int, meaning: str, cure: str) -> Self:
        """Make a string with three more attributes."""
        member = str.__new__(cls, code)
        member._value_ = code
        member.status = HTTPStatus(status)
        member.meaning = meaning
        member.cure = cure
        return member

    MALFORMED_JSON = (
        "malformed_json",
        400,
        "The request body is not JSON in UTF-8.",
        "Send one JSON object in UTF-8, without a byte order mark, nested at most 32 deep.",
    )
    VALIDATION_FAILED = (
        "validation_failed",
        400,
        "A member of the request body is missing or has an invalid value.",
        "Mend the members that the message names.",
    )
    INVALID_PARAMETER = (
        "invalid_parameter",
        400,
        "A query parameter has an invalid value or is repeated.",
        "Mend the parameter that the message names.",
    )
    INVALID_CURSOR = (
        "invalid_cursor",
        400,
        "The cursor is damaged or belongs to another list; start at the first page.",
        "Begin at the first page and follow the next links as they are.",
    )
    BAD_REQUEST = (
        "bad_request",
        400,
        "The request as a whole cannot be understood.",
        "Compare the request with the description: its host, headers, parameters and length.",
    )
    API_KEY_MISSING = (
        "api_key_missing",
        401,
        "The Authorization header is missing.",
        "Send Authorization: Bearer API_KEY.",
    )
    API_KEY_INVALID = (
        "api_key_invalid",
        401,
        "The API key is not one of this environment's keys.",
        "Check that the key was copied whole and belongs to this environment.",
    )
    API_KEY_EXPIRED = (
        "api_key_expired",
        401,
        "The API key has expired.",
        "Use the key that replaced it, or ask the store for a new one.",
    )
    API_KEY_REVOKED = (
        "api_key_revoked",
        401,
        "The API key was revoked.",
        "Ask the store for a new key.",
    )
    INSUFFICIENT_SCOPE = (
        "insufficient_scope",
        403,
        "The API key's scope does not allow this operation.",
        "Use a key with scope write.",
    )
    PET_NOT_FOUND = (
        "pet_not_found",
        404,
        "No animal has this id.",
        "Take ids from the list of animals.",
    )
    CATEGORY_NOT_FOUND = (
        "category_not_found",
        404,
        "No category has this id.",
        "Take ids from the list of categories.",
    )
    ROUTE_NOT_FOUND = (
        "route_not_found",
        404,
        "This path does not exist.",
        "Compare the path with the description; there is no slash at its end.",
    )
    METHOD_NOT_ALLOWED = (
        "method_not_allowed",
        405,
        "This path does not accept the method; Allow lists those it does.",
        "Use a method that Allow lists.",
    )
    IDEMPOTENCY_IN_PROGRESS = (
        "idempotency_in_progress",
        409,
        "A request with this Idempotency-Key is still running.",
        "Wait a second and repeat the request.",
    )
    LENGTH_REQUIRED = (
        "length_required",
        411,
        "The request body's length must be given.",
        "Send Content-Length.",
    )
    BODY_TOO_LARGE = (
        "body_too_large",
        413,
        "The request body is larger than 65536 bytes.",
        "Send less: one animal a request.",
    )
    UNSUPPORTED_MEDIA_TYPE = (
        "unsupported_media_type",
        415,
        "The Content-Type is not application/json in UTF-8.",
        "Send Content-Type: application/json.",
    )
    IDEMPOTENCY_KEY_REUSED = (
        "idempotency_key_reused",
        422,
        "This Idempotency-Key came before with another body.",
        "Repeat the first body, or take a new name for a new animal.",
    )
    RATE_LIMITED = (
        "rate_limited",
        429,
        "The API key's rate limit is used up; Retry-After says when it is not.",
        "Wait the seconds in Retry-After.",
    )
    INTERNAL_ERROR = (
        "internal_error",
        500,
        "The service failed; X-Request-ID helps to find out why.",
        "Repeat it once; if it stays, tell the store the X-Request-ID.",
    )
    UNAVAILABLE = (
        "unavailable",
        503,
        "The service cannot answer now; Retry-After says when to try again.",
        "Wait the seconds in Retry-After and repeat; an addition with its Idempotency-Key.",
    )


CODES = {code.value: code for code in ErrorCode}

CODE_OF_STATUS = {
    401: ErrorCode.API_KEY_INVALID,
    403: ErrorCode.INSUFFICIENT_SCOPE,
    404: ErrorCode.ROUTE_NOT_FOUND,
    405: ErrorCode.METHOD_NOT_ALLOWED,
    415: ErrorCode.UNSUPPORTED_MEDIA_TYPE,
    429: ErrorCode.RATE_LIMITED,
}
"""The code of an exception that carries none of ours."""


class APIError(APIException):
    """An error with a code of ours; `message` tells the caller what to mend."""

    def __init__(self, code: ErrorCode, message: str = "") -> None:
        """Take the code's own meaning where there is nothing more precise to say."""
        super().__init__(message or code.meaning, code)
        self.status_code = code.status


def error_body(code: ErrorCode, message: str = "") -> dict[str, Any]:
    """Return the Error as a dict in the order of the interface document."""
    return {"code": code.value, "message": message or code.meaning, "status": int(code.status)}


def error_response(code: ErrorCode, message: str = "", *, retry_after: int | None = None) -> HttpResponse:
    """Return the Error as an answer of Django's, for what never reaches a view."""
    body = render_json(error_body(code, message))
    response = HttpResponse(body, status=code.status, content_type="application/json")
    response["Content-Length"] = str(len(body))  # CommonMiddleware does not see them all
    if retry_after is not None:
        response["Retry-After"] = str(retry_after)
    return _labelled(response, code, message)


def exception_handler(error: Exception, _context: dict[str, Any]) -> Response | None:
    """Turn what a view raised into an Error; None leaves it to Django (database trouble, defects)."""
    if isinstance(error, UnreadablePostError):
        error = APIError(ErrorCode.BAD_REQUEST, "The request body ended early.")
    if not isinstance(error, APIException):
        return None
    code = _code_of(error)
    message = _message_of(error, code)
    response = Response(error_body(code, message), status=code.status)
    if challenge := getattr(error, "auth_header", None):
        response["WWW-Authenticate"] = challenge
    if wait := getattr(error, "wait", None):
        response["Retry-After"] = str(wait)
    return _labelled(response, code, message)


def _labelled(response: Answer, code: ErrorCode, message: str) -> Answer:
    response.error_code = code.value  # type: ignore[attr-defined]  # for the log's line about this request
    response.error_message = message or code.meaning  # type: ignore[attr-defined]  # for the request desk
    return response


def _code_of(error: APIException) -> ErrorCode:
    given = getattr(error.detail, "code", None)
    if given in CODES:
        return CODES[given]
    if isinstance(error, ValidationError):
        return ErrorCode.VALIDATION_FAILED
    return CODE_OF_STATUS.get(error.status_code, ErrorCode.BAD_REQUEST)


def _message_of(error: APIException, code: ErrorCode) -> str:
    if isinstance(error, (MethodNotAllowed, Throttled)):
        return code.meaning
    return " ".join(_sentences(error.detail)) or code.meaning


def _sentences(detail: Any, member: str = "") -> list[str]:
    if isinstance(detail, dict):
        return [text for name, inner in detail.items() for text in _sentences(inner, str(name))]
    if isinstance(detail, list):
        return [text for inner in detail for text in _sentences(inner, member)]
    return [f"{member} {detail}" if member else str(detail)] if isinstance(detail, ErrorDetail) else []
