"""The one place where every request comes in: it responds itself, or has Django respond in a thread."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any

from django.conf import settings
from django.db import connection
from django.http import HttpRequest, HttpResponse

from changes.acting import begin_request
from database.errors import BROKEN
from petstore_site.api import finished, with_cors
from petstore_site.door.adapter import Adapter, UnknownOutcomeError
from petstore_site.door.bodies import Receive, read_body
from petstore_site.door.drivers import OnPostgreSQL, OnSQLite
from petstore_site.door.environ import Scope, environ_of
from petstore_site.door.queue import BusyError
from petstore_site.door.threads import Head, LateError, Threads
from petstore_site.public import error_pages
from petstore_site.public.health import livez, readyz
from petstore_site.requests import metrics
from petstore_site.requests.access import observe, record_of
from petstore_site.requests.request import Request
from rest.errors import APIError, ErrorCode, error_response
from rest.hosts import Environ
from rest.limits import Counted
from rest.requests import STARTED, request_of
from rest.responses import Finish, Response, fixed_headers
from rest.routes import Route, is_api

logger = logging.getLogger(__name__)

Send = Callable[[dict[str, Any]], Awaitable[None]]
View = Callable[[HttpRequest], HttpResponse]

REJECTION_SECONDS = 0.05
"""How long a rejection waits. Callers that come back at once would take the time from those that are served."""

CLOSE = ("Connection", "close")
"""What announces that the rest of a body will not be read."""


class Body:
    """The body of a request, which is read when it is needed."""

    def __init__(self, environ: Environ, receive: Receive) -> None:
        """Take what receives the parts of the body."""
        self._environ = environ
        self._receive = receive
        self._is_read = False
        chunked, length = "HTTP_TRANSFER_ENCODING" in environ, int(environ.get("CONTENT_LENGTH") or 0)
        self.is_whole = not chunked and not length
        # A client that waits for 100 Continue does not send what was rejected.
        self._is_short = length <= settings.API_BODY_LIMIT and "HTTP_EXPECT" not in environ

    async def read(self) -> None:
        """Put the body into the environ; raises `APIError` for the form of a page that is incomplete or too large."""
        if self._is_read or self.is_whole:
            return
        self._is_read = True
        asked = time.perf_counter()
        self.is_whole = await read_body(self._environ, self._receive)
        self._environ[STARTED] += time.perf_counter() - asked  # a slow client takes its own time, none of ours

    @property
    def ends_connection(self) -> bool:
        """Whether a part of it will never be read. What is short the server drops, to keep the connection."""
        return not self.is_whole and (self._is_read or not self._is_short)


class Door:
    """An ASGI application in front of a WSGI application."""

    def __init__(self, application: Callable[..., Iterable[bytes]], threads: int) -> None:
        """Take the application behind, and in how many threads it may run."""
        self._threads = Threads(application, threads)
        self._adapter: Adapter | None = None
        if settings.API_IN_EVENT_LOOP:
            self._adapter = Adapter((OnPostgreSQL if connection.vendor == "postgresql" else OnSQLite)(threads))
        self._finish = Finish()
        self._fixed = {secure: fixed_headers(secure=secure) for secure in (False, True)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to a request."""
        environ = environ_of(scope)
        environ[STARTED] = time.perf_counter()
        body = Body(environ, receive)
        response = await self._respond(environ, body)
        if response:
            await _send(send, response, closes=body.ends_connection)
        else:
            await self._respond_in_thread(environ, body, send)

    async def _respond(self, environ: Environ, body: Body) -> Response | None:
        """Return the response, or None: Django is to respond in a thread.

        Balancers send an IP address as Host to `/livez` and `/readyz`, so nothing looks at it there.
        """
        if environ["PATH_INFO"] == "/livez":
            return self._make(environ, livez, route="livez")
        if environ["PATH_INFO"] == "/readyz":  # not in one of the threads that may all hang
            return await asyncio.to_thread(self._make, environ, readyz, route="readyz")
        return await self._respond_in_loop(self._adapter, environ, body) if self._adapter else None

    async def _respond_in_loop(self, adapter: Adapter, environ: Environ, body: Body) -> Response | None:
        failed: Exception
        try:
            return await adapter.respond(environ, body.read)
        except BusyError:
            return await self._busy(environ)
        except UnknownOutcomeError as error:
            logger.error("Database error in a request that may be done: %s", error)  # noqa: TRY400
            return self._make(environ, _may_be_done)
        except Exception as error:  # noqa: BLE001 - a bug, or a database whose failure stays
            failed = error
        return self._make(environ, lambda request: _failed(request, failed))

    async def _respond_in_thread(self, environ: Environ, body: Body, send: Send) -> None:
        async def send_part(head: Head | None, block: bytes, *, more: bool) -> None:
            if head:
                await send(_start(head[0], [*head[1], CLOSE] if body.ends_connection else head[1]))
            await send({"type": "http.response.body", "body": block, "more_body": more})

        try:
            await body.read()
            await self._threads.respond(environ, send_part)
        except APIError as error:
            environ["wsgi.input"].close()
            rejected = self._make(environ, partial(error_pages.rejected, error=error))
            await _send(send, rejected, closes=True)
        except BusyError:
            environ["wsgi.input"].close()
            await _send(send, await self._busy(environ), closes=body.ends_connection)
        except LateError:
            metrics.count_given_up("deadline")
            late = self._make(environ, _may_be_done, observed=False)
            logger.warning("No response in time. The caller got a 503, the thread its database connection closed.")
            await _send(send, late, closes=body.ends_connection)

    async def _busy(self, environ: Environ) -> Response:
        await asyncio.sleep(REJECTION_SECONDS)
        metrics.count_given_up("no_thread")
        return self._make(environ, lambda request: error_pages.unavailable(request, 1))

    def _make(self, environ: Environ, view: View, *, route: str = "", observed: bool = True) -> Response:
        """Return a response of our own, and observe the request unless a thread does."""
        asked = request_of(environ)
        begin_request(asked.id)
        asked.route = Route(route) if route else asked.route
        asked.counted = asked.counted or Counted()  # the event loop must not wait for the cache
        if is_api(asked.path):
            response = with_cors(lambda request: finished(self._finish, asked, view(request)))(Request(environ))
        else:
            response = self._finished_page(asked.method, Request(environ), view)
            response.headers["X-Request-ID"] = asked.id
        if observed:
            code, message = getattr(response, "error_code", ""), getattr(response, "error_message", "")
            observe(record_of(asked, response.status_code, code, message))
        return Response(response.status_code, dict(response.headers), response.content)

    def _finished_page(self, method: str, request: HttpRequest, view: View) -> HttpResponse:
        response = view(request)
        response.headers["Content-Length"] = str(len(response.content))
        for name, value in self._fixed[request.is_secure()].items():
            response.headers[name] = value
        if method == "HEAD":
            response.content = b""
        return response


def _may_be_done(request: HttpRequest) -> HttpResponse:
    return error_pages.unavailable(request, BROKEN.retry_after, may_be_done=True)


def _failed(request: HttpRequest, error: Exception) -> HttpResponse:
    response = error_pages.for_database_error(request, error)
    if response is None:
        logger.error("Internal error in the event loop", exc_info=error)
        response = error_response(ErrorCode.INTERNAL_ERROR)
    return response


async def _send(send: Send, response: Response, *, closes: bool) -> None:
    headers = response.headers.items()
    await send(_start(response.status, [*headers, CLOSE] if closes else headers))
    await send({"type": "http.response.body", "body": response.body})


def _start(status: int, headers: Iterable[tuple[str, str]]) -> dict[str, Any]:
    encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    return {"type": "http.response.start", "status": status, "headers": encoded}
