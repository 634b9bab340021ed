"""Run the steps of requests: on PostgreSQL by connections of the event loop, on SQLite in a few threads."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar
from weakref import WeakValueDictionary

from django.db import OperationalError

from database import statements
from database.errors import committing
from database.statements import HeldError, Row, Statement, Steps, Transaction
from petstore_site.door.queue import BusyError, Queue, within

if TYPE_CHECKING:
    from petstore_site.door.listening import Listening

P = ParamSpec("P")
T = TypeVar("T")

BEGIN, COMMIT, ROLLBACK = (Statement(word, {}) for word in ("BEGIN", "COMMIT", "ROLLBACK"))

WRITE_SECONDS = 4
"""How long a statement that writes waits for the database. It may be done after that, so it is not tried again."""

CONNECTIONS_FOR_READS = 2
"""For each thread. With one, reads that come together wait for each other, which takes more CPU than they do."""

CONNECTIONS_FOR_KEYS = 2
"""Once a second all requests of a key wait until it is looked up, those in threads too: lists must not delay that."""

NONE_FREE = "no connection was free in time"

HELD_SECONDS = 1.0
"""How long a transaction waits for another one with the same `alone`: as long as for a lock in the database."""


class OnPostgreSQL:
    """Connections for reads, for writes and for keys: a COMMIT that hangs takes none from the reads."""

    def __init__(self, threads: int) -> None:
        """Take how many threads the worker has, which gives the number of connections."""
        from petstore_site.door.connections import Connections  # noqa: PLC0415 - with SQLite, psycopg is never loaded

        self._for_keys = Connections(CONNECTIONS_FOR_KEYS)
        self._to_read = Connections(CONNECTIONS_FOR_READS * threads)
        self._to_write = Connections(max(1, threads - 1), seconds=WRITE_SECONDS, commits=True)
        self._turns = Turns()

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

    def _run_one(self, latest: float, step: Statement | Transaction) -> Awaitable[Any]:
        if isinstance(step, Transaction):
            return self._turns.run(step.alone, self._to_write.run, partial(_transact, step.steps), latest)
        if step.commits:
            return self._to_write.run(partial(_commit, step), latest)
        return self._to_read.run(partial(_rows, step), latest)


def _rows(step: Statement, used: "Listening") -> Awaitable[list[Row]]:
    return used.rows(step)


async def _commit(step: Statement, used: "Listening") -> list[Row]:
    with committing():
        return await used.rows(step)


async def _transact(steps: Steps[T], used: "Listening") -> T:
    one = OneTransaction(used)
    try:
        returned = await statements.run_async(steps, one.run)
        await one.end()
    except OperationalError:
        raise
    except Exception:
        await one.roll_back()
        raise
    return returned


class OneTransaction:
    """Sends BEGIN, what leads and COMMIT with the statements beside them: each takes no round trip."""

    def __init__(self, used: "Listening") -> None:
        """Take the connection."""
        self._used = used
        self._waiting = [BEGIN]
        self._has_ended = False

    async def run(self, step: Statement) -> list[Row]:
        """Run the next statement."""
        self._waiting.append(step)
        if step.leads:
            return []
        if step.ends:
            await self.end()
            return []
        return await self._send()

    async def end(self) -> None:
        """Commit, unless that is done."""
        if not self._has_ended:
            self._has_ended = True
            self._waiting.append(COMMIT)
            with committing():
                await self._send()

    async def roll_back(self) -> None:
        """End without a COMMIT. What leads is sent first: if it fails, its error is what the transaction ends with."""
        try:
            if len(self._waiting) > 1:
                await self._send()
        finally:
            if not self._used.is_usable:
                await self._used.rows(ROLLBACK)

    async def _send(self) -> list[Row]:
        waiting, self._waiting = self._waiting, []
        return await self._used.rows(*waiting)


class Turns:
    """Lets transactions with the same name run one after the other, before they take a connection."""

    def __init__(self) -> None:
        """Start with none."""
        self._locks: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()

    async def run(self, name: Hashable, function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call the function when no other one with this name runs; raises `HeldError` after `HELD_SECONDS`."""
        lock = self._locks.setdefault(name, asyncio.Lock())
        try:
            async with within(HELD_SECONDS, math.inf, lock):
                await lock.acquire()
        except TimeoutError:
            raise HeldError from None
        try:
            return await function(*args, **kwargs)
        finally:
            lock.release()


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
