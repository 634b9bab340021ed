"""A connection to PostgreSQL to which the event loop listens as long as it is open."""

import asyncio
from typing import Any, TypeVar

from psycopg import AsyncConnection
from psycopg.abc import PQGen
from psycopg.waiting import Ready, Wait

from rest.statements import Row

T = TypeVar("T")


class Listening(AsyncConnection[Row]):
    """psycopg's connection, which begins and ends to listen for each query, with a timer: that is 7 % of a list.

    It has no deadline. The caller closes it when its own is over, or when anything fails.
    """

    _socket: int | None = None
    """The descriptor to which the event loop listens."""

    _woken: asyncio.Future[None] | None = None
    """What the query that runs waits for."""

    async def wait(self, gen: PQGen[T], *_: Any, **__: Any) -> T:
        """Let psycopg send and receive until it is done, and return what it returns."""
        try:
            await self._until_ready(next(gen))
            while True:
                wanted = gen.send(Ready.RW)
                self._stop()  # uvloop no longer listens to a socket that had an error, even if there is more to read
                await self._until_ready(wanted)
        except StopIteration as done:
            returned: T = done.value
            return returned

    def wake(self) -> None:
        """Let the query look at the socket, whatever the event loop knows of it; without one, stop to listen."""
        if self._woken is None:
            self._stop()  # what can be read is the end of the connection: the next who wants to use it closes it
        elif not self._woken.done():
            self._woken.set_result(None)

    async def close(self) -> None:
        """Close the connection."""
        self._stop()
        await super().close()

    async def _until_ready(self, wanted: Wait) -> None:
        loop = asyncio.get_running_loop()
        if self._socket is None:
            self._socket = self.pgconn.socket
            loop.add_reader(self._socket, self.wake)
        self._woken = loop.create_future()
        try:
            if wanted & Wait.W:  # the statement is longer than what the socket takes at once
                loop.add_writer(self._socket, self.wake)
            await self._woken
        finally:
            self._woken = None
            if wanted & Wait.W:
                loop.remove_writer(self._socket)

    def _stop(self) -> None:
        if self._socket is not None:
            asyncio.get_running_loop().remove_reader(self._socket)
            self._socket = None
