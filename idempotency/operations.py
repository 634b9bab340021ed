"""Make an operation that creates something safe to retry with an `Idempotency-Key` header (docs/decisions/0012)."""

import json
import re
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

import orjson
from django.conf import settings
from django.db import IntegrityError, OperationalError
from django.utils import timezone

from database.statements import HeldError, Row, Steps, Transaction, parameter
from idempotency import statements
from rest.errors import APIError, ErrorCode
from rest.media_type import render_json
from rest.requests import Request
from rest.results import Result

IDEMPOTENCY_ERRORS = [ErrorCode.IDEMPOTENCY_IN_PROGRESS, ErrorCode.IDEMPOTENCY_KEY_REUSED]

RETRY_AFTER = 1
"""Seconds to wait while the first request with the key is still running."""

WRITTEN = json.JSONEncoder(sort_keys=True, default=repr)

KEY = re.compile(r'"([\x21\x23-\x7e]{1,255})"|(?!""\Z)([\x21-\x7e]{1,255})')


def once(request: Request, meaning: Callable[[], Mapping[str, Any]], creating: Steps[Result]) -> Steps[Result]:
    """Create once per key, in the transaction that stores the response; without the header, create.

    The same key and meaning return the first response with `Idempotency-Replayed: true`. Another meaning
    is 422, a first request that is still running 409. An error raises and so stores nothing.
    """
    key = _key_of(request)
    if key is None:
        return (yield from creating)
    now = timezone.now()
    values = {
        "api_key_id": request.key.pk,
        "key": key,
        "fingerprint": _fingerprint(request.path, meaning()),
        "created_at": parameter(now),
        "expired_at": parameter(now - settings.IDEMPOTENCY_LIFETIME),
    }
    earlier = yield from statements.stored(values)
    if earlier and earlier[-1]:
        return _replay(earlier, values)
    try:
        result: Result = yield Transaction(
            _create(values, creating, expired=bool(earlier)), alone=(request.key.pk, key)
        )
    except HeldError:
        raise _in_progress() from None
    except OperationalError as error:
        if statements.is_held(error):
            raise _in_progress() from None
        raise
    except IntegrityError:
        earlier = yield from statements.stored(values)
        if not (earlier and earlier[-1]):  # what was created broke a constraint
            raise
        return _replay(earlier, values)
    return result


def _create(values: Mapping[str, Any], creating: Steps[Result], *, expired: bool) -> Steps[Result]:
    yield from statements.claim(values, expired=expired)
    result = yield from creating
    response = {
        "status": int(result.status),
        "body": render_json(result.data).decode(),
        "location": result.headers["Location"],
    }
    yield from statements.store({**values, **response})
    return result


def _in_progress() -> APIError:
    return APIError(ErrorCode.IDEMPOTENCY_IN_PROGRESS, wait=RETRY_AFTER)


def _key_of(request: Request) -> str | None:
    header = request.environ.get("HTTP_IDEMPOTENCY_KEY")
    if header is None:
        return None
    match = KEY.fullmatch(header.strip(" \t"))
    if match is None:
        message = "Idempotency-Key must be sent once and have 1 to 255 visible ASCII characters."
        raise APIError(ErrorCode.BAD_REQUEST, message)
    return match[1] or match[2]


def _fingerprint(path: str, meaning: Mapping[str, Any]) -> str:
    return sha256(f"{path}\n{WRITTEN.encode(meaning)}".encode()).hexdigest()


def _replay(earlier: Row, values: Mapping[str, Any]) -> Result:
    fingerprint, status, body, location, _is_kept = earlier
    if fingerprint != values["fingerprint"]:
        raise APIError(ErrorCode.IDEMPOTENCY_KEY_REUSED)
    headers = {"Location": location, "Idempotency-Replayed": "true"}
    return Result(orjson.Fragment(body), status, headers)
