"""Read the body of a request before a thread takes it, so that a slow client holds none."""

import asyncio
from collections.abc import Awaitable, Callable
from io import BytesIO
from tempfile import SpooledTemporaryFile
from typing import IO, Any

from django.conf import settings

from rest.errors import APIError, ErrorCode
from rest.hosts import Environ
from rest.routes import is_api

Receive = Callable[[], Awaitable[dict[str, Any]]]

SECONDS = 10
"""How long the door waits for the next part of a body."""

TOTAL_SECONDS = 30
"""How long it waits for all of a body. Behind a proxy that keeps bodies until they are whole, it comes at once."""

LARGEST_FORM = 16 * 1024 * 1024
"""Bytes that a form may have, with its files. The import of files has a lower limit of its own."""

IN_MEMORY = 256 * 1024
"""Bytes of a form that are kept in memory; the rest of a longer one goes to a temporary file."""


class UnreadableBody(BytesIO):
    """A body whose chunks are malformed."""

    def read(self, _size: int | None = -1, /) -> bytes:
        """Raise `OSError`, as a server's input does."""
        message = "The chunks of the body are malformed."
        raise OSError(message)


async def read_body(environ: Environ, receive: Receive) -> bool:
    """Put the body into `wsgi.input`, and return whether that is all of it.

    Under /v1, one longer than `settings.API_BODY_LIMIT` is left unread, or read one byte further if it comes in
    chunks. One that is incomplete stays so: the view says what is wrong with it, after the key was checked.
    Raises `APIError` for the form of a page that is incomplete or too large.
    """
    chunked = "HTTP_TRANSFER_ENCODING" in environ
    length = int(environ.get("CONTENT_LENGTH") or 0)
    if not chunked and not length:
        return True
    if not is_api(environ["PATH_INFO"]):
        await _read_form(environ, receive, length)
        return True
    if not chunked and length > settings.API_BODY_LIMIT:
        return False
    environ["wsgi.input_terminated"] = True
    environ["wsgi.input"] = body = BytesIO()
    complete = await _copy(receive, body, most=settings.API_BODY_LIMIT)
    if chunked and not complete and body.tell() <= settings.API_BODY_LIMIT:
        environ["wsgi.input"] = UnreadableBody()
    body.seek(0)
    return complete


async def _read_form(environ: Environ, receive: Receive, length: int) -> None:
    body = environ["wsgi.input"] = SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - it lasts as long as the request
    complete = length <= LARGEST_FORM and await _copy(receive, body, most=LARGEST_FORM)
    if length > LARGEST_FORM or body.tell() > LARGEST_FORM:
        most = f"Files here can have at most {settings.LARGEST_UPLOAD // 1024**2} MB."
        message = f"{most} Go back and send a smaller file, or ask an operator to import it."
        raise APIError(ErrorCode.BODY_TOO_LARGE, message)
    if not complete:
        raise APIError(ErrorCode.BAD_REQUEST, "The form did not arrive complete. Go back and send it again.")
    environ["CONTENT_LENGTH"] = str(body.tell())
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
