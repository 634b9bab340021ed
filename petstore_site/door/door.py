"""The one place where every request comes in: it responds itself, or has Django respond in a thread."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.db import OperationalError, connection
from django.http import HttpRequest, HttpResponse

from history.acting import begin_request
from petstore_site import metrics
from petstore_site.api import finish, fixed_headers
from petstore_site.apikeys import lookup
from petstore_site.apikeys.authentication import digest_of
from petstore_site.apikeys.lookup import CachedKey
from petstore_site.door.bodies import Receive, read_body
from petstore_site.door.environ import Environ, Scope, environ_of
from petstore_site.door.queue import BusyError
from petstore_site.door.threads import DEADLINE, Head, LateError, Threads
from petstore_site.observing import STARTED, Later, Seen, observe, request_id
from petstore_site.plain.additions import PlainAdditions, UnknownOutcomeError
from petstore_site.plain.reads import PlainReads
from petstore_site.plain.requests import Response
from petstore_site.public import error_pages
from petstore_site.public.health import livez, readyz
from petstore_site.request import Request
from rest.database_errors import BROKEN
from rest.errors import CODES, APIError, error_response
from rest.limits import Counted, count, waits_for_cache
from rest.statements import Row, Steps

if TYPE_CHECKING:
    from petstore_site.door.connections import Connections  # with SQLite, psycopg is never loaded

logger = logging.getLogger(__name__)

Send = Callable[[dict[str, Any]], Awaitable[None]]
View = Callable[[HttpRequest], HttpResponse]

ADDITION_SECONDS = 4
"""How long an addition waits for the database. It may be done after that, so it is not tried again."""

CONNECTIONS_FOR_READS = 2
"""For each thread. With one, reads that come together wait for each other, which takes more CPU than they do."""

CONNECTIONS_FOR_KEYS = 2
"""Once a second all requests of a key wait until it is looked up, those in threads too: lists must not delay that."""

REJECTION_SECONDS = 0.05
"""How long a rejection waits. Callers that come back at once would take the time from those that are served."""

CLOSE = ("Connection", "close")
"""What announces that the rest of a body will not be read."""


class InLoop:
    """Wait in the event loop, with its own connections."""

    def __init__(self, for_rows: "Connections", for_keys: "Connections") -> None:
        self._run = for_rows.run
        self._admit = for_rows.queue.admit
        self._for_keys = for_keys
        self.observe = Later().observe

    async def find_key(self, header: str) -> CachedKey | None:
        """Return the key that the header has; raises `BusyError` if the rows would take too long."""
        self._admit()
        digest = digest_of(header)
        return await lookup.find_async(digest, self._run_for_key) if digest else None

    async def _run_for_key(self, steps: Steps) -> list[Row]:
        try:
            return await self._for_keys.run(steps)
        except BusyError as error:  # threads may wait for the same key, and know only errors of the database
            raise OperationalError from error

    async def count(self, key: CachedKey) -> Counted:
        """Count a request; a cache that is another process is asked in a thread."""
        return await asyncio.to_thread(count, key) if waits_for_cache(key) else count(key)

    async def run(self, steps: Steps, environ: Environ) -> list[Row]:
        """Return the rows."""
        return await self._run(steps, environ[STARTED] + DEADLINE)


class Door:
    """An ASGI application in front of a WSGI application."""

    def __init__(self, application: Callable[..., Iterable[bytes]], threads: int) -> None:
        """Take the application behind, and in how many threads it may run."""
        self._threads = Threads(application, threads)
        self._plain_reads: PlainReads | None = None
        self._plain_additions: PlainAdditions | None = None
        if settings.PLAIN_READS and connection.vendor == "postgresql":
            self._plain_reads, self._plain_additions = _plain_requests(threads)
        self._fixed = {secure: fixed_headers(secure=secure) for secure in (False, True)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to a request."""
        environ = environ_of(scope)
        environ[STARTED] = time.perf_counter()
        try:
            response = await self._respond(environ)
        except BusyError:
            response = await self._busy(environ)
        if response:
            await _send(send, response)
        else:
            await self._respond_to_body(environ, receive, send)

    async def _respond(self, environ: Environ) -> Response | None:
        if environ["PATH_INFO"] == "/livez":
            return self._make(environ, _checked(livez), route="livez")
        if environ["PATH_INFO"] == "/readyz":  # not in one of the threads that may all hang
            return await asyncio.to_thread(self._make, environ, _checked(readyz), route="readyz")
        return await self._plain_reads.respond(environ) if self._plain_reads else None

    async def _respond_to_body(self, environ: Environ, receive: Receive, send: Send) -> None:
        """Read the body of the request; add an animal, or leave the request to Django."""
        whole = False

        async def send_part(head: Head | None, body: bytes, *, more: bool) -> None:
            if head:
                await send(_start(head[0], head[1] if whole else [*head[1], CLOSE]))
            await send({"type": "http.response.body", "body": body, "more_body": more})

        try:
            asked = time.perf_counter()
            whole = await read_body(environ, receive)
            environ[STARTED] += time.perf_counter() - asked  # a slow client takes its own time, none of ours
            if whole and self._plain_additions and (added := await self._plain_additions.respond(environ)):
                await _send(send, added)
                return
            await self._threads.respond(environ, send_part)
        except APIError as error:
            environ["wsgi.input"].close()
            rejected = error_response(CODES[str(error.get_codes())], str(error.detail))
            status, headers, body = self._make(environ, lambda _request: rejected)
            await _send(send, (status, headers | dict([CLOSE]), body))
        except BusyError:
            environ["wsgi.input"].close()
            await _send(send, await self._busy(environ))
        except UnknownOutcomeError as error:
            await _send(send, self._make(environ, _may_be_done, route="pet-list", key=error.key))
        except LateError:
            metrics.count_given_up("deadline")
            late = self._make(environ, _may_be_done, seen=False)
            logger.warning("No response in time. The caller got a 503, the thread its database connection closed.")
            await _send(send, late)

    async def _busy(self, environ: Environ) -> Response:
        await asyncio.sleep(REJECTION_SECONDS)
        metrics.count_given_up("no_thread")
        return self._make(environ, lambda request: error_pages.unavailable(request, 1))

    def _make(
        self, environ: Environ, view: View, *, route: str = "", key: CachedKey | None = None, seen: bool = True
    ) -> Response:
        """Return a response of our own, and say what became of the request unless a thread says it."""
        name = environ["HTTP_X_REQUEST_ID"] = request_id(environ.get("HTTP_X_REQUEST_ID", ""))
        begin_request(name)
        request = Request(environ)
        response = finish(request, view(request))
        headers = {
            "Content-Length": str(len(response.content)),
            **response.headers,
            **self._fixed[request.is_secure()],
            "X-Request-ID": name,
        }
        seconds = time.perf_counter() - environ[STARTED]
        code, message = getattr(response, "error_code", ""), getattr(response, "error_message", "")
        if seen:
            method, status = str(request.method), response.status_code
            observe(Seen(name, method, request.path, route, status, seconds, code, message, key, key))
        return response.status_code, headers, response.content


def _checked(view: View) -> View:
    """Return the view with a check of the host before it."""

    def check(request: HttpRequest) -> HttpResponse:
        try:
            request.get_host()
        except DisallowedHost as error:
            return error_pages.bad_request(request, error)
        return view(request)

    return check


def _may_be_done(request: HttpRequest) -> HttpResponse:
    return error_pages.unavailable(request, BROKEN.retry_after, may_be_done=True)


def _plain_requests(threads: int) -> tuple[PlainReads, PlainAdditions]:
    """Return what responds to plain requests in the event loop.

    Additions have connections of their own: a COMMIT that hangs takes none from the reads.
    """
    from petstore_site.door.connections import Connections  # noqa: PLC0415 - with SQLite, psycopg is never loaded

    for_keys = Connections(CONNECTIONS_FOR_KEYS)
    to_read = Connections(CONNECTIONS_FOR_READS * threads)
    to_add = Connections(max(1, threads - 1), seconds=ADDITION_SECONDS, commits=True)
    return PlainReads(InLoop(to_read, for_keys)), PlainAdditions(InLoop(to_add, for_keys))


async def _send(send: Send, response: Response) -> None:
    status, headers, body = response
    await send(_start(status, headers.items()))
    await send({"type": "http.response.body", "body": body})


def _start(status: int, headers: Iterable[tuple[str, str]]) -> dict[str, Any]:
    encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    return {"type": "http.response.start", "status": status, "headers": encoded}
