"""`application/json`, the only media type: how a body is read and written, and what the framework asks for it."""

import json
from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import IO, Any

import orjson
from django.conf import settings
from django.utils.http import parse_header_parameters
from rest_framework.exceptions import ParseError, UnsupportedMediaType
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

MEDIA_TYPE = "application/json"
DEEPEST_NESTING = 32
INT64_DIGITS = 19


render_json = orjson.dumps
"""Returns data as compact JSON in UTF-8."""


class BodyTooLargeError(ParseError):
    """The body has more than `settings.API_BODY_LIMIT` bytes."""

    status_code = 413
    default_code = "body_too_large"


class ContentCodingError(UnsupportedMediaType):
    """The body is compressed. `Accept-Encoding` says that it must not be (RFC 9110, section 15.5.16)."""

    accept_encoding = "identity"


def read_json(headers: Mapping[str, str], stream: IO[bytes] | None) -> dict[str, Any]:
    """Return the body of a request, a JSON object; raises an `APIException` that says what is wrong with it.

    `headers` has their names in lower case. There is no `stream` if the server does not know where the body ends.

    Numbers keep their exact value: `int`, or `Decimal` for what has a fraction, an exponent or more digits than an
    int64 can have.
    """
    length = int(headers.get("content-length") or 0)
    if length > settings.API_BODY_LIMIT:
        raise _too_large()
    if stream is None:
        raise ParseError("The length of the request body is missing.", "bad_request")
    body = _read(stream, length) if length or "transfer-encoding" not in headers else _read_chunks(stream)
    content_type = headers.get("content-type") or ("" if body else MEDIA_TYPE)
    if not _is_json_in_utf_8(content_type):
        raise UnsupportedMediaType(content_type, f"Content-Type must be {MEDIA_TYPE}, in UTF-8.")
    coding = headers.get("content-encoding", "")
    if coding.strip(" \t").lower() not in {"", ContentCodingError.accept_encoding}:
        raise ContentCodingError(coding, "Content-Encoding is not supported: the request body must not be compressed.")
    if len(body) < length:
        raise ParseError("The request body ended early.", "bad_request")
    return _parse(body)


def _too_large() -> BodyTooLargeError:
    return BodyTooLargeError(f"The request body must have at most {settings.API_BODY_LIMIT:,} bytes.")


def _read(stream: IO[bytes], length: int) -> bytes:
    try:
        return stream.read(length)
    except OSError:  # the client is gone
        return b""


def _read_chunks(stream: IO[bytes]) -> bytes:
    try:
        body = stream.read(settings.API_BODY_LIMIT + 1)
    except OSError:
        raise ParseError("The chunks of the request body are malformed.", "bad_request") from None
    if len(body) > settings.API_BODY_LIMIT:
        raise _too_large()
    return body


@lru_cache(maxsize=64)
def _is_json_in_utf_8(content_type: str) -> bool:
    try:
        kind, parameters = parse_header_parameters(content_type)
    except (LookupError, ValueError):
        return False
    return kind == MEDIA_TYPE and parameters.get("charset", "utf-8").lower() == "utf-8"


def _parse(body: bytes) -> dict[str, Any]:
    """Return the object.

    The standard library's reader rather than a faster one, since only it distinguishes a number that is too large
    from text that is not JSON (RFC 8259).
    """
    try:
        data = json.loads(body.decode("utf-8"), parse_int=_integer, parse_float=Decimal, parse_constant=_reject)
    except (ValueError, InvalidOperation, RecursionError):
        raise ParseError("The request body must be valid JSON in UTF-8.", "malformed_json") from None
    if not isinstance(data, dict):
        raise ParseError("The request body must be a JSON object.", "validation_failed")
    if _deeper_than(data, DEEPEST_NESTING):
        raise ParseError(f"The request body must be nested at most {DEEPEST_NESTING} levels deep.", "malformed_json")
    return data


def _integer(digits: str) -> int | Decimal:
    return int(digits) if len(digits) <= INT64_DIGITS + 1 else Decimal(digits)


def _reject(constant: str) -> None:
    raise ValueError(constant)


def _deeper_than(data: object, levels: int) -> bool:
    if not isinstance(data, (dict, list)):
        return False
    inner = data.values() if isinstance(data, dict) else data
    return levels == 0 or any(_deeper_than(value, levels - 1) for value in inner)


class JSONOnlyNegotiation(BaseContentNegotiation):
    """Respond with JSON, whatever `Accept` says (docs/decisions/0001). Operations read the body themselves."""

    def select_renderer(
        self, _request: Request, renderers: Iterable[BaseRenderer], _format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str | None]:
        renderer = next(iter(renderers))
        return renderer, renderer.media_type


class JSONRenderer(BaseRenderer):
    """Compact JSON."""

    media_type = MEDIA_TYPE
    format = "json"
    charset = None

    def render(
        self, data: Any, _accepted_media_type: str | None = None, _renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        return render_json(data)
