"""Where reports and exports are read: from the replica of DATABASE_REPLICA_URL while it is current, else the primary.

A report names the database it reads. Nothing else uses the replica (docs/decisions/0055).
"""

import logging
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Thread
from typing import Any, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections
from django.db import Error as AnyDatabaseError

from database.breaker import Breaker
from database.signals import replica_left_out
from database.standby import FOLLOWS, POSITION, Position

logger = logging.getLogger(__name__)

T = TypeVar("T")

REPLICA = "replica"

SECONDS = 0.5
"""How long a report waits for the replica."""

SECONDS_BEHIND = 0.3
"""How long of these the replica may take to replay what was committed before the report began."""

SECONDS_WITHOUT = 5
"""After a failure of the replica no report waits for it so long."""

breaker = Breaker(SECONDS_WITHOUT)

BEHIND = "It is behind, or does not follow this primary."


def read(reading: Callable[[str], T]) -> T:
    """Return `reading(alias)` for the alias of a database; once more for the primary if the replica fails."""
    if REPLICA in connections and breaker.allows() and _is_usable():
        try:
            return reading(REPLICA)
        except AnyDatabaseError as error:
            _leave_out(str(error))
    return reading(DEFAULT_DB_ALIAS)


def is_current() -> bool:
    """Return whether the replica has all that is committed now, or gets it in `SECONDS_BEHIND`.

    Raises `TimeoutError` if it does not respond, and what Django raises if it cannot be reached.
    """
    future: Future[bool] = Future()
    Thread(target=_settle, args=(future,), daemon=True).start()  # opening a connection can take longer
    return future.result(SECONDS)


def _is_usable() -> bool:
    try:
        if is_current():
            breaker.succeed()
            return True
        _leave_out(BEHIND)
    except (AnyDatabaseError, TimeoutError) as error:
        _leave_out(str(error) or "It does not respond.")
    return False


def _leave_out(reason: str) -> None:
    breaker.fail()
    replica_left_out.send(sender=None)
    logger.warning("The replica cannot be used. Reports are read from the primary. %s", " ".join(reason.split()))


def _settle(future: Future[bool]) -> None:
    try:
        future.set_result(_catches_up())
    except Exception as error:  # noqa: BLE001 - the report handles it
        future.set_exception(error)


def _catches_up() -> bool:
    # Positions, no times: the clocks may differ, and on an idle primary the last replayed transaction gets old.
    with _cursor(DEFAULT_DB_ALIAS) as primary:
        primary.execute(POSITION)
        position = Position(*primary.fetchone())
    with _cursor(REPLICA) as replica:
        deadline = time.monotonic() + SECONDS_BEHIND
        while time.monotonic() < deadline:
            replica.execute(f"SELECT {FOLLOWS}", position)
            if replica.fetchone() == (True,):
                return True
            time.sleep(0.01)
    return False


@contextmanager
def _cursor(alias: str) -> Iterator[Any]:
    """Open a connection of this thread for one cursor."""
    database = connections[alias]
    try:
        with database.cursor() as cursor:
            yield cursor
    finally:
        database.close()
