"""The one place where every request comes in: it responds itself, or has Django respond in a thread."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any

from django.conf import settings
from django.db import connection
from django.http import HttpRequest, HttpResponse

from changes.acting import begin_request
from petstore_site.api import finished, with_cors
from petstore_site.door.adapter import Adapter
from petstore_site.door.bodies import Body, Receive
from petstore_site.door.threads import Head, OnSQLite, Threads
from petstore_site.public import errors
from petstore_site.public.errors import BusyError, LateError
from petstore_site.public.health import livez, readyz
from petstore_site.requests import metrics
from petstore_site.requests.access import observe, record_of_django
from rest.errors import APIError, ErrorCode, error_response
from rest.limits import Quota
from rest.request import DjangoRequest, Environ, Request, Route, Scope
from rest.responses import Finish, Response, fixed_headers
from rest.routes import is_api

logger = logging.getLogger(__name__)

Application = Callable[[Environ, Any], Iterable[bytes]]
"""Of WSGI."""

Send = Callable[[dict[str, Any]], Awaitable[None]]
View = Callable[[HttpRequest], HttpResponse]

REJECTION_SECONDS = 0.05
"""How long a rejection waits. Callers that come back at once would take the time from those that are served."""

CLOSE = ("Connection", "close")
"""What announces that the rest of a body will not be read."""


class Door:
    """An ASGI application in front of a WSGI application."""

    def __init__(self, application: Application, threads: int) -> None:
        self._threads = Threads(application, threads)
        self._adapter = Adapter(_driver(threads)) if settings.API_IN_EVENT_LOOP else None
        self._finish = Finish()
        self._fixed = {scheme: fixed_headers(scheme) for scheme in ("http", "https")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.respond(Request(scope), receive, send)

    async def respond(self, request: Request, receive: Receive, send: Send) -> None:
        body = Body(request, receive)
        response = await self._respond(request, body)
        if response is None:
            response = await self._respond_in_thread(request, body, send)
        if response:
            await send(_start(response.status, response.headers.items(), closes=body.ends_connection))
            await send({"type": "http.response.body", "body": response.body})

    async def _respond(self, request: Request, body: Body) -> Response | None:
        """Return the response, or None: Django is to respond in a thread.

        Balancers send an IP address as Host to `/livez` and `/readyz`, so nothing looks at it there.
        """
        if request.path == "/livez":
            return self._make(request, livez, route="livez")
        if request.path == "/readyz":  # not in one of the threads that may all hang
            return await asyncio.to_thread(self._make, request, readyz, route="readyz")
        try:
            return await self._adapter.respond(request, body.read) if self._adapter else None
        except Exception as error:  # noqa: BLE001 - a bug, or a database whose failure stays
            return await self._reject(request, error)

    async def _respond_in_thread(self, request: Request, body: Body, send: Send) -> Response | None:
        """Send the response of Django, or return the one to a request that it does not get, or is late with."""

        async def send_part(head: Head | None, block: bytes, *, more: bool) -> None:
            if head:
                await send(_start(*head, closes=body.ends_connection))
            await send({"type": "http.response.body", "body": block, "more_body": more})

        try:
            await body.read()
            await self._threads.respond(request, send_part)
        except (APIError, BusyError, LateError) as error:
            return await self._reject(request, error)
        return None

    async def _reject(self, request: Request, error: Exception) -> Response:
        if isinstance(error, BusyError):
            await asyncio.sleep(REJECTION_SECONDS)
            metrics.count_given_up("no_thread")
        elif isinstance(error, LateError):
            metrics.count_given_up("deadline")
        if request.input and not isinstance(error, LateError):  # the thread still has it
            request.input.close()
        return self._make(request, partial(_rejected, error=error), observed=not isinstance(error, LateError))

    def _make(self, request: Request, view: View, *, route: str = "", observed: bool = True) -> Response:
        """Return a response of our own, and observe the request unless a thread does."""
        begin_request(request.id)
        request.route = Route(route) if route else request.route
        request.quota = request.quota or Quota()  # the event loop must not wait for the cache
        http_request = DjangoRequest(request.environ())
        if is_api(request.path):
            response = with_cors(lambda http: finished(self._finish, request, view(http)))(http_request)
        else:
            response = view(http_request)
            ours = {
                "Content-Length": str(len(response.content)),
                **self._fixed[request.scheme],
                "X-Request-ID": request.id,
            }
            for name, value in ours.items():
                response.headers[name] = value
            if request.method == "HEAD":
                response.content = b""
        if observed:
            observe(record_of_django(request, response))
        return Response(response.status_code, dict(response.headers), response.content)


def _driver(threads: int) -> Any:
    if connection.vendor != "postgresql":
        return OnSQLite(threads)
    from petstore_site.door.postgresql import OnPostgreSQL  # noqa: PLC0415 - with SQLite, psycopg is never loaded

    return OnPostgreSQL(threads)


def _rejected(request: HttpRequest, error: Exception) -> HttpResponse:
    response = errors.for_exception(request, error)
    if response is None:
        logger.error("Internal error in the event loop", exc_info=error)
        response = error_response(ErrorCode.INTERNAL_ERROR)
    return response


def _start(status: int, headers: Iterable[tuple[str, str]], *, closes: bool) -> dict[str, Any]:
    sent = [*headers, CLOSE] if closes else headers
    encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in sent]
    return {"type": "http.response.start", "status": status, "headers": encoded}
