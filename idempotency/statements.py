"""The statements that store the response to a key once. `idempotency/models.py` has the table."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from database.statements import Addition, Row, Statement, Steps, Transaction, add_in_two, vendor

TABLE = '"idempotency_idempotentrequest"'
COLUMNS = '"api_key_id", "key", "fingerprint", "status", "body", "location", "created_at"'
SAME = '"api_key_id" IN (%(once_caller_id)s, %(once_api_key_id)s) AND "key" = %(once_key)s'

EARLIER = f"""
    SELECT "fingerprint", "status", "body", "location", "created_at" > %(once_expired_at)s AS "counts" FROM {TABLE}
    WHERE {SAME}"""  # noqa: S608 - put together from constants, as the next ones
FORGET = f"""
    DELETE FROM {TABLE} WHERE {SAME} AND "created_at" <= %(once_expired_at)s"""  # noqa: S608

# The release before this one knows only the key that it was asked with, so there is a row for it too.
STORE = f"""
    INSERT INTO {TABLE} ({COLUMNS}) SELECT
    "who", %(once_key)s, %(once_fingerprint)s, %(once_status)s, %(once_before)s || "id" || %(once_after)s,
    %(once_location)s || "id", %(once_created_at)s
    FROM (SELECT %(once_caller_id)s AS "who" UNION SELECT %(once_api_key_id)s) AS "callers", """  # noqa: S608


class Outcome(NamedTuple):
    """The outcome of an addition with a key."""

    earlier: Sequence[Row]
    """What is stored for the key: fingerprint, status, body, location, and whether it still counts."""
    is_running: bool = False
    """Whether another request with the key is running."""
    pk: int | None = None
    """The ID of what was added."""


def earlier(values: Mapping[str, Any]) -> Steps[Outcome]:
    """Return what is stored for the key."""
    return Outcome((yield Statement(EARLIER, values)))


def forget(values: Mapping[str, Any]) -> Steps[None]:
    """Delete what has expired for the key."""
    yield Statement(FORGET, values, commits=True)


def add(addition: Addition, values: Mapping[str, Any]) -> Steps[Outcome]:
    """Add a row and store the response, unless something is stored for the key.

    An `IntegrityError` about the key says that another request has just been faster.
    """
    if vendor() == "postgresql":
        rows = yield Statement(_in_one(addition), values, commits=True)
        return Outcome([row[:5] for row in rows if row[0] is not None], rows[0][5] is False, rows[0][6])
    outcome = yield from earlier(values)
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


def _add_in_steps(addition: Addition, values: Mapping[str, Any]) -> Steps[Outcome]:
    """Do the same on SQLite, whose transactions wait for each other."""
    outcome = yield from earlier(values)
    if outcome.earlier:
        return outcome
    pk = yield from add_in_two(addition, values)
    if pk is not None:
        yield Statement(f'{STORE} (SELECT %(id)s AS "id") AS "added"', {**values, "id": pk})
    return Outcome([], pk=pk)
