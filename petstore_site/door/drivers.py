"""Run the steps of requests: on PostgreSQL by connections of the event loop, on SQLite in a few threads."""

import asyncio
import time
from collections.abc import Awaitable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from django.db import OperationalError

from database import statements
from database.errors import committing
from database.statements import Row, Statement, Steps
from petstore_site.door.queue import BusyError, Queue

if TYPE_CHECKING:
    from petstore_site.door.listening import Listening

T = TypeVar("T")

WRITE_SECONDS = 4
"""How long a statement that writes waits for the database. It may be done after that, so it is not tried again."""

CONNECTIONS_FOR_READS = 2
"""For each thread. With one, reads that come together wait for each other, which takes more CPU than they do."""

CONNECTIONS_FOR_KEYS = 2
"""Once a second all requests of a key wait until it is looked up, those in threads too: lists must not delay that."""

NONE_FREE = "no connection was free in time"


class OnPostgreSQL:
    """Connections for reads, for writes and for keys: a COMMIT that hangs takes none from the reads."""

    def __init__(self, threads: int) -> None:
        """Take how many threads the worker has, which gives the number of connections."""
        from petstore_site.door.connections import Connections  # noqa: PLC0415 - with SQLite, psycopg is never loaded

        self._for_keys = Connections(CONNECTIONS_FOR_KEYS)
        self._to_read = Connections(CONNECTIONS_FOR_READS * threads)
        self._to_write = Connections(max(1, threads - 1), seconds=WRITE_SECONDS, commits=True)

    def admit(self, *, reads: bool) -> None:
        """Raise `BusyError` if a request that comes now would wait too long."""
        (self._to_read if reads else self._to_write).queue.admit()

    async def run(self, steps: Steps[T], latest: float) -> T:
        """Run the steps; raises `BusyError`, and Django's `OperationalError`, whatever fails."""
        return await statements.run_async(steps, partial(self._run_one, latest))

    async def run_for_key(self, steps: Steps[list[Row]]) -> list[Row]:
        """Run the steps that look up a key, on connections of their own."""
        try:
            return await statements.run_async(steps, lambda step: self._for_keys.run(partial(_rows, step)))
        except BusyError:  # threads may wait for the same key, and know only errors of the database
            raise OperationalError(NONE_FREE) from None

    def _run_one(self, latest: float, step: Statement) -> Awaitable[list[Row]]:
        if step.commits:
            return self._to_write.run(partial(_commit, step), latest)
        return self._to_read.run(partial(_rows, step), latest)


def _rows(step: Statement, used: "Listening") -> Awaitable[list[Row]]:
    return used.rows(step)


async def _commit(step: Statement, used: "Listening") -> list[Row]:
    with committing():
        return await used.rows(step)


class OnSQLite:
    """Threads with a connection each."""

    def __init__(self, threads: int) -> None:
        """Take how many."""
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="sqlite")
        self._queue = Queue(threads)

    def admit(self, *, reads: bool) -> None:  # noqa: ARG002 - all use the same threads
        """Raise `BusyError` if a request that comes now would wait too long."""
        self._queue.admit()

    async def run(self, steps: Steps[T], latest: float = 0) -> T:  # noqa: ARG002 - SQLite has a timeout of its own
        """Run the steps in a thread; raises Django's `DatabaseError`."""
        begun = time.perf_counter()
        with self._queue:
            future = asyncio.get_running_loop().run_in_executor(self._pool, copy_context().run, statements.run, steps)
            returned: T = await future
        self._queue.learn(time.perf_counter() - begun)
        return returned

    run_for_key = run
