"""`application/json`, the only media type: negotiation, parser and renderer."""

import json
from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation
from typing import IO, Any

import orjson
from django.conf import settings
from django.utils.http import parse_header_parameters
from rest_framework.exceptions import ParseError, UnsupportedMediaType
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser, JSONParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

MEDIA_TYPE = "application/json"
DEEPEST_NESTING = 32
INT64_DIGITS = 19
BODY_ERROR = "petstore.body_error"
"""In `request.META`: the exception for a body that could not be read, raised when the body is parsed."""


def render_json(data: Any) -> bytes:
    """Return `data` as compact JSON in UTF-8."""
    return orjson.dumps(data)


class BodyTooLargeError(ParseError):
    """The body has more than `settings.API_BODY_LIMIT` bytes."""

    status_code = 413
    default_code = "body_too_large"


class JSONOnlyNegotiation(BaseContentNegotiation):
    """Respond with JSON, whatever `Accept` says (docs/decisions/0007). A request body must be JSON."""

    def select_renderer(
        self, _request: Request, renderers: Iterable[BaseRenderer], _format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str | None]:
        """Return the view's one renderer."""
        renderer = next(iter(renderers))
        return renderer, renderer.media_type

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser:
        """Return the JSON parser, before a byte of the body is read.

        Raises `BodyTooLargeError`, then `UnsupportedMediaType`.
        """
        if error := request.META.get(BODY_ERROR):
            raise error
        if _content_length(request) > settings.API_BODY_LIMIT:
            message = f"The request body must have at most {settings.API_BODY_LIMIT:,} bytes."
            raise BodyTooLargeError(message)
        if not _is_json_in_utf_8(request.content_type or ""):
            message = f"Content-Type must be {MEDIA_TYPE}, in UTF-8."
            raise UnsupportedMediaType(str(request.content_type), message)
        return next(iter(parsers))


def _content_length(request: Request) -> int:
    return int(request.META.get("CONTENT_LENGTH") or 0)


def _is_json_in_utf_8(content_type: str) -> bool:
    try:
        kind, parameters = parse_header_parameters(content_type)
    except (LookupError, ValueError):
        return False
    return kind == MEDIA_TYPE and parameters.get("charset", "utf-8").lower() == "utf-8"


class StrictJSONParser(JSONParser):
    """A JSON object in UTF-8 (RFC 8259), nested at most 32 deep.

    Numbers keep their exact value: `int`, or `Decimal` for what has a fraction, an exponent or
    more digits than an int64 can have. The standard library's reader rather than a faster one,
    since only it distinguishes a number that is too large from text that is not JSON.
    """

    def parse(
        self, stream: IO[Any], _media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return the object; raises `ParseError` with the code of what is wrong."""
        body = stream.read()
        if parser_context and len(body) < _content_length(parser_context["request"]):
            message = "The request body ended early."
            raise ParseError(message, "bad_request")
        try:
            data = json.loads(body.decode("utf-8"), parse_int=_integer, parse_float=Decimal, parse_constant=_reject)
        except (ValueError, InvalidOperation, RecursionError):
            message = "The request body must be valid JSON in UTF-8."
            raise ParseError(message, "malformed_json") from None
        if not isinstance(data, dict):
            message = "The request body must be a JSON object."
            raise ParseError(message, "validation_failed")
        if _deeper_than(data, DEEPEST_NESTING):
            message = f"The request body must be nested at most {DEEPEST_NESTING} levels deep."
            raise ParseError(message, "malformed_json")
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


class JSONRenderer(BaseRenderer):
    """Compact JSON; an empty response stays empty."""

    media_type = MEDIA_TYPE
    format = "json"
    charset = None

    def render(
        self, data: Any, _accepted_media_type: str | None = None, _renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        """Return the bytes of the response body."""
        return b"" if data is None else render_json(data)
