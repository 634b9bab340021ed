"""Run the steps of requests on PostgreSQL: by a few connections of the event loop, with the deadlines of requests."""

import asyncio
import math
import time
from contextlib import nullcontext
from select import POLLIN, poll
from typing import Any, NamedTuple, TypeVar

from django.db import IntegrityError, OperationalError
from django.db import connection as django_connection
from psycopg import AsyncConnection, Error, adapt, errors
from psycopg.abc import Transformer
from psycopg.adapt import PyFormat
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult

from database import statements
from database.errors import CLOSED, breaker, committing, connection_failed, shut_down, watch
from database.statements import Row, Statement, Steps
from petstore_site.errors import OverloadError
from petstore_site.serving import metrics
from petstore_site.serving.adapter import Queue

T = TypeVar("T")

CONNECTIONS_FOR_READS = 2  # for each thread: with one, reads that come together take more CPU to wait than to read
# Once a second all requests of a key wait until it is looked up, those in threads too: lists must not delay that.
CONNECTIONS_FOR_KEYS = 2
WAIT_SECONDS = 2.5  # that a request waits for a connection
# That a read then waits for the database, which may have to accept a connection first. It is longer than
# `statement_timeout`: only a read that gets no response at all is tried again, never one that is slow.
SECONDS = 3.5
WRITE_SECONDS = 4  # that a write waits; it may be done after that, so it is not tried again
WATCH_SECONDS = 0.05  # until it is seen that a deadline is over: a timer for each query takes a third of its time
MOST_STATEMENTS = 100  # that stay prepared: as many as psycopg keeps
NONE_FREE = "no connection was free in time"

# All statements here read by an index, in its order, whatever their parameters, so each is planned once. For a small
# table PostgreSQL plans to read and sort all of it, and keeps that plan while the table grows, until its statistics are
# renewed: up to a minute, or more during an import. A list of 100 by status it plans each time again.
PLANS = "-c enable_seqscan=off -c enable_bitmapscan=off -c enable_sort=off -c plan_cache_mode=force_generic_plan"


class PreparedStatement(NamedTuple):
    """A statement that was run before."""

    name: bytes  # empty where none is prepared (PgBouncer)
    text: bytes
    names: list[str]  # of its parameters, in the order of their numbers in the text
    formats: list[PyFormat]  # of its parameters: text, so that PostgreSQL knows their types from the statement
    converter: Transformer  # of parameters and rows


class Connection(AsyncConnection[Row]):
    """psycopg's connection, in autocommit, to which the event loop listens as long as it is open. One task uses it.

    psycopg begins and ends to listen for each query, with a timer, and its cursor finds out each time how to send it
    and what it returns: that is 15 % of a list. So it is asked as psycopg's own generators ask libpq.

    It has no deadline. The caller closes it when its own is over, or when anything fails.
    """

    _socket: int | None = None  # the descriptor to which the event loop listens
    _woken: asyncio.Future[None] | None = None  # what the query that runs waits for
    _was_woken = False  # whether it has waited before

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._statements: dict[str, PreparedStatement] = {}
        self._loop = asyncio.get_running_loop()
        self._poller = poll()
        self._poller.register(self.fileno(), POLLIN)

    @property
    def has_ended(self) -> bool:
        """Return whether an idle connection has ended: nothing else can be read from it."""
        return bool(self._poller.poll(0))

    async def rows(self, statement: Statement) -> list[Row]:
        """Run the statement and return its rows. Raises Django's errors, with psycopg's as their causes."""
        try:
            prepared = self._statements.get(statement.sql) or await self._learn(statement.sql)
            parameters = [statement.parameters[name] for name in prepared.names]
            values = prepared.converter.dump_sequence(parameters, prepared.formats)
            if prepared.name:
                self.pgconn.send_query_prepared(prepared.name, values)
            else:
                self.pgconn.send_query_params(prepared.text, values)
            result = await self._result()
            prepared.converter.set_pgresult(result, set_loaders=not prepared.name)
            rows: list[Row] = prepared.converter.load_rows(0, result.ntuples, tuple)
        except errors.IntegrityError as error:
            raise IntegrityError from error
        except Error as error:
            raise OperationalError from error
        prepared.converter.set_pgresult(None, set_loaders=False)  # what a list read is not kept
        return rows

    def wake(self) -> None:
        """Let the query look at the socket, whatever the event loop knows of it; without one, stop to listen."""
        if self._woken is None:
            self._stop()  # what can be read is the end of the connection: the next who wants to use it closes it
        elif not self._woken.done():
            self._woken.set_result(None)

    async def close(self) -> None:
        self._stop()
        await super().close()

    async def _learn(self, sql: str) -> PreparedStatement:
        """Know the statement, and forget the others if they would be too many."""
        if len(self._statements) >= MOST_STATEMENTS:
            self._statements.clear()
            if self.prepare_threshold is not None:
                self.pgconn.send_query_params(b"DEALLOCATE ALL", None)
                await self._result()
        numbers = _Numbers()
        text = (sql % numbers).encode()
        converter: Transformer = adapt.Transformer(self)
        name = b""
        if self.prepare_threshold is not None:
            name = b"%d" % len(self._statements)
            self.pgconn.send_prepare(name, text)
            await self._result()
            self.pgconn.send_describe_prepared(name)
            converter.set_pgresult(await self._result())  # it knows the columns then
        prepared = PreparedStatement(name, text, list(numbers), [PyFormat.TEXT] * len(numbers), converter)
        self._statements[sql] = prepared
        return prepared

    async def _result(self) -> PGresult:
        """Send the rest, and return the last result; raises psycopg's error for the first that failed."""
        results: list[PGresult] = []
        pgconn, self._was_woken = self.pgconn, False
        while pgconn.flush():  # it is longer than what the socket takes at once
            await self._until_ready(writes=True)
            pgconn.consume_input()
        while True:
            while pgconn.is_busy():
                await self._until_ready()
                pgconn.consume_input()
            result = pgconn.get_result()
            if result is None:
                break
            results.append(result)
        for result in results:  # the end of the connection comes after what it interrupts
            if result.status == ExecStatus.FATAL_ERROR:
                raise error_from_result(result)
        return results[-1]

    async def _until_ready(self, *, writes: bool = False) -> None:
        loop = self._loop
        if self._was_woken:
            self._stop()  # uvloop no longer listens to a socket that had an error, even if there is more to read
        if self._socket is None:
            self._socket = self.fileno()
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
            self._loop.remove_reader(self._socket)
            self._socket = None


class _Numbers(dict[str, str]):
    """By the name of a parameter, how PostgreSQL writes it: `$1`, `$2` and so on."""

    def __missing__(self, name: str) -> str:
        self[name] = number = f"${len(self) + 1}"
        return number


class Connections:
    """At most `most` connections, opened when they are needed."""

    def __init__(self, most: int, *, seconds: float = SECONDS, commits: bool = False) -> None:
        self._seconds = seconds  # that the database may take
        self._commits = commits  # whether what is sent to it can be a COMMIT
        self._room = asyncio.Semaphore(most)
        self._idle: list[Connection] = []
        self._deadlines: dict[Connection, float] = {}  # of those that are used
        self._is_watched = False
        self.queue = Queue(most)

    async def run(self, statement: Statement, latest: float = math.inf) -> list[Row]:
        """Return the rows of a statement, by the time `latest` of `time.perf_counter`.

        Raises `OverloadError` if no connection becomes free in time, and Django's `OperationalError`, whatever fails.
        """
        if latest <= time.perf_counter():
            raise OverloadError
        await self.queue.enter([self._room], WAIT_SECONDS, latest)
        begun = time.perf_counter()
        try:
            return await self._run(statement, min(begun + self._seconds, latest))
        finally:
            self.queue.learn(time.perf_counter() - begun)
            self._room.release()

    async def _run(self, statement: Statement, latest: float) -> list[Row]:
        used = await self._connection(latest)
        self._deadlines[used] = latest
        if not self._is_watched:
            self._watch()
        try:
            with committing() if statement.commits else nullcontext():
                rows = await used.rows(statement)
        except IntegrityError:
            self._idle.append(used)
            raise
        except BaseException:  # whatever failed: a plan that a migration made wrong stays wrong
            await used.close()
            raise
        finally:
            del self._deadlines[used]
        self._idle.append(used)
        return rows

    async def _connection(self, latest: float) -> Connection:
        """Return one that no one else uses."""
        while self._idle:
            kept = self._idle.pop()
            if not kept.has_ended:
                return kept
            await kept.close()
        if not breaker.allows():
            raise OperationalError(CLOSED)
        try:
            async with asyncio.timeout(latest - time.perf_counter()):  # psycopg's has none for the name of the server
                opened = await Connection.connect(autocommit=True, **_parameters())
        except (Error, TimeoutError) as error:
            breaker.fail()
            connection_failed.send(sender=None)
            raise OperationalError from error
        breaker.succeed()
        watch(opened)
        return opened

    def _watch(self) -> None:
        """Cut off the connections whose deadline is over, and look again as long as any is used.

        It is no timeout of the task: the query is to fail like one whose connection breaks, which `committing` knows.
        """
        self._is_watched = bool(self._deadlines)
        if self._is_watched:
            asyncio.get_running_loop().call_later(WATCH_SECONDS, self._watch)
        now = time.perf_counter()
        for used in [used for used, latest in self._deadlines.items() if latest <= now]:
            self._deadlines[used] = math.inf
            shut_down(used)
            used.wake()
            if self._commits:  # a read is tried again
                metrics.count_given_up("deadline")


def _parameters() -> dict[str, Any]:
    """Return those of Django's connections, without its classes."""
    parameters = django_connection.get_connection_params()
    kept = {name: value for name, value in parameters.items() if name not in {"cursor_factory", "context"}}
    return kept | ({"options": f"{kept['options']} {PLANS}"} if "options" in kept else {})


class OnPostgreSQL:
    """Connections for reads, for writes and for keys: a COMMIT that hangs takes none from the reads."""

    def __init__(self, threads: int) -> None:
        self._for_keys = Connections(CONNECTIONS_FOR_KEYS)
        self._to_read = Connections(CONNECTIONS_FOR_READS * threads)
        self._to_write = Connections(max(1, threads - 1), seconds=WRITE_SECONDS, commits=True)

    def admit(self, *, reads: bool) -> None:
        (self._to_read if reads else self._to_write).queue.admit()

    async def run(self, steps: Steps[T], latest: float, *, reads: bool = True) -> T:  # noqa: ARG002 - each step says it
        return await statements.run_async(
            steps, lambda step: (self._to_write if step.commits else self._to_read).run(step, latest)
        )

    async def run_for_key(self, steps: Steps[list[Row]]) -> list[Row]:
        try:
            return await statements.run_async(steps, self._for_keys.run)
        except OverloadError:  # threads may wait for the same key, and know only errors of the database
            raise OperationalError(NONE_FREE) from None
