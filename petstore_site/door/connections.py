"""A few asynchronous connections to PostgreSQL for plain reads, with the deadlines of requests."""

import asyncio
from typing import Any

from django.db import OperationalError, connection
from psycopg import AsyncConnection, Error

from rest.database_errors import breaker, has_ended
from rest.statements import Row, Steps, run_async

SECONDS = 3.5
"""How long a read may take, with the wait for a connection."""


class Connections:
    """At most `most` connections, opened when they are needed."""

    def __init__(self, most: int) -> None:
        self._room = asyncio.Semaphore(most)
        self._idle: list[AsyncConnection[Row]] = []

    async def run(self, steps: Steps) -> list[Row]:
        """Run the statements and return the rows; raises Django's `OperationalError`, whatever fails."""
        try:
            async with asyncio.timeout(SECONDS), self._room:
                return await self._run(steps)
        except TimeoutError as error:
            breaker.fail()
            raise OperationalError from error
        except Error as error:
            raise OperationalError from error

    async def _run(self, steps: Steps) -> list[Row]:
        used = await self._open()
        try:
            rows = await run_async(steps, used)
        except BaseException:
            await used.close()
            raise
        self._idle.append(used)
        return rows

    async def _open(self) -> AsyncConnection[Row]:
        while self._idle:
            kept = self._idle.pop()
            if not has_ended(kept):
                return kept
            await kept.close()
        if not breaker.allows():
            raise OperationalError
        try:
            opened = await AsyncConnection.connect(autocommit=True, **_parameters())
        except Error:
            breaker.fail()
            raise
        breaker.succeed()
        return opened


def _parameters() -> dict[str, Any]:
    """Return those of Django's connections, without its classes."""
    given = connection.get_connection_params()
    return {name: value for name, value in given.items() if name not in {"cursor_factory", "context"}}
