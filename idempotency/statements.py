"""The statements that store the response to a key once. `idempotency/models.py` has the table."""

from collections.abc import Mapping
from typing import Any

from django.db import OperationalError

from database.errors import LOCK_NOT_AVAILABLE, sqlstate
from database.statements import Row, Statement, Steps
from idempotency.models import ONE_ANSWER

TABLE = '"idempotency_idempotentrequest"'
SAME = '"api_key_id" = %(api_key_id)s AND "key" = %(key)s'

STORED = f"""
    SELECT "fingerprint", "status", "body", "location", "created_at" > %(expired_at)s FROM {TABLE} WHERE {SAME}
"""  # noqa: S608 - put together from constants, as the next ones
FORGET = f"""
    DELETE FROM {TABLE} WHERE {SAME} AND "created_at" <= %(expired_at)s
"""  # noqa: S608
CLAIM = f"""
    INSERT INTO {TABLE} ("api_key_id", "key", "fingerprint", "status", "body", "location", "created_at")
    VALUES (%(api_key_id)s, %(key)s, %(fingerprint)s, 0, '', '', %(created_at)s)
"""  # noqa: S608
STORE = f"""
    UPDATE {TABLE} SET "status" = %(status)s, "body" = %(body)s, "location" = %(location)s WHERE {SAME}
"""  # noqa: S608


def stored(values: Mapping[str, Any]) -> Steps[Row | None]:
    """Return fingerprint, status, body and location that are stored for the key, and whether they still count."""
    rows = yield Statement(STORED, values)
    return rows[0] if rows else None


def claim(values: Mapping[str, Any], *, expired: bool) -> Steps[None]:
    """Add the row of the key, and replace one that has expired.

    It waits for the transaction that has claimed the key (PostgreSQL: until `lock_timeout`, which `is_held` knows).
    Once that has committed, it is an `IntegrityError`, and what the claim leads is not run.
    """
    if expired:
        yield Statement(FORGET, values, leads=True)
    yield Statement(CLAIM, values, leads=True)


def is_held(error: OperationalError) -> bool:
    """Return whether the claim waited for another one too long. What it leads can wait for other rows."""
    diagnostic = getattr(error.__cause__, "diag", None)
    context = (diagnostic and diagnostic.context) or ""
    return sqlstate(error) == LOCK_NOT_AVAILABLE and (ONE_ANSWER in context or TABLE in context)


def store(values: Mapping[str, Any]) -> Steps[None]:
    """Store the response in the row that was claimed, as the last statement of the transaction."""
    yield Statement(STORE, values, ends=True)
