"""How a migration takes a lock that every later statement on the table would have to wait for."""

import sys
import time

from django.db import OperationalError, transaction

from database.errors import sqlstate

LOCK_NOT_AVAILABLE = "55P03"
WAIT, PAUSE = "50ms", 0.5
TRIES = 1_200
"""Ten minutes: an autovacuum of a large table takes some, and gives way only to one that waits for a second."""


def briefly(schema_editor, change):
    """Call `change` in a transaction. On PostgreSQL it is tried again instead of waiting long for what others use."""
    connection = schema_editor.connection
    for tries_left in reversed(range(TRIES)):
        try:
            with transaction.atomic(connection.alias):
                if connection.vendor == "postgresql":
                    schema_editor.execute(f"SET LOCAL lock_timeout = '{WAIT}'")
                change()
        except OperationalError as error:
            if sqlstate(error) != LOCK_NOT_AVAILABLE or not tries_left:
                raise
            if tries_left == TRIES - 1:
                print("A table is in use. Waiting for a moment in which it is not.", file=sys.stderr)  # noqa: T201
            time.sleep(PAUSE)
        else:
            return
