"""Completes the description that drf-spectacular draws from the views, so that it says every answer there can be."""

from typing import Any

from drf_spectacular.openapi import AutoSchema

from rest.errors import CODES, ErrorCode

Schema = dict[str, Any]

DESCRIPTION = """A pet store's catalogue of animals: list them, filter them by availability, add one, fetch one.

Every operation needs an API key: `Authorization: Bearer <API_KEY>`. Every error is an `Error`; its `code` is \
for programs, its `message` for people. Rate limits, idempotency, conditional requests and categories are additions \
to version 1.0.0 of the interface that no client has to know."""

EVERYWHERE = [400, 401, 429, 500, 503]
ERRORS_OF_OPERATION = {
    "listPets": EVERYWHERE,
    "createPet": [*EVERYWHERE, 403, 409, 411, 413, 415, 422],
    "getPet": [*EVERYWHERE, 404],
    "listCategories": EVERYWHERE,
    "getCategory": [*EVERYWHERE, 404],
}
SUCCESS_OF_OPERATION = {
    "listPets": "A page of animals, newest first.",
    "createPet": "The animal that was added, with its id.",
    "getPet": "The animal.",
    "listCategories": "A page of categories, newest first.",
    "getCategory": "The category.",
}
CODES_OF_NOT_FOUND = {"getPet": ErrorCode.PET_NOT_FOUND, "getCategory": ErrorCode.CATEGORY_NOT_FOUND}
CODES_OF_BODY = {ErrorCode.MALFORMED_JSON, ErrorCode.VALIDATION_FAILED}
CODES_OF_LIST = {ErrorCode.INVALID_PARAMETER, ErrorCode.INVALID_CURSOR}


def _text_header(description: str, **schema: Any) -> Schema:
    return {"description": description, "schema": {"type": "string", **schema}}


HEADERS: dict[str, Schema] = {
    "X-Request-ID": _text_header(
        "The request's name in our logs: the caller's own if it sent a valid one.", pattern="^[A-Za-z0-9._-]{1,128}$"
    ),
    "ETag": _text_header("Changes when the answer changes, its `Link` included (RFC 9110)."),
    "Cache-Control": _text_header("Private to the caller, to be revalidated at every use.", const="private, no-cache"),
    "Next": _text_header('Only if there is more: `<address of the next page>; rel="next"` (RFC 8288).'),
    "Location": _text_header("The new animal's address.", format="uri"),
    "Idempotency-Replayed": _text_header("Sent when the answer was given before.", const="true"),
    "Deprecation": _text_header("Since when the operation is deprecated (RFC 9745).", pattern="^@[0-9]+$"),
    "Sunset": _text_header("When the operation is to be removed (RFC 8594).", const="Thu, 05 Dec 2030 00:00:00 GMT"),
    "Successor": _text_header('`<address of GET /pets>; rel="successor-version"` (RFC 5829).'),
    "WWW-Authenticate": _text_header(
        "The challenge (RFC 6750); `error` only if a bearer token was sent.",
        pattern='^Bearer realm="petstore"(, error="invalid_token")?$',
    ),
    "Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer", "minimum": 1}},
    "RateLimit-Policy": _text_header("Only if a limit is set: requests `q` in `w` seconds (IETF draft)."),
    "RateLimit": _text_header("Only if a limit is set: `r` requests left, room again in `t` seconds (IETF draft)."),
}

REQUEST_HEADERS: dict[str, Schema] = {
    "X-Request-ID": {
        "description": "A name for this request, to be found in our logs and repeated in the answer. An invalid one "
        "is replaced.",
        "schema": {"type": "string"},
    },
    "If-None-Match": {
        "description": "The `ETag` of an answer the caller has: if it is still right the answer is 304.",
        "schema": {"type": "string"},
    },
    "Idempotency-Key": {
        "description": "A name for this addition, chosen by the caller, unique for 24 hours: repeating the request "
        "with it gives the first answer and adds nothing.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
    },
}


class PetstoreAutoSchema(AutoSchema):
    """Names a page as the interface document does: Pets, not PaginatedPetList."""

    def get_paginated_name(self, serializer_name: str) -> str:
        """Return the plural of the component's name."""
        return f"{serializer_name.removesuffix('y')}ies" if serializer_name.endswith("y") else f"{serializer_name}s"


def only_versioned_paths(endpoints: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Keep the addresses under /v1 (a drf-spectacular preprocessing hook)."""
    return [endpoint for endpoint in endpoints if endpoint[0].startswith("/v1/")]


def complete(result: Schema, generator: Any, request: Any, public: bool) -> Schema:  # noqa: FBT001 - hook
    """Add errors, headers and named arrays to the description (a drf-spectacular postprocessing hook)."""
    result["info"]["description"] = DESCRIPTION
    schemas = result["components"]["schemas"]
    schemas["Error"] = _error_schema()
    result["components"]["schemas"] = dict(sorted(schemas.items()))
    result["components"]["headers"] = HEADERS
    for path in result["paths"].values():
        for method, operation in path.items():
            _complete_operation(operation, method)
    return result


def _complete_operation(operation: Schema, method: str) -> None:
    responses = operation["responses"]
    name = operation["operationId"]
    responses["201" if method == "post" else "200"]["description"] = SUCCESS_OF_OPERATION[name]
    for status in ERRORS_OF_OPERATION[name]:
        responses[str(status)] = _error_answer(_codes(name, status))
    if method == "get":
        responses["304"] = {"description": "Not modified: the caller's copy is still right."}
    for status, response in responses.items():
        response["headers"] = {shown: _header(kept) for shown, kept in _headers_of(operation, status).items()}
    operation["responses"] = dict(sorted(responses.items()))
    names = ["X-Request-ID", "If-None-Match" if method == "get" else "Idempotency-Key"]
    operation.setdefault("parameters", []).extend(
        {"name": name, "in": "header", "required": False, **REQUEST_HEADERS[name]} for name in names
    )


def _headers_of(operation: Schema, status: str) -> dict[str, str]:
    """Return the headers of an answer: name as sent → name in the components."""
    names = ["X-Request-ID", "Cache-Control"]
    names += ["ETag"] if status in {"200", "304"} else []
    names += ["Location", "Idempotency-Replayed"] if status == "201" else []
    names += ["WWW-Authenticate"] if status == "401" else []
    names += ["Retry-After"] if status in {"429", "503"} else []
    names += ["RateLimit-Policy", "RateLimit"] if status not in {"401", "403", "500", "503"} else []
    names += ["Deprecation", "Sunset"] if operation.get("deprecated") else []
    headers = {name: name for name in names}
    if operation.get("deprecated"):
        headers["Link"] = "Successor"
    elif operation["operationId"].startswith("list") and status in {"200", "304"}:
        headers["Link"] = "Next"
    return headers


def _header(name: str) -> Schema:
    return {"$ref": f"#/components/headers/{name}"}


def _codes(operation: str, status: int) -> list[ErrorCode]:
    codes = [code for code in CODES.values() if code.status == status]
    if status == 404:
        return [CODES_OF_NOT_FOUND[operation]]
    if status == 400:
        allowed = {ErrorCode.BAD_REQUEST}
        allowed |= CODES_OF_BODY if operation == "createPet" else set()
        allowed |= CODES_OF_LIST if operation.startswith("list") else set()
        return [code for code in codes if code in allowed]
    return codes


def _error_answer(codes: list[ErrorCode]) -> Schema:
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
