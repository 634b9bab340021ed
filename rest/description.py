"""Complete the description that drf-spectacular generates, so that it has every possible response."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from drf_spectacular.openapi import AutoSchema

from rest.errors import CODES, ErrorCode

Schema = dict[str, Any]

ANY_OPERATION = [ErrorCode.BAD_REQUEST, *(code for code in ErrorCode if code.status in {401, 429, 500, 501, 503})]
"""The errors of every operation. A view's `errors` adds those of each action."""

LIST_ERRORS = [ErrorCode.INVALID_PARAMETER, ErrorCode.INVALID_CURSOR]
"""What a `Listing` raises."""

BODY_ERRORS = [
    ErrorCode.MALFORMED_JSON,
    ErrorCode.VALIDATION_FAILED,
    ErrorCode.INSUFFICIENT_SCOPE,
    ErrorCode.BODY_TOO_LARGE,
    ErrorCode.UNSUPPORTED_MEDIA_TYPE,
]
"""The errors of a request with a body."""


def _text_header(description: str, *, required: bool = False, **schema: Any) -> Schema:
    always = {"required": True} if required else {}
    return {"description": description, **always, "schema": {"type": "string", **schema}}


HEADERS: dict[str, Schema] = {
    "X-Request-ID": _text_header(
        "The request ID in our logs. It is your own if you sent a valid one.",
        required=True,
        pattern="^[A-Za-z0-9._-]{1,128}$",
    ),
    "ETag": _text_header(
        "Changes when the response changes, including its `Link` (RFC 9110).",
        required=True,
        examples=['"0dce53d9563a05fcfedf89eb5f5d67b0"'],
    ),
    "Cache-Control": _text_header(
        "The response is private. Revalidate it before each use.", required=True, const="private, no-cache"
    ),
    "Next": _text_header('Sent if there are more: `<URL of the next page>; rel="next"` (RFC 8288).'),
    "NextChanges": _text_header('`<URL of the next page>; rel="next"` (RFC 8288).', required=True),
    "Changes-Delayed-Since": _text_header(
        "Sent while a transaction that writes has been open for more than 10 seconds: since when, as an HTTP-date (RFC "
        "9110). Changes that are saved after it are listed when it ends, and lists have them at once."
    ),
    "Location": _text_header(
        "The URL of the new animal.", required=True, format="uri", examples=["https://petstore.example/v1/pets/360"]
    ),
    "Idempotency-Replayed": _text_header("Sent when this is the stored response to an earlier request.", const="true"),
    "Deprecation": _text_header(
        "Since when the operation is deprecated (RFC 9745).", required=True, pattern="^@[0-9]+$"
    ),
    "Sunset": _text_header(
        "When the operation will be removed (RFC 8594).", required=True, const="Thu, 05 Dec 2030 00:00:00 GMT"
    ),
    "Successor": _text_header('`<URL of GET /pets>; rel="successor-version"` (RFC 5829).', required=True),
    "Help": _text_header(
        f'The page about the error: `<{settings.BASE_PATH}/docs/errors/CODE>; rel="help"` (RFC 8288).',
        required=True,
    ),
    "SuccessorAndHelp": _text_header(
        'Both `rel="successor-version"` and `rel="help"`, separated by a comma.', required=True
    ),
    "WWW-Authenticate": _text_header(
        "The challenge (RFC 6750); `error` only if a bearer token was sent.",
        required=True,
        pattern='^Bearer realm="petstore"(, error="invalid_token")?$',
    ),
    "ScopeChallenge": _text_header(
        "The scope that the operation needs (RFC 6750).",
        required=True,
        const='Bearer realm="petstore", error="insufficient_scope", scope="write"',
    ),
    "Accept-Encoding": _text_header(
        "Sent if the body had a `Content-Encoding`: it must not be compressed (RFC 9110).", const="identity"
    ),
    "Retry-After": {
        "description": "Seconds to wait.",
        "required": True,
        "schema": {"type": "integer", "minimum": 1, "examples": [12]},
    },
    "Request-Outcome": {
        "description": "Whether the request was not done, or its outcome is not known. Without this header it is not "
        "known either. An `Idempotency-Key` makes it safe to retry in both cases.",
        "schema": {"type": "string", "enum": ["not-done", "unknown"]},
    },
    "RateLimit-Policy": _text_header(
        "Sent if a limit is set: `q` requests in `w` seconds (IETF draft).", examples=['"default";q=600;w=60']
    ),
    "RateLimit": _text_header(
        "Sent if a limit is set: `r` requests left, more in `t` seconds (IETF draft).", examples=['"default";r=0;t=12']
    ),
    "API-Key-Expiration": _text_header(
        "Sent if your API key expires within 30 days: when it expires, as an HTTP-date (RFC 9110)."
    ),
}

REQUEST_HEADERS: dict[str, Schema] = {
    "X-Request-ID": {
        "description": "An ID for this request. It appears in our logs and in the response. An invalid one is "
        "replaced.",
        "schema": {"type": "string"},
    },
    "If-None-Match": {
        "description": "The `ETag` of a response that you have. If it is still current, the response is 304.",
        "schema": {"type": "string"},
    },
    "Idempotency-Key": {
        "description": "A unique key that you choose, valid for 24 hours. A retry with the same key returns the first "
        "response and adds nothing. Send the header once.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
    },
}

HEADERS_OF_METHOD = {"GET": ["If-None-Match"], "POST": ["Idempotency-Key"]}


class APISchema(AutoSchema):
    """Describes an operation with its errors, those in the view's `errors` (action → codes), and its headers."""

    def get_operation(self, *args: Any, **kwargs: Any) -> Schema | None:
        operation: Schema | None = super().get_operation(*args, **kwargs)
        if operation is not None:
            view: Any = self.view
            errors = [*ANY_OPERATION, *view.errors[view.action]]
            _complete(operation, self.method, errors, view.listing.headers if view.action == "list" else {})
        return operation

    def get_paginated_name(self, serializer_name: str) -> str:
        """Return the plural of the component's name: the interface document says Pets, not PaginatedPetList."""
        return f"{serializer_name.removesuffix('y')}ies" if serializer_name.endswith("y") else f"{serializer_name}s"


def only_versioned_paths(endpoints: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Keep the addresses under /v1 (a drf-spectacular preprocessing hook)."""
    return [endpoint for endpoint in endpoints if endpoint[0].startswith("/v1/")]


def add_components(result: Schema, generator: Any, request: Any, public: bool) -> Schema:  # noqa: FBT001 - hook
    """Add Error and the headers, to which the operations refer (a drf-spectacular postprocessing hook)."""
    schemas = result["components"]["schemas"]
    schemas["Error"] = _error_schema()
    result["components"]["schemas"] = dict(sorted(schemas.items()))
    result["components"]["headers"] = HEADERS
    return result


def _complete(operation: Schema, method: str, errors: list[ErrorCode], of_page: Mapping[str, str]) -> None:
    """Add what every operation has. `of_page` has the headers of a list's page."""
    responses = operation["responses"]
    for status in {code.status for code in errors}:
        codes = [code for code in ErrorCode if code in errors and code.status == status]
        responses[str(int(status))] = _error_response(codes)
    if method == "GET":
        responses["304"] = {"description": "Not modified. Your copy is still current."}
    for status, response in responses.items():
        deprecated = operation.get("deprecated", False)
        headers = _headers_of(status, method=method, of_page=of_page, deprecated=deprecated)
        response["headers"] = {shown: {"$ref": f"#/components/headers/{kept}"} for shown, kept in headers.items()}
    operation["responses"] = dict(sorted(responses.items()))
    names = ["X-Request-ID", *HEADERS_OF_METHOD.get(method, [])]
    operation.setdefault("parameters", []).extend(
        {"name": name, "in": "header", "required": False, **REQUEST_HEADERS[name]} for name in names
    )


def _headers_of(status: str, *, method: str, of_page: Mapping[str, str], deprecated: bool) -> dict[str, str]:
    """Return the headers of a response: name as sent → name in the components."""
    deprecated = deprecated and status != "501"  # the server rejects such a request before it looks at the path
    reads = method == "GET"
    names = ["X-Request-ID", "Cache-Control"]
    names += ["ETag"] if reads and status in {"200", "304"} else []
    names += ["Location", "Idempotency-Replayed"] if status == "201" else []
    names += ["WWW-Authenticate"] if status == "401" else []
    names += ["Accept-Encoding"] if status == "415" else []
    names += ["Retry-After"] if status in {"409", "429", "503"} else []
    names += ["Request-Outcome"] if status == "503" and not reads else []
    names += ["RateLimit-Policy", "RateLimit", "API-Key-Expiration"] if status not in {"401", "501"} else []
    names += ["Deprecation", "Sunset"] if deprecated else []
    headers = {name: name for name in names}
    if status == "403":
        headers["WWW-Authenticate"] = "ScopeChallenge"
    if status >= "400":
        return headers | {"Link": "SuccessorAndHelp" if deprecated else "Help"}
    return headers | dict(of_page) | ({"Link": "Successor"} if deprecated else {})


def _error_response(codes: list[ErrorCode]) -> Schema:
    examples = {
        code.value: {"value": {"code": code.value, "message": code.meaning, "status": int(code.status)}}
        for code in codes
    }
    content = {"schema": {"$ref": "#/components/schemas/Error"}, "examples": examples}
    description = " ".join(f"`{code.value}`: {code.meaning}" for code in codes)
    return {"description": description, "content": {"application/json": content}}


def _error_schema() -> Schema:
    return {
        "type": "object",
        "description": "What went wrong and what to fix.",
        "properties": {
            "code": {
                "type": "string",
                "description": "Machine-readable error code",
                "examples": [ErrorCode.VALIDATION_FAILED.value],
                "x-extensible-enum": list(CODES),  # an enum would break clients with every code that is added
            },
            "message": {"type": "string", "description": "Human-readable description"},
            "status": {"type": "integer", "description": "The HTTP status code", "minimum": 400, "maximum": 599},
        },
        "required": ["code", "message", "status"],
    }
