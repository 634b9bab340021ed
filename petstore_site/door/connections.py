"""A few asynchronous connections to PostgreSQL for plain reads, with the deadlines of requests."""

import asyncio
import time
from typing import Any

from django.db import OperationalError, connection
from psycopg import AsyncConnection, AsyncCursor, Error

from petstore_site import metrics
from petstore_site.door.queue import Queue, within
from rest.database_errors import breaker, has_ended, shut_down
from rest.statements import Row, Steps, run_async

SECONDS = 3
"""How long a read waits for a connection, and then for the database."""


class Connections:
    """At most `most` connections, opened when they are needed."""

    def __init__(self, most: int) -> None:
        self._room = asyncio.Semaphore(most)
        self._idle: list[AsyncCursor[Row]] = []
        self.queue = Queue(most)

    async def run(self, steps: Steps) -> list[Row]:
        """Run the statements and return the rows; raises Django's `OperationalError`, whatever fails."""
        try:
            with self.queue:
                async with within(SECONDS, self._room):
                    await self._room.acquire()
        except TimeoutError as error:
            raise OperationalError from error
        begun = time.monotonic()
        try:
            return await self._run(steps)
        except Error as error:
            raise OperationalError from error
        finally:
            self.queue.learn(time.monotonic() - begun)
            self._room.release()

    async def _run(self, steps: Steps) -> list[Row]:
        used = await self._cursor()
        # Not a timeout of the task: a canceled one would wait for the database to cancel the statement.
        deadline = asyncio.get_running_loop().call_later(SECONDS, _cut_off, used.connection)
        try:
            rows = await run_async(steps, used)
        except BaseException:
            await used.connection.close()
            raise
        finally:
            deadline.cancel()
        self._idle.append(used)
        return rows

    async def _cursor(self) -> AsyncCursor[Row]:
        """Return the only cursor of a connection that no one else uses."""
        while self._idle:
            kept = self._idle.pop()
            if not has_ended(kept.connection):
                return kept
            await kept.connection.close()
        if not breaker.allows():
            raise OperationalError
        try:
            opened = await AsyncConnection.connect(autocommit=True, **_parameters())
        except Error:
            _fail()
            raise
        breaker.succeed()
        return opened.cursor()


def _cut_off(used: AsyncConnection[Any]) -> None:
    _fail()
    shut_down(used)


def _fail() -> None:
    breaker.fail()
    metrics.count_connection_failure()


def _parameters() -> dict[str, Any]:
    """Return those of Django's connections, without its classes."""
    given = connection.get_connection_params()
    return {name: value for name, value in given.items() if name not in {"cursor_factory", "context"}}
