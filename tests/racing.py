"""Work that meets at a lock of the database, in an order that a test decides."""

import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Any
from unittest import mock

from django.db import connection
from django.db.backends.signals import connection_created

BLOCKED = (
    "SELECT count(*) FROM pg_stat_activity"
    " WHERE datname = current_database() AND backend_type = 'client backend' AND wait_event_type = 'Lock'"
)
WRITES = re.compile("BEGIN|INSERT|UPDATE|DELETE")

_writing: list[str] = []
"""What is being written on SQLite, or waits for its one writer."""


@contextmanager
def patient() -> Iterator[None]:
    """Let new connections to PostgreSQL wait longer for a lock than those of requests, on a busy machine."""
    options = connection.settings_dict["OPTIONS"]
    if connection.vendor == "sqlite":
        yield
        return
    with mock.patch.dict(options, options=f"{options['options']} -c lock_timeout=30s -c statement_timeout=30s"):
        yield


def race(
    lock: str, *works: Callable[[], Any], meanwhile: Callable[[], Any] = lambda: None, may_end: bool = False
) -> list[Any]:
    """Do each of `works` in a thread, one after the other as far as it gets without `lock`; then let them go on.

    `meanwhile` is done while they all wait, for longer than a request would. With `may_end` all but the first may end
    without waiting. SQLite has one lock for all, and when it is free any that waits takes it.
    """
    with patient(), _noted(), ThreadPoolExecutor(len(works)) as pool, closing(connection.copy()) as holder:
        holder.cursor().execute("BEGIN IMMEDIATE" if connection.vendor == "sqlite" else "BEGIN")
        if connection.vendor == "postgresql":
            holder.cursor().execute(lock)
        begun: list[Future[Any]] = []
        for work in works:
            begun.append(pool.submit(_with_own_connection, work))
            wait_until_blocked(len(begun), begun[1:] if may_end else ())
        meanwhile()
        holder.cursor().execute("ROLLBACK")
        return [each.result(60) for each in begun]


def _with_own_connection(work: Callable[[], Any]) -> Any:
    try:
        return work()
    finally:
        connection.close()


def wait_until_blocked(wanted: int, may_end: Any = ()) -> None:
    end, blocked = time.monotonic() + 30, -1
    while blocked + sum(work.done() for work in may_end) < wanted:
        assert time.monotonic() < end, f"{blocked} connections wait, not {wanted}"
        time.sleep(0.01)
        if connection.vendor == "sqlite":
            blocked = len(_writing)
        else:
            with connection.cursor() as cursor:
                cursor.execute(BLOCKED)
                blocked = cursor.fetchone()[0]


@contextmanager
def _noted() -> Iterator[None]:
    """Note what new connections to SQLite write."""

    def note(execute: Any, sql: str, *given: Any) -> Any:
        if not WRITES.match(sql):
            return execute(sql, *given)
        _writing.append(sql)
        try:
            return execute(sql, *given)
        finally:
            _writing.remove(sql)

    def opened(connection: Any, **_signal: Any) -> None:
        connection.execute_wrappers[:] = [note]

    if connection.vendor == "sqlite":
        connection_created.connect(opened)
    yield
    connection_created.disconnect(opened)
