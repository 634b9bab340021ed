"""Threads for Django, with a short queue before them and a deadline for each request, and threads for SQLite."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from contextvars import copy_context
from functools import partial
from traceback import clear_frames
from typing import Any, TypeVar

from django.db import DatabaseError, connection, connections
from rest_framework.permissions import SAFE_METHODS

from database import statements
from database.errors import cut_off
from database.statements import Steps
from petstore_site.configuration.database import SQLITE_LOCK_SECONDS
from petstore_site.errors import LateError, OverloadError
from petstore_site.serving import metrics
from petstore_site.serving.adapter import DEADLINE, Queue
from rest.request import Environ, Request

T = TypeVar("T")

Application = Callable[[Environ, Any], Iterable[bytes]]  # of WSGI
Leave = Callable[[], None]  # is called in the event loop when the thread is free, after the deadline too
Head = tuple[int, list[tuple[str, str]]]  # status and headers
Part = tuple[Head | None, bytes]  # of a response, the first one with its head
Send = Callable[..., Awaitable[None]]  # sends a part; `more` says whether another one follows

QUEUE_SECONDS = 4  # that a request waits for a thread, where it took longer than was foreseen
MOST_WAITING = 256  # requests
FORM_DEADLINE = 30  # instead of `DEADLINE` for forms of the back office: an import takes longer
OBSERVE_SECONDS = 0.1  # after which the queue has moved, and the metrics see it
STALL_SECONDS = 30  # that a client may leave a part of a response unread
BLOCK = 64 * 1024  # bytes that a part of a long response has at least
# Seconds after which the next page of the back office begins, if the one before it is not done. They are made one by
# one: together they would take longer, and lists that need the interpreter would wait for each.
PAGE_SECONDS = 1


class Threads:
    """A few threads, of which writing requests leave one to others."""

    def __init__(self, application: Application, threads: int) -> None:
        self._application = application
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="django")
        self._room = asyncio.Semaphore(threads)
        self._room_to_write = asyncio.Semaphore(max(1, threads - 1))
        self._room_for_page = asyncio.Semaphore(1)
        self._queue = Queue(threads)
        self._queue_of_pages = Queue(1)
        self._running = 0

    async def respond(self, request: Request, send: Send) -> None:
        """Send the response of the application; raises `OverloadError` or `LateError` if nothing was sent."""
        is_form = request.path.startswith("/admin/") and request.method == "POST"
        latest = request.started + (FORM_DEADLINE if is_form else DEADLINE)
        leave = await self._enter(request, latest)
        job = Job(self._application, request.environ(), send, leave, seconds=latest - time.perf_counter())
        self._pool.submit(job.run)
        await send(*await job.wait(), more=False)

    async def _enter(self, request: Request, latest: float) -> Leave:
        """Wait for a thread until `latest`."""
        writes = request.method not in SAFE_METHODS
        is_page = request.path.startswith("/admin/") and not writes
        queue = self._queue_of_pages if is_page else self._queue
        if latest <= time.perf_counter() or queue.waiting >= MOST_WAITING:
            raise OverloadError
        queue.admit()
        loop = asyncio.get_running_loop()
        loop.call_later(OBSERVE_SECONDS, self._observe)
        before = [self._room_to_write] if writes else [self._room_for_page] if is_page else []
        rooms = [*before, self._room]
        await queue.enter(rooms, QUEUE_SECONDS, latest)
        self._running += 1
        begun = time.monotonic()
        turn = ExitStack()
        turn.callback(lambda: queue.learn(time.monotonic() - begun))
        if is_page:
            rooms.remove(self._room_for_page)
            turn.callback(self._room_for_page.release)
            loop.call_later(PAGE_SECONDS, turn.close)

        def leave() -> None:
            turn.close()
            for room in rooms:
                room.release()
            self._running -= 1
            loop.call_later(OBSERVE_SECONDS, self._observe)

        return leave

    def _observe(self) -> None:
        metrics.observe_threads(in_use=self._running, waiting=self._queue.waiting + self._queue_of_pages.waiting)


class Job:
    """A request in a thread. All parts of its response but the last are sent from there, as the client takes them."""

    def __init__(self, application: Application, environ: Environ, send: Send, leave: Leave, *, seconds: float) -> None:
        """Begin to wait."""
        self._application = application
        self._environ = environ
        self._send = send
        self._leave = leave
        self._loop = asyncio.get_running_loop()
        self._last: asyncio.Future[Part] = self._loop.create_future()
        self._deadline = self._loop.call_later(seconds, self.give_up)
        self._head: Head | None = None
        self._databases: Sequence[Any] = ()
        self._given_up = False

    async def wait(self) -> Part:
        """Return the last part; raises `LateError` if no part has come after `seconds`."""
        try:
            return await self._last
        finally:
            self._deadline.cancel()

    def run(self) -> None:
        try:
            last = self._respond()
        except BaseException as error:  # noqa: BLE001 - it is raised where the request waits
            self._loop.call_soon_threadsafe(self._end, self._last.set_exception, error)
        else:
            self._loop.call_soon_threadsafe(self._end, self._last.set_result, last)

    def _end(self, pass_on: Callable[[Any], None], what: Any) -> None:
        self._leave()
        if not self._last.done():
            pass_on(what)

    def _respond(self) -> Part:
        self._databases = connections.all()
        with closing(self._environ["wsgi.input"]):
            response = self._application(self._environ, self._start)
            try:
                block = b""
                parts = iter(response)
                has_length = self._head and any(name.lower() == "content-length" for name, _ in self._head[1])
                if not has_length and (first := next(parts, b"")):
                    self._send_part(first)  # the rest is made while it is sent, and may take long
                for part in parts:
                    if len(block) >= BLOCK:
                        self._send_part(block)
                        block = b""
                    block += part
            finally:
                if hasattr(response, "close"):
                    response.close()
        return self._take_head(), block

    def give_up(self) -> None:
        """Free the thread from a database that does not respond; what it still returns is for nobody."""
        self._given_up = True
        if not self._last.done():
            self._last.set_exception(LateError())
        for database in self._databases:
            cut_off(database)

    def _start(self, status: str, headers: list[tuple[str, str]], _error: Any = None) -> None:
        self._head = int(status[:3]), headers

    def _take_head(self) -> Head | None:
        head, self._head = self._head, None
        return head

    def _send_part(self, block: bytes) -> None:
        if self._given_up:
            raise LateError
        asyncio.run_coroutine_threadsafe(self._pass_on(self._take_head(), block), self._loop).result(STALL_SECONDS)

    async def _pass_on(self, head: Head | None, block: bytes) -> None:
        self._deadline.cancel()
        await self._send(head, block, more=True)


class OnSQLite:
    """Threads to read and threads to write: those that wait for SQLite's one writer take none from the reads."""

    def __init__(self, threads: int) -> None:
        self._to_read, self._to_write = ThreadsOfSQLite(threads, _run), ThreadsOfSQLite(threads, _write)

    def admit(self, *, reads: bool) -> None:
        (self._to_read if reads else self._to_write).queue.admit()

    async def run(self, steps: Steps[T], latest: float = math.inf, *, reads: bool = True) -> T:
        """Run the steps in a thread.

        Raises `OverloadError` if no thread becomes free in time, and Django's `DatabaseError`.
        """
        returned: T = await (self._to_read if reads else self._to_write).run(steps, latest)
        return returned

    run_for_key = run


class ThreadsOfSQLite:
    """Threads with a connection each, which run steps by a time."""

    def __init__(self, threads: int, run: Callable[[Steps[Any], float], Any]) -> None:
        self._run = run
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="sqlite")
        self._room = asyncio.Semaphore(threads)
        self.queue = Queue(threads)

    async def run(self, steps: Steps[Any], latest: float) -> Any:
        if latest <= time.perf_counter():
            raise OverloadError
        await self.queue.enter([self._room], QUEUE_SECONDS, latest)
        begun = time.perf_counter()
        run = partial(copy_context().run, self._run, steps, latest)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, run)
        finally:
            self.queue.learn(time.perf_counter() - begun)
            self._room.release()


def _run(steps: Steps[T], _latest: float) -> T:
    """Run the steps. If they fail, free their cursor here.

    The garbage collector would do so in the event loop, and there wait with all threads until the connection is free.
    """
    try:
        return statements.run(steps)
    except DatabaseError as error:
        clear_frames(error.__traceback__)
        raise


def _write(steps: Steps[T], latest: float) -> T:
    """Run the steps, which wait for SQLite's lock until then at most."""
    seconds = max(0.0, min(SQLITE_LOCK_SECONDS, latest - time.perf_counter()))
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA busy_timeout = {seconds * 1000:.0f}")
    return _run(steps, latest)
