"""The one place where every request comes in: it responds itself, or has Django respond in a thread.

The body is read before a thread takes the request, so that a slow client holds none.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from functools import partial
from io import BytesIO
from tempfile import SpooledTemporaryFile
from typing import IO, Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from history.acting import begin_request
from petstore_site import errors
from petstore_site.errors import LateError, OverloadError
from petstore_site.serving import metrics
from petstore_site.serving.access import observe, record_of_django
from petstore_site.serving.adapter import Adapter
from petstore_site.serving.api import finished, with_cors
from petstore_site.serving.health import livez, readyz
from petstore_site.serving.threads import Application, Head, Threads
from rest.errors import APIError, ErrorCode, error_response
from rest.limits import Quota
from rest.request import DjangoRequest, Request, Route, Scope
from rest.responses import Finish, Response, fixed_headers

logger = logging.getLogger(__name__)

Send = Callable[[dict[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[dict[str, Any]]]
View = Callable[[HttpRequest], HttpResponse]

REJECTION_SECONDS = 0.05  # before a rejection: callers that come back at once take the time of those that are served
PART_SECONDS = 10  # for the next part of a body
TOTAL_SECONDS = 30  # for all of it; from a proxy that keeps bodies until they are whole, it comes at once
LARGEST_FORM = 32 * 1024 * 1024  # bytes, with its files; the import of files has a lower limit of its own
IN_MEMORY = 256 * 1024  # bytes of a form; those of a longer one go to a temporary file
CLOSE = ("Connection", "close")  # announces that the rest of a body will not be read


class UnreadableBody(BytesIO):
    """A body whose chunks are malformed: it fails as a server's input does."""

    def read(self, _size: int | None = -1, /) -> bytes:
        raise OSError("The chunks of the body are malformed.")


class Body:
    """The body of a request, which is read when it is needed."""

    def __init__(self, request: Request, receive: Receive) -> None:
        self._request = request
        self._receive = receive
        self._is_read = False
        self._chunked = "transfer-encoding" in request.headers
        self._length = int(request.headers.get("content-length") or 0)
        self.is_whole = not self._chunked and not self._length

    async def read(self) -> None:
        """Read the body into the request, once; `is_whole` is whether that is all of it.

        Under /v1, one longer than `settings.API_BODY_LIMIT` is left unread, or read one byte further if it comes in
        chunks. One that is incomplete stays so: the view says what is wrong with it, after the key was checked.
        Raises `APIError` for the form of a page that is incomplete or too large, and `OSError` if the disk is full.
        """
        if self._is_read or self.is_whole:
            return
        self._is_read = True
        began = time.perf_counter()
        if not self._request.is_api:
            await _read_form(self._request, self._receive, self._length)
            self.is_whole = True
        elif self._chunked or self._length <= settings.API_BODY_LIMIT:
            self._request.input = body = BytesIO()
            self.is_whole = await _copy(self._receive, body, most=settings.API_BODY_LIMIT)
            if self._chunked and not self.is_whole and body.tell() <= settings.API_BODY_LIMIT:
                self._request.input = UnreadableBody()
            body.seek(0)
        self._request.started += time.perf_counter() - began  # a slow client takes its own time, none of ours

    @property
    def ends_connection(self) -> bool:
        """Whether a part of it will never be read. What is short the server drops, to keep the connection.

        A client that waits for 100 Continue does not send what was rejected.
        """
        if self.is_whole:
            return False
        is_short = self._length <= settings.API_BODY_LIMIT and "expect" not in self._request.headers
        return self._is_read or not is_short


async def _read_form(request: Request, receive: Receive, length: int) -> None:
    body = request.input = SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - it lasts as long as the request
    complete = length <= LARGEST_FORM and await _copy(receive, body, most=LARGEST_FORM)
    if length > LARGEST_FORM or body.tell() > LARGEST_FORM:
        most = f"Files here can have at most {settings.LARGEST_UPLOAD // 1024**2} MB."
        message = f"{most} Go back and send a smaller file, or ask an operator to import it."
        raise APIError(ErrorCode.BODY_TOO_LARGE, message)
    if not complete:
        raise APIError(ErrorCode.BAD_REQUEST, "The form did not arrive complete. Go back and send it again.")
    request.headers["content-length"] = str(body.tell())
    body.seek(0)


async def _copy(receive: Receive, body: IO[bytes], *, most: int) -> bool:
    """Copy a body to its end, to more than `most` bytes, or until it is too slow; return whether that is all of it."""
    now = asyncio.get_running_loop().time
    latest = now() + TOTAL_SECONDS
    more = True
    try:
        async with asyncio.timeout_at(latest) as deadline:
            while more and body.tell() <= most:
                deadline.reschedule(min(now() + PART_SECONDS, latest))
                message = await receive()
                if message["type"] == "http.disconnect":
                    return False
                body.write(message["body"])
                more = message["more_body"]
    except TimeoutError:
        return False
    return not more


class Door:
    """An ASGI application in front of a WSGI application. Without an adapter, that responds under /v1 too."""

    def __init__(self, application: Application, threads: int, adapter: Adapter | None = None) -> None:
        self._threads = Threads(application, threads)
        self._adapter = adapter
        self._finish = Finish()
        self._fixed = {scheme: fixed_headers(scheme) for scheme in ("http", "https")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def part() -> dict[str, Any]:
            """Return the next part of the body. What the guard cuts ends as if the client had gone."""
            message = await receive()
            return {"type": "http.disconnect"} if scope.get("state", {}).get("is_cut") else message

        await self.respond(Request(scope), part, send)

    async def respond(self, request: Request, receive: Receive, send: Send) -> None:
        body = Body(request, receive)
        try:
            response = await self._respond(request, body)
            if response is None:
                await body.read()
        except Exception as error:  # noqa: BLE001 - a bug, a database whose failure stays, or a body
            response = await self._reject(request, error)
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
        return await self._adapter.respond(request, body.read) if self._adapter else None

    async def _respond_in_thread(self, request: Request, body: Body, send: Send) -> Response | None:
        """Send the response of Django, or return the one to a request that it does not get, or is late with."""
        has_begun = False

        async def send_part(head: Head | None, block: bytes, *, more: bool) -> None:
            nonlocal has_begun
            if head:
                has_begun = True
                await send(_start(*head, closes=body.ends_connection))
            await send({"type": "http.response.body", "body": block, "more_body": more})

        try:
            await self._threads.respond(request, send_part)
        except Exception as error:
            if has_begun:
                raise
            return await self._reject(request, error)
        return None

    async def _reject(self, request: Request, error: Exception) -> Response:
        if isinstance(error, OverloadError):
            await asyncio.sleep(REJECTION_SECONDS)
            metrics.count_given_up("no_thread")
        elif isinstance(error, LateError):
            metrics.count_given_up("deadline")
        if request.input and not isinstance(error, LateError):  # the thread still has it
            with suppress(OSError):  # on a full disk it tries once more to write what is left
                request.input.close()
        return self._make(request, partial(_rejected, error=error), observed=not isinstance(error, LateError))

    def _make(self, request: Request, view: View, *, route: str = "", observed: bool = True) -> Response:
        """Return a response of our own, and observe the request unless a thread does."""
        begin_request(request.id)
        request.route = Route(route) if route else request.route
        request.quota = request.quota or Quota()  # the event loop must not wait for the cache
        http_request = DjangoRequest(request.environ())
        if request.is_api:
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
