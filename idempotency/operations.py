"""Make an operation that creates something safe to retry with an `Idempotency-Key` header (docs/decisions/0012)."""

import json
import re
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any, NamedTuple

import orjson
from django.conf import settings
from django.db import IntegrityError
from django.utils import timezone

from database.errors import sqlstate
from database.statements import Addition, Row, Steps, add, parameter
from idempotency import statements
from rest.errors import APIError, ErrorCode
from rest.media_type import render_json
from rest.request import Request, Result, has_secret

IDEMPOTENCY_ERRORS = [ErrorCode.IDEMPOTENCY_IN_PROGRESS, ErrorCode.IDEMPOTENCY_KEY_REUSED]

RETRY_AFTER = 1
"""Seconds to wait while the first request with the key is still running."""

ATTEMPTS = 3
"""How often a request looks again that another one with its key has overtaken."""

UNIQUE_VIOLATION = "23505"

WRITTEN = json.JSONEncoder(sort_keys=True, default=repr)

KEY = re.compile(r'"([\x21\x23-\x7e]{1,255})"|(?!""\Z)([\x21-\x7e]{1,255})')

MARK = "\0"
"""In the place of an ID that is not known yet. JSON has no such character."""


class Creation(NamedTuple):
    """Something to create."""

    addition: Addition
    values: Mapping[str, Any]
    result: Callable[[Any], Result]
    """Returns the result for an ID, or for its placeholder."""


def once(request: Request, meaning: Callable[[], Mapping[str, Any]], creation: Creation | None) -> Steps[Result | None]:
    """Create, and with the header only once per key; return nothing if there is nothing to create.

    The response is stored in the same transaction. The same key and meaning return it with
    `Idempotency-Replayed: true`, also if there is nothing valid to create. Another meaning is 422, a first request
    that is still running 409.
    """
    key = _key_of(request)
    if key is None:
        pk = (yield from add(creation.addition, creation.values)) if creation else None
        return creation.result(pk) if creation and pk is not None else None
    values = _values(request, key, meaning())
    for _ in range(ATTEMPTS):
        try:
            outcome = yield from _attempt(values, creation)
        except IntegrityError as error:
            if sqlstate(error) != UNIQUE_VIOLATION:
                raise
            continue
        if stored := [row for row in outcome.earlier if row[-1]]:
            return _replay(stored[0], values)
        if outcome.is_running:
            break
        if not outcome.earlier or creation is None:
            return creation.result(outcome.pk) if creation and outcome.pk is not None else None
        yield from statements.forget(values)
    raise APIError(ErrorCode.IDEMPOTENCY_IN_PROGRESS, wait=RETRY_AFTER)


def _attempt(values: Mapping[str, Any], creation: Creation | None) -> Steps[statements.Outcome]:
    if creation is None:
        return (yield from statements.earlier(values))
    result = creation.result(orjson.Fragment(MARK))
    before, after = render_json(result.data).decode().split(MARK)
    response = {
        "once_status": int(result.status),
        "once_before": before,
        "once_after": after,
        "once_location": creation.result("").headers["Location"],
    }
    return (yield from statements.add(creation.addition, {**creation.values, **values, **response}))


def _values(request: Request, key: str, meaning: Mapping[str, Any]) -> dict[str, Any]:
    now = timezone.now()
    return {
        "once_caller_id": request.key.caller_id,
        "once_api_key_id": request.key.pk,
        "once_key": key,
        "once_fingerprint": _fingerprint(request.path, meaning),
        "once_created_at": parameter(now),
        "once_expired_at": parameter(now - settings.IDEMPOTENCY_LIFETIME),
    }


def _key_of(request: Request) -> str | None:
    header = request.headers.get("idempotency-key")
    if header is None:
        return None
    match = KEY.fullmatch(header.strip(" \t"))
    if match is None:
        message = "Idempotency-Key must be sent once and have 1 to 255 visible ASCII characters."
        raise APIError(ErrorCode.BAD_REQUEST, message)
    if has_secret(header):
        message = "Idempotency-Key must not contain an API key."
        raise APIError(ErrorCode.BAD_REQUEST, message)
    return match[1] or match[2]


def _fingerprint(path: str, meaning: Mapping[str, Any]) -> str:
    return sha256(f"{path}\n{WRITTEN.encode(meaning)}".encode()).hexdigest()


def _replay(earlier: Row, values: Mapping[str, Any]) -> Result:
    fingerprint, status, body, location, _counts = earlier
    if fingerprint != values["once_fingerprint"]:
        raise APIError(ErrorCode.IDEMPOTENCY_KEY_REUSED)
    headers = {"Location": location, "Idempotency-Replayed": "true"}
    return Result(orjson.Fragment(body), status, headers)
