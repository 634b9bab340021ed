"""Make an operation that creates something safe to retry with an `Idempotency-Key` header (docs/decisions/0012)."""

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from http import HTTPStatus
from typing import Any, NamedTuple

import orjson
from django.conf import settings
from django.db import IntegrityError
from django.utils import timezone

from database.errors import sqlstate
from database.statements import Addition, Row, Statement, Steps, Transaction, add, add_in_two, parameter, vendor
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
    shown: Mapping[str, Any]
    """What the API shows of it, besides the `id`."""

    def result(self, request: Request, pk: Any) -> Result:
        """Return the result for an ID, or for its placeholder."""
        return Result({"id": pk, **self.shown}, int(HTTPStatus.CREATED), {"Location": f"{request.url}/{pk}"})


def once(request: Request, meaning: Mapping[str, Any], creation: Creation | None) -> Steps[Result | None]:
    """Create, and with the header only once per key; return nothing if there is nothing to create.

    The response is stored in the same transaction. The same key and meaning return it with
    `Idempotency-Replayed: true`, also if there is nothing valid to create. Another meaning is 422, a first request
    that is still running 409.
    """
    key = _key_of(request)
    if key is None:
        pk = (yield from add(creation.addition, creation.values)) if creation else None
        return creation.result(request, pk) if creation and pk is not None else None
    values = _values(request, key, meaning, creation)
    for _ in range(ATTEMPTS):
        try:
            outcome = yield from (_add(creation.addition, values) if creation else _earlier(values))
        except IntegrityError as error:
            if sqlstate(error) != UNIQUE_VIOLATION:
                raise
            continue
        if stored := [row for row in outcome.earlier if row[-1]]:
            return _replay(stored[0], values)
        if outcome.is_running:
            break
        if not outcome.earlier or creation is None:
            return creation.result(request, outcome.pk) if creation and outcome.pk is not None else None
        yield Statement(FORGET, values, commits=True)
    raise APIError(ErrorCode.IDEMPOTENCY_IN_PROGRESS, wait=RETRY_AFTER)


def _values(request: Request, key: str, meaning: Mapping[str, Any], creation: Creation | None) -> dict[str, Any]:
    """Return the parameters of the statements: also what to create, and the response that is stored for it."""
    now = timezone.now()
    values: dict[str, Any] = {
        "once_caller_id": request.key.caller_id,
        "once_key": key,
        "once_fingerprint": sha256(f"{request.path}\n{WRITTEN.encode(meaning)}".encode()).hexdigest(),
        "once_created_at": parameter(now),
        "once_expired_at": parameter(now - settings.IDEMPOTENCY_LIFETIME),
    }
    if creation:
        result = creation.result(request, orjson.Fragment(MARK))
        before, after = render_json(result.data).decode().split(MARK)
        values |= creation.values
        values |= {"once_status": result.status, "once_location": f"{request.url}/"}
        values |= {"once_before": before, "once_after": after}
    return values


def _key_of(request: Request) -> str | None:
    header = request.headers.get("idempotency-key")
    if header is None:
        return None
    match = KEY.fullmatch(header.strip(" \t"))
    if match is None:
        message = "Idempotency-Key must be sent once and have 1 to 255 visible ASCII characters."
        raise APIError(ErrorCode.BAD_REQUEST, message)
    if has_secret(header):
        raise APIError(ErrorCode.BAD_REQUEST, "Idempotency-Key must not contain an API key.")
    return match[1] or match[2]


def _replay(earlier: Row, values: Mapping[str, Any]) -> Result:
    fingerprint, status, body, location, _counts = earlier
    if fingerprint != values["once_fingerprint"]:
        raise APIError(ErrorCode.IDEMPOTENCY_KEY_REUSED)
    headers = {"Location": location, "Idempotency-Replayed": "true"}
    return Result(orjson.Fragment(body), status, headers)


# --- Statements: `models.py` has their table --------------------------------------------------------------------------

TABLE = '"idempotency_idempotentrequest"'
COLUMNS = '"api_key_id", "key", "fingerprint", "status", "body", "location", "created_at"'
SAME = '"api_key_id" = %(once_caller_id)s AND "key" = %(once_key)s'

EARLIER = f"""
    SELECT "fingerprint", "status", "body", "location", "created_at" > %(once_expired_at)s AS "counts" FROM {TABLE}
    WHERE {SAME}"""  # noqa: S608 - put together from constants, as the next ones
FORGET = f"""
    DELETE FROM {TABLE} WHERE {SAME} AND "created_at" <= %(once_expired_at)s"""  # noqa: S608

STORE = f"""
    INSERT INTO {TABLE} ({COLUMNS}) SELECT
    %(once_caller_id)s, %(once_key)s, %(once_fingerprint)s, %(once_status)s, %(once_before)s || "id" || %(once_after)s,
    %(once_location)s || "id", %(once_created_at)s
    FROM """  # noqa: S608


class Attempt(NamedTuple):
    """The outcome of an addition with a key."""

    earlier: Sequence[Row]
    """What is stored for the key: fingerprint, status, body, location, and whether it still counts."""
    is_running: bool = False
    """Whether another request with the key is running."""
    pk: int | None = None
    """The ID of what was added."""


def _earlier(values: Mapping[str, Any]) -> Steps[Attempt]:
    """Return what is stored for the key."""
    return Attempt((yield Statement(EARLIER, values)))


def _add(addition: Addition, values: Mapping[str, Any]) -> Steps[Attempt]:
    """Add a row and store the response, unless something is stored for the key.

    An `IntegrityError` about the key says that another request has just been faster.
    """
    if vendor() == "postgresql":
        rows = yield Statement(_in_one(addition), values, commits=True)
        return Attempt([row[:5] for row in rows if row[0] is not None], rows[0][5] is False, rows[0][6])
    outcome = yield from _earlier(values)
    if not outcome.earlier:
        outcome = yield Transaction(_add_in_steps(addition, values))
    return outcome


@cache
def _in_one(addition: Addition) -> str:
    """Return one statement. The lock ends with it, and keeps a second request from taking an ID or waiting."""
    return f"""
    WITH "earlier" AS MATERIALIZED ({EARLIER}), "lock" AS MATERIALIZED (
        SELECT pg_try_advisory_xact_lock(hashtextextended(%(once_key)s, %(once_caller_id)s)) AS "is_mine"
        WHERE NOT EXISTS (SELECT FROM "earlier")
    ), "added" AS ({addition.row} AND (SELECT "is_mine" FROM "lock") RETURNING *),
    "changed" AS ({addition.history} "added"), "stored" AS ({STORE} "added")
    SELECT "earlier".*, "lock"."is_mine", "added"."id" FROM (SELECT) AS "one"
    LEFT JOIN "earlier" ON true LEFT JOIN "lock" ON true LEFT JOIN "added" ON true"""  # noqa: S608


def _add_in_steps(addition: Addition, values: Mapping[str, Any]) -> Steps[Attempt]:
    """Do the same on SQLite, whose transactions wait for each other."""
    outcome = yield from _earlier(values)
    if outcome.earlier:
        return outcome
    pk = yield from add_in_two(addition, values)
    if pk is not None:
        yield Statement(f'{STORE} (SELECT %(id)s AS "id") AS "added"', {**values, "id": pk})
    return Attempt([], pk=pk)
