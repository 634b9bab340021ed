"""Call a WSGI application in a few threads: with a short queue before them, and a deadline for each request."""

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, closing
from typing import Any, Protocol

from django.db import connections
from rest_framework.permissions import SAFE_METHODS

from petstore_site import metrics
from petstore_site.door.environ import Environ
from petstore_site.door.queue import BusyError, Queue
from petstore_site.observing import STARTED
from rest.database_errors import cut_off

Head = tuple[int, list[tuple[str, str]]]
"""Status and headers."""


class Send(Protocol):
    """Sends a response in parts, the first with its head."""

    async def __call__(self, head: Head | None, body: bytes, /, *, more: bool) -> None:
        """Send a part; `more` says whether another one follows."""


QUEUE_SECONDS = 1.5
"""How long a request waits for a thread, where it took longer than was foreseen."""

MOST_WAITING = 256
"""Requests."""

DEADLINE = 6.5
"""Seconds after which a request that has not begun its response is given up."""

FORM_DEADLINE = 30
"""The same for forms of the back office: an import takes longer."""

STALL_SECONDS = 30
"""How long a client may leave a part of a response unread."""

BLOCK = 64 * 1024
"""Bytes that a part of a long response has at least."""


class LateError(Exception):
    """The deadline passed: the outcome of the request is not known."""


class Threads:
    """A few threads, of which writing requests leave one to others."""

    def __init__(self, application: Callable[..., Iterable[bytes]], threads: int) -> None:
        self._application = application
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="django")
        self._room = asyncio.Semaphore(threads)
        self._room_to_write = asyncio.Semaphore(max(1, threads - 1))
        self._queue = Queue(threads)
        self._running = 0

    async def respond(self, environ: Environ, send: Send) -> None:
        """Send the response of the application; raises `BusyError` or `LateError` if nothing was sent."""
        loop = asyncio.get_running_loop()
        leave = await self._enter(environ)
        job = Job(self._application, environ, loop, send)
        returned = loop.run_in_executor(self._pool, job.run)
        returned.add_done_callback(leave)
        left = _deadline(environ) - (time.perf_counter() - environ[STARTED])
        waited_for: set[asyncio.Future[Any]] = {returned, job.sending}
        done, _ = await asyncio.wait(waited_for, timeout=max(left, 0), return_when=asyncio.FIRST_COMPLETED)
        if not done:
            job.give_up()
            raise LateError
        await send(*await returned, more=False)

    async def _enter(self, environ: Environ) -> Callable[[asyncio.Future[Any]], None]:
        """Wait for a thread; return what is to be called when the request is done."""
        if self._queue.waiting >= MOST_WAITING:
            raise BusyError
        self._queue.admit()
        rooms = [self._room] if environ["REQUEST_METHOD"] in SAFE_METHODS else [self._room_to_write, self._room]
        try:
            with self._queue:
                async with asyncio.timeout(QUEUE_SECONDS), AsyncExitStack() as entered:
                    for room in rooms:
                        await entered.enter_async_context(room)
                    entered.pop_all()
        except TimeoutError:
            raise BusyError from None
        self._running += 1
        self._observe()
        begun = time.monotonic()

        def leave(done: asyncio.Future[Any]) -> None:
            self._queue.learn(time.monotonic() - begun)
            for room in rooms:
                room.release()
            self._running -= 1
            self._observe()
            if not done.cancelled():
                done.exception()  # no one else asks for it after a deadline

        return leave

    def _observe(self) -> None:
        metrics.observe_threads(in_use=self._running, waiting=self._queue.waiting)


def _deadline(environ: Environ) -> float:
    """Return the seconds that a request has from its arrival on."""
    is_form = environ["PATH_INFO"].startswith("/admin/") and environ["REQUEST_METHOD"] == "POST"
    return FORM_DEADLINE if is_form else DEADLINE


class Job:
    """A request in a thread. All parts of its response but the last are sent from there, as the client takes them."""

    def __init__(
        self, application: Callable[..., Iterable[bytes]], environ: Environ, loop: asyncio.AbstractEventLoop, send: Send
    ) -> None:
        self.sending: asyncio.Future[None] = loop.create_future()
        self._application = application
        self._environ = environ
        self._loop = loop
        self._send = send
        self._head: Head | None = None
        self._databases: Sequence[Any] = ()
        self._given_up = False

    def run(self) -> tuple[Head | None, bytes]:
        """Call the application in this thread, and return the last part, with the head if it is the first too."""
        self._databases = connections.all()
        with closing(self._environ["wsgi.input"]):
            response = self._application(self._environ, self._start)
            try:
                block = b""
                for part in response:
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
        if not self.sending.done():
            self.sending.set_result(None)
        await self._send(head, block, more=True)
