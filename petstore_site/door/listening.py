"""A connection to PostgreSQL to which the event loop listens as long as it is open."""

import asyncio
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

from django.db import OperationalError
from psycopg import AsyncConnection, Error, adapt
from psycopg.abc import Buffer, PQGen, Transformer
from psycopg.adapt import PyFormat
from psycopg.errors import error_from_result
from psycopg.generators import execute, fetch_many
from psycopg.pq import ConnStatus, ExecStatus, TransactionStatus
from psycopg.pq.abc import PGresult
from psycopg.waiting import Ready, Wait

from database.statements import Row, Statement

T = TypeVar("T")

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
    and what it returns: that is 15 % of a list.

    It has no deadline. The caller closes it when its own is over, or when anything fails.
    """

    _socket: int | None = None
    """The descriptor to which the event loop listens."""

    _woken: asyncio.Future[None] | None = None
    """What the query that runs waits for."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Take what psycopg gives."""
        super().__init__(*args, **kwargs)
        self._known: dict[str, Known] = {}

    @property
    def is_usable(self) -> bool:
        """Return whether the connection is open, and neither in a statement nor in a transaction."""
        return not self.closed and self.pgconn.transaction_status == TransactionStatus.IDLE

    async def rows(self, statement: Statement, *, begins: bool = False, ends: bool = False) -> list[Row]:
        """Run the statement and return its rows; raises Django's errors, with psycopg's as their causes.

        In the same round trip, `begins` begins a transaction before it, and `ends` commits after it.
        """
        try:
            return await self._rows(statement, begins=begins, ends=ends)
        except Error as error:
            raise OperationalError from error

    async def _rows(self, statement: Statement, *, begins: bool, ends: bool) -> list[Row]:
        known = self._known.get(statement.sql) or await self._learn(statement.sql)
        parameters = statement.parameters
        values = known.converter.dump_sequence([parameters[name] for name in known.names], known.formats)
        if begins or ends:
            result = await self._in_pipeline(known, values, begins=begins, ends=ends)
        else:
            self._send(known, values)
            result = await self._result()
        known.converter.set_pgresult(result, set_loaders=not known.name)
        rows: list[Row] = known.converter.load_rows(0, result.ntuples, tuple)
        known.converter.set_pgresult(None, set_loaders=False)  # what a list read is not kept
        return rows

    def _send(self, known: Known, values: Sequence[Buffer | None]) -> None:
        if known.name:
            self.pgconn.send_query_prepared(known.name, values)
        else:
            self.pgconn.send_query_params(known.text, values)

    async def _in_pipeline(
        self, known: Known, values: Sequence[Buffer | None], *, begins: bool, ends: bool
    ) -> PGresult:
        """Send the statement with BEGIN before it or COMMIT after it, and return its result."""
        self.pgconn.enter_pipeline_mode()
        if begins:
            self.pgconn.send_query_params(b"BEGIN", None)
        self._send(known, values)
        if ends:
            self.pgconn.send_query_params(b"COMMIT", None)
        self.pgconn.pipeline_sync()
        results = await self.wait(execute(self.pgconn))
        while self.pgconn.status == ConnStatus.OK and results[-1].status != ExecStatus.PIPELINE_SYNC:
            results += await self.wait(fetch_many(self.pgconn))
        if self.pgconn.status == ConnStatus.OK:
            self.pgconn.exit_pipeline_mode()
        return _good(results)[begins]

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

    async def _learn(self, sql: str) -> Known:
        numbers = _Numbers()
        text = (sql % numbers).encode()
        converter: Transformer = adapt.Transformer(self)
        name = b"" if self.prepare_threshold is None else await self._prepare(text, converter)
        self._known[sql] = known = Known(name, text, list(numbers), [PyFormat.TEXT] * len(numbers), converter)
        return known

    async def _prepare(self, text: bytes, converter: Transformer) -> bytes:
        """Prepare the statement and return its name, when the converter knows the columns that it returns."""
        if len(self._known) == MOST_STATEMENTS:
            self._known.clear()
            self.pgconn.send_query(b"DEALLOCATE ALL")
            await self._result()
        name = b"%d" % len(self._known)
        self.pgconn.send_prepare(name, text)
        await self._result()
        self.pgconn.send_describe_prepared(name)
        converter.set_pgresult(await self._result())
        return name

    async def _result(self) -> PGresult:
        return _good(await self.wait(execute(self.pgconn)))[-1]

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
