"""Work that meets at a lock of PostgreSQL, in an order that a test decides."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Any
from unittest import mock

from django.db import connection

BLOCKED = (
    "SELECT count(*) FROM pg_stat_activity"
    " WHERE datname = current_database() AND backend_type = 'client backend' AND wait_event_type = 'Lock'"
)


@contextmanager
def patient() -> Iterator[None]:
    """Let new connections to PostgreSQL wait longer for a lock than those of requests, on a busy machine."""
    options = connection.settings_dict["OPTIONS"]
    if connection.vendor == "sqlite":
        yield
        return
    with mock.patch.dict(options, options=f"{options['options']} -c lock_timeout=30s -c statement_timeout=30s"):
        yield


def race(lock: str, *works: Callable[[], Any], meanwhile: Callable[[], Any] = lambda: None) -> list[Any]:
    """Do each of `works` in a thread, one after the other as far as it gets without `lock`; then let them go on.

    `meanwhile` is done while they all wait, for longer than a request would.
    """
    with patient(), ThreadPoolExecutor(len(works)) as pool, closing(connection.copy()) as holder:
        holder.set_autocommit(False)
        holder.cursor().execute(lock)
        begun = []
        for work in works:
            begun.append(pool.submit(_with_own_connection, work))
            wait_until_blocked(len(begun))
        meanwhile()
        holder.rollback()
        return [each.result(60) for each in begun]


def _with_own_connection(work: Callable[[], Any]) -> Any:
    try:
        return work()
    finally:
        connection.close()


def wait_until_blocked(wanted: int) -> None:
    end, blocked = time.monotonic() + 30, -1
    while blocked != wanted:
        assert time.monotonic() < end, f"{blocked} connections wait, not {wanted}"
        time.sleep(0.01)
        with connection.cursor() as cursor:
            cursor.execute(BLOCKED)
            blocked = cursor.fetchone()[0]
