"""A few asynchronous connections to PostgreSQL for plain requests, with the deadlines of requests."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from django.db import OperationalError
from psycopg import Error

from database.errors import CLOSED, breaker, has_ended, shut_down, watch
from database.reading import fallback, parameters_of_primary
from database.signals import connection_failed
from petstore_site.door.listening import Listening
from petstore_site.door.queue import BusyError, Queue, within
from petstore_site.requests import metrics

T = TypeVar("T")

WAIT_SECONDS = 2.5
"""How long a request waits for a connection."""

SECONDS = 3
"""How long a read then waits for the database, which may have to accept a connection first."""

PLANS = "-c enable_seqscan=off -c enable_bitmapscan=off -c enable_sort=off -c plan_cache_mode=force_generic_plan"
"""All statements here read by an index, in its order, whatever their parameters, so each is planned once.

For a small table PostgreSQL plans to read and sort all of it, and keeps that plan while the table grows, until its
statistics are renewed: up to a minute, or more during an import. A list of 100 by status it plans each time again.
"""


LOST = "the primary is lost"


class Connections:
    """At most `most` connections, opened when they are needed."""

    def __init__(self, most: int, *, seconds: float = SECONDS, commits: bool = False) -> None:
        """Take how long the database may take, and whether what is sent to it can be a COMMIT."""
        self._seconds = seconds
        self._commits = commits
        self._room = asyncio.Semaphore(most)
        self._idle: list[Listening] = []
        self.queue = Queue(most)

    async def run(self, work: Callable[[Listening], Awaitable[T]], latest: float = math.inf) -> T:
        """Return what `work` returns for a connection, by the time `latest` of `time.perf_counter`.

        Raises `BusyError` if no connection becomes free in time, and Django's `OperationalError`, whatever fails.
        """
        if latest <= time.perf_counter():
            raise BusyError
        servers = fallback()
        if servers and servers.primary_is_lost and not self._commits:
            raise OperationalError(LOST)  # a thread reads from the standby
        try:
            with self.queue:
                async with within(WAIT_SECONDS, latest, self._room):
                    await self._room.acquire()
        except TimeoutError:
            raise BusyError from None
        begun = time.perf_counter()
        try:
            return await self._run(work, min(begun + self._seconds, latest))
        finally:
            self.queue.learn(time.perf_counter() - begun)
            self._room.release()

    async def _run(self, work: Callable[[Listening], Awaitable[T]], latest: float) -> T:
        used = await self._connection(latest)
        # Not a timeout of the task: the query is to fail like one whose connection breaks, which `committing` knows.
        deadline = asyncio.get_running_loop().call_later(latest - time.perf_counter(), self._cut_off, used)
        try:
            return await work(used)
        except OperationalError:  # whatever failed: a plan that a migration made wrong stays wrong
            await used.close()
            raise
        finally:
            deadline.cancel()
            if used.is_usable:
                self._idle.append(used)
            else:
                await used.close()

    async def _connection(self, latest: float) -> Listening:
        """Return one that no one else uses."""
        while self._idle:
            kept = self._idle.pop()
            if not has_ended(kept):
                return kept
            await kept.close()
        if not breaker.allows():
            raise OperationalError(CLOSED)
        try:
            async with asyncio.timeout(latest - time.perf_counter()):  # psycopg's has none for the name of the server
                opened = await Listening.connect(autocommit=True, **_parameters())
        except (Error, TimeoutError) as error:
            breaker.fail()
            connection_failed.send(sender=None)
            raise OperationalError from error
        breaker.succeed()
        watch(opened)
        return opened

    def _cut_off(self, used: Listening) -> None:
        if self._commits:  # a read is tried again
            metrics.count_given_up("deadline")
        shut_down(used)
        used.wake()


def _parameters() -> dict[str, Any]:
    kept = parameters_of_primary()
    return kept | ({"options": f"{kept['options']} {PLANS}"} if "options" in kept else {})
