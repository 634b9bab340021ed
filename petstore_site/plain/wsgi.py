"""Respond to plain reads in a thread, with its connection, before a WSGI application."""

import time
from collections.abc import Callable, Coroutine, Iterable
from http import HTTPStatus
from typing import Any

from petstore_site.apikeys.authentication import find_key
from petstore_site.apikeys.lookup import CachedKey
from petstore_site.observing import STARTED, Seen, observe
from petstore_site.plain.reads import PlainReads
from petstore_site.plain.requests import Environ, Response
from rest.database_errors import drop_closed
from rest.limits import Counted, count
from rest.statements import Row, Steps, run


class InThread:
    """Wait in this thread, and use its connection."""

    async def find_key(self, header: str) -> CachedKey | None:
        """Return the key that the header has."""
        drop_closed()
        return find_key(header)

    async def count(self, key: CachedKey) -> Counted:
        """Count a request."""
        return count(key)

    async def run(self, steps: Steps, _environ: Environ) -> list[Row]:
        """Return the rows."""
        return run(steps)

    def observe(self, seen: Seen) -> None:
        """Say what became of the request."""
        observe(seen)


def at_once(waiting: Coroutine[Any, Any, Response | None]) -> Response | None:
    """Return what a coroutine returns that never hands over control."""
    try:
        waiting.send(None)
    except StopIteration as done:
        returned: Response | None = done.value
        return returned
    raise RuntimeError


class PlainReadsFirst:
    """A WSGI application that responds to plain reads, and leaves everything else to the application behind."""

    def __init__(self, application: Callable[..., Iterable[bytes]]) -> None:
        self.application = application
        self.plain_reads = PlainReads(InThread())

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Respond, by the short way if it leads to the end."""
        environ[STARTED] = time.perf_counter()
        response = at_once(self.plain_reads.respond(environ))
        if response is None:
            return self.application(environ, start_response)
        status, headers, body = response
        start_response(f"{status} {HTTPStatus(status).phrase}", list(headers.items()))
        return [body]
