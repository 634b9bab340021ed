"""Read the body of a request before a thread takes it, so that a slow client holds none."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from io import BytesIO
from tempfile import SpooledTemporaryFile
from typing import IO, Any

from django.conf import settings

from rest.errors import APIError, ErrorCode
from rest.request import Request
from rest.routes import is_api

Receive = Callable[[], Awaitable[dict[str, Any]]]

SECONDS = 10
"""How long the door waits for the next part of a body."""

TOTAL_SECONDS = 30
"""How long it waits for all of a body. Behind a proxy that keeps bodies until they are whole, it comes at once."""

LARGEST_FORM = 32 * 1024 * 1024
"""Bytes that a form may have, with its files. The import of files has a lower limit of its own."""

IN_MEMORY = 256 * 1024
"""Bytes of a form that are kept in memory; the rest of a longer one goes to a temporary file."""


class UnreadableBody(BytesIO):
    """A body whose chunks are malformed."""

    def read(self, _size: int | None = -1, /) -> bytes:
        """Raise `OSError`, as a server's input does."""
        message = "The chunks of the body are malformed."
        raise OSError(message)


class Body:
    """The body of a request, which is read when it is needed."""

    def __init__(self, request: Request, receive: Receive) -> None:
        self._request = request
        self._receive = receive
        self._is_read = False
        self._chunked, self._length = (
            "transfer-encoding" in request.headers,
            int(request.headers.get("content-length") or 0),
        )
        self.is_whole = not self._chunked and not self._length

    async def read(self) -> None:
        """Read the body into the request, once; `is_whole` is whether that is all of it.

        Under /v1, one longer than `settings.API_BODY_LIMIT` is left unread, or read one byte further if it comes in
        chunks. One that is incomplete stays so: the view says what is wrong with it, after the key was checked.
        Raises `APIError` for the form of a page that is incomplete or too large.
        """
        if self._is_read or self.is_whole:
            return
        self._is_read = True
        began = time.perf_counter()
        if not is_api(self._request.path):
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
        is_short = self._length <= settings.API_BODY_LIMIT and "expect" not in self._request.headers
        return not self.is_whole and (self._is_read or not is_short)


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
    """Copy the body until it has more than `most` bytes; return whether that is all of it."""
    latest = asyncio.get_running_loop().time() + TOTAL_SECONDS
    more = True
    while more and body.tell() <= most:
        message = await _next_part(receive, latest)
        if message["type"] == "http.disconnect":
            return False
        body.write(message["body"])
        more = message["more_body"]
    return not more


async def _next_part(receive: Receive, latest: float) -> dict[str, Any]:
    """Return the next message; a client that is too slow is gone."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout_at(min(loop.time() + SECONDS, latest)):
            return await receive()
    except TimeoutError:
        return {"type": "http.disconnect"}
