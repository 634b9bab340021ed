"""A connection to PostgreSQL to which the event loop listens as long as it is open."""

import asyncio
from collections.abc import Mapping
from typing import Any, NamedTuple

from django.db import IntegrityError, OperationalError
from psycopg import AsyncConnection, Error, adapt, errors
from psycopg.abc import Transformer
from psycopg.adapt import PyFormat
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus, TransactionStatus
from psycopg.pq.abc import PGresult

from database.statements import Row, Statement

MOST_STATEMENTS = 100
"""How many statements stay prepared: as many as psycopg keeps."""


class Known(NamedTuple):
    """A statement that was run before."""

    name: bytes
    """What it is prepared as; empty where none is prepared (PgBouncer)."""
    text: bytes
    names: list[str]
    """Of its parameters, in the order of their numbers in the text."""
    formats: list[PyFormat]
    """Of its parameters: text, so that PostgreSQL knows their types from the statement."""
    converter: Transformer
    """Of parameters and rows."""


class Listening(AsyncConnection[Row]):
    """psycopg's connection, in autocommit, which one task at a time uses.

    psycopg begins and ends to listen for each query, with a timer, and its cursor finds out each time how to send it
    and what it returns: that is 15 % of a list. So it is asked as psycopg's own generators ask libpq.

    It has no deadline. The caller closes it when its own is over, or when anything fails.
    """

    _socket: int | None = None
    """The descriptor to which the event loop listens."""

    _woken: asyncio.Future[None] | None = None
    """What the query that runs waits for."""

    _was_woken = False
    """Whether it has waited before."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Take what psycopg gives."""
        super().__init__(*args, **kwargs)
        self._known: dict[str, Known] = {}

    @property
    def is_usable(self) -> bool:
        """Return whether the connection is open, and neither in a statement nor in a transaction."""
        return not self.closed and self.pgconn.transaction_status == TransactionStatus.IDLE

    async def rows(self, statement: Statement) -> list[Row]:
        """Run the statement and return its rows. Raises Django's errors, with psycopg's as their causes."""
        try:
            return await self._rows(statement)
        except errors.IntegrityError as error:
            raise IntegrityError from error
        except Error as error:
            raise OperationalError from error

    async def _rows(self, statement: Statement) -> list[Row]:
        known = self._known.get(statement.sql) or await self._learn(statement.sql)
        self._send(known, statement.parameters)
        result = await self._result()
        known.converter.set_pgresult(result, set_loaders=not known.name)
        rows: list[Row] = known.converter.load_rows(0, result.ntuples, tuple)
        known.converter.set_pgresult(None, set_loaders=False)  # what a list read is not kept
        return rows

    def _send(self, known: Known, parameters: Mapping[str, Any]) -> None:
        values = known.converter.dump_sequence([parameters[name] for name in known.names], known.formats)
        if known.name:
            self.pgconn.send_query_prepared(known.name, values)
        else:
            self.pgconn.send_query_params(known.text, values)

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

    async def _learn(self, sql: str) -> Known:
        """Know the statement, and forget the others if they would be too many."""
        if len(self._known) >= MOST_STATEMENTS:
            self._known.clear()
            if self.prepare_threshold is not None:
                self.pgconn.send_query(b"DEALLOCATE ALL")
                await self._result()
        numbers = _Numbers()
        text = (sql % numbers).encode()
        converter: Transformer = adapt.Transformer(self)
        name = b"" if self.prepare_threshold is None else await self._prepare(text, converter)
        known = Known(name, text, list(numbers), [PyFormat.TEXT] * len(numbers), converter)
        self._known[sql] = known
        return known

    async def _prepare(self, text: bytes, converter: Transformer) -> bytes:
        """Prepare the statement and return its name, when the converter knows the columns that it returns."""
        name = b"%d" % len(self._known)
        self.pgconn.send_prepare(name, text)
        await self._result()
        self.pgconn.send_describe_prepared(name)
        converter.set_pgresult(await self._result())
        return name

    async def _result(self) -> PGresult:
        """Send the rest, and return the last result; raises psycopg's error for the first that failed."""
        pgconn, results, self._was_woken = self.pgconn, list[PGresult](), False
        while pgconn.flush():  # it is longer than what the socket takes at once
            await self._until_ready(writes=True)
            pgconn.consume_input()
        while True:
            while pgconn.is_busy():
                await self._until_ready()
                pgconn.consume_input()
            result = pgconn.get_result()
            if result is None:
                return _good(results)[-1]
            results.append(result)

    async def _until_ready(self, *, writes: bool = False) -> None:
        loop = asyncio.get_running_loop()
        if self._was_woken:
            self._stop()  # uvloop no longer listens to a socket that had an error, even if there is more to read
        if self._socket is None:
            self._socket = self.pgconn.socket
            loop.add_reader(self._socket, self.wake)
        self._woken = loop.create_future()
        try:
            if writes:
                loop.add_writer(self._socket, self.wake)
            await self._woken
        finally:
            self._woken, self._was_woken = None, True
            if writes:
                loop.remove_writer(self._socket)

    def _stop(self) -> None:
        if self._socket is not None:
            asyncio.get_running_loop().remove_reader(self._socket)
            self._socket = None


class _Numbers(dict[str, str]):
    """By the name of a parameter, how PostgreSQL writes it: `$1`, `$2` and so on."""

    def __missing__(self, name: str) -> str:
        self[name] = number = f"${len(self) + 1}"
        return number


def _good(results: list[PGresult]) -> list[PGresult]:
    """Return the results; raises psycopg's error for the first that failed."""
    for result in results:  # the end of the connection comes after what it interrupts
        if result.status == ExecStatus.FATAL_ERROR:
            raise error_from_result(result)
    return results
