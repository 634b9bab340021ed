"""An exception for each error code of the API, and for responses that do not come or are not the API's."""

import re
from typing import Self

import httpx

from petstore_client.generated.models import Error

_BY_CODE: dict[str, type["PetStoreError"]] = {}


def seconds_in(headers: httpx.Headers) -> int | None:
    """Return the `Retry-After` of a response. The API sends seconds, and a date is left unread."""
    seconds = headers.get("Retry-After", "")
    return int(seconds) if re.fullmatch("[0-9]{1,9}", seconds) else None


class PetStoreError(Exception):
    """Whatever goes wrong with a request. Catch the class or branch on `code`; keep `request_id` for support.

    `status` is 0 and `response` None if no response came.
    """

    response: httpx.Response | None = None

    def __init__(self, code: str, message: str, status: int, request_id: str | None) -> None:
        """Keep the fields of the Error, and the `X-Request-ID` of the response."""
        Exception.__init__(self, code, message, status, request_id)
        self.code = code
        self.message = message
        self.status = status
        self.request_id = request_id

    @property
    def is_temporary(self) -> bool:
        """Whether a later attempt can succeed: no response came, there were too many requests, or the server failed."""
        return self.status in {0, 429} or self.status >= 500

    @property
    def headers(self) -> httpx.Headers:
        """The headers of the response, none if no response came."""
        return httpx.Headers() if self.response is None else self.response.headers

    @property
    def retry_after(self) -> int | None:
        """Seconds to wait before the next attempt, if the response says so."""
        return seconds_in(self.headers)

    def __str__(self) -> str:
        return f"{self.message} ({self.status} {self.code}, request ID {self.request_id})"

    def __init_subclass__(cls, *, code: str) -> None:
        """Use the class for errors with this code."""
        _BY_CODE[code] = cls

    @staticmethod
    def of(response: httpx.Response) -> "PetStoreError":
        """Return the exception for an error response. A code that is newer than this client has the base class."""
        try:
            error = Error.from_dict(response.json())
        except (ValueError, TypeError, KeyError):
            return UnexpectedResponseError.of(response)
        kind = _BY_CODE.get(error.code, PetStoreError)
        return kind(error.code, error.message, response.status_code, response.headers.get("X-Request-ID"))._with(
            response
        )

    def _with(self, response: httpx.Response) -> Self:
        self.response = response
        return self


class NoResponseError(PetStoreError, httpx.TransportError, code="no_response"):
    """No response came, or not all of it. `__cause__` is the error of httpx.

    It is an `httpx.TransportError` too: clients before 1.3.0 raised these.
    """

    @classmethod
    def of_loss(cls, error: httpx.RequestError) -> "NoResponseError":
        """Return the exception for an error of httpx."""
        return cls("no_response", f"No response came ({type(error).__name__}).", 0, None)


class UnexpectedResponseError(PetStoreError, code="unexpected_response"):
    """The response is not the API's, such as a redirect or the page of a proxy."""

    @staticmethod
    def of(response: httpx.Response) -> "UnexpectedResponseError":
        """Return the exception for a response."""
        message = "The response is not one of the API."
        if response.has_redirect_location:
            message = "The address redirects to another one. Check the base URL."
        request_id = response.headers.get("X-Request-ID")
        error = UnexpectedResponseError("unexpected_response", message, response.status_code, request_id)
        return error._with(response)


class MalformedJsonError(PetStoreError, code="malformed_json"):
    """The request body is not valid JSON in UTF-8."""


class ValidationFailedError(PetStoreError, code="validation_failed"):
    """A field of the request body is missing or has an invalid value."""


class InvalidParameterError(PetStoreError, code="invalid_parameter"):
    """A query parameter has an invalid value or is repeated."""


class InvalidCursorError(PetStoreError, code="invalid_cursor"):
    """The cursor is damaged or belongs to another list."""


class BadRequestError(PetStoreError, code="bad_request"):
    """The request is malformed."""


class ApiKeyMissingError(PetStoreError, code="api_key_missing"):
    """No API key was provided."""


class ApiKeyInvalidError(PetStoreError, code="api_key_invalid"):
    """The API key is not valid in this environment."""


class ApiKeyExpiredError(PetStoreError, code="api_key_expired"):
    """The API key has expired."""


class ApiKeyRevokedError(PetStoreError, code="api_key_revoked"):
    """The API key was revoked."""


class InsufficientScopeError(PetStoreError, code="insufficient_scope"):
    """The scope of the API key does not allow this operation."""


class PetNotFoundError(PetStoreError, code="pet_not_found"):
    """No animal has this ID."""


class CategoryNotFoundError(PetStoreError, code="category_not_found"):
    """No category has this ID."""


class RouteNotFoundError(PetStoreError, code="route_not_found"):
    """This path does not exist."""


class MethodNotAllowedError(PetStoreError, code="method_not_allowed"):
    """This path does not support this method."""


class IdempotencyInProgressError(PetStoreError, code="idempotency_in_progress"):
    """A request with this Idempotency-Key is still running."""


class CursorExpiredError(PetStoreError, code="cursor_expired"):
    """The cursor is no longer valid: the catalogue was restored or moved, or our key changed."""


class BodyTooLargeError(PetStoreError, code="body_too_large"):
    """The request body is larger than 65,536 bytes."""


class UnsupportedMediaTypeError(PetStoreError, code="unsupported_media_type"):
    """The request body is not application/json in UTF-8, or is compressed."""


class IdempotencyKeyReusedError(PetStoreError, code="idempotency_key_reused"):
    """This Idempotency-Key was already used with a different body."""


class RateLimitedError(PetStoreError, code="rate_limited"):
    """Too many requests."""


class InternalError(PetStoreError, code="internal_error"):
    """Something went wrong on our side."""


class UnsupportedTransferCodingError(PetStoreError, code="unsupported_transfer_coding"):
    """The transfer coding is not supported."""


class UnavailableError(PetStoreError, code="unavailable"):
    """The service is temporarily unavailable."""
