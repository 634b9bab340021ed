"""gunicorn's asynchronous worker, with Errors (docs/decisions/0032) and limits of time where it has none.

gunicorn's master imports this file, so that it must not import ours: the workers after a reload load the new ones.
"""

import asyncio
import os
import sys
from functools import partial
from typing import Any
from uuid import uuid4

from gunicorn.asgi.parser import ParseError
from gunicorn.asgi.protocol import ASGIProtocol
from gunicorn.http.errors import ParseException
from gunicorn.util import http_date
from gunicorn.workers import gasgi

from petstore_site.door.places import Places

HEAD_SECONDS = 10
"""How long a client may take to send the head of its first request."""


IDLE_SECONDS = 3
"""How long idle connections stay open when the worker stops: longer than in a proxy (deploy/nginx/petstore.conf).

Who sends a request on a connection that is just being closed gets no response.
"""


class Protocol(ASGIProtocol):  # type: ignore[misc]  # gunicorn has no types
    """A connection."""

    client_has_ended = False
    """Whether the client has closed its side."""

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Begin, unless the worker has enough connections."""
        super().connection_made(transport)
        self.worker.protocols.add(self)
        if len(self.worker.protocols) > self.worker.worker_connections:
            transport.abort()
        self.worker.loop.call_later(HEAD_SECONDS, self._close_if_nothing_came)

    def connection_lost(self, error: Exception | None) -> None:
        """End."""
        self.worker.protocols.discard(self)
        super().connection_lost(error)

    def eof_received(self) -> bool:
        """Keep the connection for the response if the client closes its side after, or amid, a request."""
        self.client_has_ended = True
        if not self.is_idle:
            self._end_body()
        return not self.is_idle

    def _arm_keepalive_timer(self) -> None:
        """Wait for the next request, if there can be one."""
        if self.client_has_ended:
            self._keepalive_timeout()
        else:
            super()._arm_keepalive_timer()

    @property
    def is_idle(self) -> bool:
        """Whether no request is under way."""
        return self._body_receiver is None

    def close_if_idle(self) -> None:
        """Close, so that the worker can stop."""
        if self.is_idle:
            self._close_transport()

    def _close_if_nothing_came(self) -> None:
        if self.is_idle and self.req_count <= 1:
            self._close_transport()

    def _feed_callback_parser(self, data: bytes) -> bool:
        """Parse. Reject what is no request; a body that is malformed is an incomplete one for the application."""
        try:
            self._callback_parser.feed(data)  # type: ignore[has-type]
        except (ParseError, ParseException) as error:
            if self.is_idle:
                self._send_error_response(400, f"{type(error).__name__}: {error}")
                self._close_transport()
            else:
                self._end_body()
                self._callback_parser = None
            return False
        return True

    def _end_body(self) -> None:
        receiver = self._body_receiver
        if not receiver._complete:  # noqa: SLF001 - gunicorn has no public way
            receiver._body_wait_expired = True  # noqa: SLF001
            receiver._wake_waiter()  # noqa: SLF001

    def _is_websocket_upgrade(self, _request: Any) -> bool:
        return False

    def _send_error_response(self, status: int, message: str, _extra_headers: Any = ()) -> None:
        """Send an Error: 400 for a request that is not HTTP, otherwise 500."""
        from history.acting import begin_request, end_request  # noqa: PLC0415 - the master must not keep it
        from rest.errors import ErrorCode  # noqa: PLC0415

        name = uuid4().hex
        begin_request(name)
        code = ErrorCode.INTERNAL_ERROR if status == 500 else ErrorCode.BAD_REQUEST
        if code is ErrorCode.BAD_REQUEST:
            address = self.transport.get_extra_info("peername")
            self.log.warning("Rejected a request from %s: %s", address[0] if address else "a socket", message)
        self._safe_write(_error(code, name))
        end_request()


def _error(code: Any, request_id: str) -> bytes:
    from rest.errors import error_body  # noqa: PLC0415
    from rest.media_type import render_json  # noqa: PLC0415

    body = render_json(error_body(code))
    head = (
        f"HTTP/1.1 {code.status.value} {code.status.phrase}",
        f"Date: {http_date()}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        "Cache-Control: private, no-cache",
        f"X-Request-ID: {request_id}",
        f"Link: {code.help_link}",
        "Connection: close",
    )
    return "\r\n".join((*head, "", "")).encode() + body


def _always(*_response: object) -> bool:
    return True


gasgi.ASGIProtocol = Protocol  # gunicorn has no setting for it


LAST_SECONDS = 0.05
"""How long a worker waits after its last response, which is logged and counted a moment later."""

LEAVING_SECONDS = 0.1
"""How long a worker announces with each response that the connection ends, before it stops.

When it stops, gunicorn closes connections at once, even if the last response said that they stay open.
"""

PLACE_SECONDS = 0.05
"""How often a worker looks for a free place."""


class Worker(gasgi.ASGIWorker):  # type: ignore[misc]
    """A worker that waits for a place to serve in, and stops without waiting long for idle connections."""

    places: Places

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.protocols: set[Protocol] = set()
        self._most_requests: int = self.max_requests  # type: ignore[has-type]
        self.max_requests = sys.maxsize

    def notify(self) -> None:
        """Say each second that the worker runs, and stop it after `max_requests`."""
        super().notify()
        if self.nr >= self._most_requests:
            self.log.info("Worker stops after %d requests.", self.nr)
            self.handle_exit_signal()

    def handle_exit_signal(self) -> None:
        """Stop in a moment; until then, each response says that its connection ends."""
        Protocol._will_close = _always  # noqa: SLF001
        self.loop.call_later(LEAVING_SECONDS, super().handle_exit_signal)

    async def _serve(self) -> None:
        while not self.places.take():
            if not self.alive or self.ppid != os.getppid():
                return
            self.notify()
            await asyncio.sleep(PLACE_SECONDS)
        self.loop.create_server = partial(self.loop.create_server, backlog=self.cfg.backlog)  # its default is 100
        await super()._serve()

    async def _shutdown(self) -> None:
        self.places.leave()
        self.loop.call_later(IDLE_SECONDS, self._close_idle)
        await super()._shutdown()
        await asyncio.sleep(LAST_SECONDS)

    def _close_idle(self) -> None:
        for protocol in list(self.protocols):
            protocol.close_if_idle()
