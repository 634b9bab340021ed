"""The statements that store the response to a key once. `idempotency/models.py` has the table."""

from collections.abc import Mapping
from typing import Any

from database.statements import Row, Statement, Steps

TABLE = '"idempotency_idempotentrequest"'
SAME = '"api_key_id" = %(api_key_id)s AND "key" = %(key)s'

STORED = f"""
    SELECT "fingerprint", "status", "body", "location" FROM {TABLE}
    WHERE {SAME} AND "created_at" > %(expired_at)s
"""  # noqa: S608 - put together from constants, as the next ones
CLAIM = f"""
    INSERT INTO {TABLE} ("api_key_id", "key", "fingerprint", "status", "body", "location", "created_at")
    VALUES (%(api_key_id)s, %(key)s, %(fingerprint)s, 0, '', '', %(created_at)s)
    ON CONFLICT ("api_key_id", "key") DO UPDATE
    SET "fingerprint" = excluded."fingerprint", "status" = 0, "body" = '', "location" = '',
        "created_at" = excluded."created_at"
    WHERE {TABLE}."created_at" <= %(expired_at)s
    RETURNING 1
"""  # noqa: S608
STORE = f"""
    UPDATE {TABLE} SET "status" = %(status)s, "body" = %(body)s, "location" = %(location)s WHERE {SAME}
"""  # noqa: S608


def stored(values: Mapping[str, Any]) -> Steps[Row | None]:
    """Return fingerprint, status, body and location that are stored for the key, if any are."""
    rows = yield Statement(STORED, values)
    return rows[0] if rows else None


def claim(values: Mapping[str, Any]) -> Steps[bool]:
    """Add the row of the key, or take over one that has expired; return whether there was no other.

    It waits for the transaction that has claimed the key (PostgreSQL: until `lock_timeout`).
    """
    return bool((yield Statement(CLAIM, values)))


def store(values: Mapping[str, Any]) -> Steps[None]:
    """Store the response in the row that was claimed, as the last statement of the transaction."""
    yield Statement(STORE, values, ends=True)
