"""A connection: gunicorn's, with Errors (docs/decisions/0032) and limits of time where it has none."""

import asyncio
from typing import Any

from gunicorn.asgi.parser import ParseError
from gunicorn.asgi.protocol import ASGIProtocol
from gunicorn.http.errors import ParseException

HEAD_SECONDS = 10
"""How long a client may take to send the head of its first request."""


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
        """Send what the application says about a request that is not HTTP (400), or about a bug (500)."""
        address = self.transport.get_extra_info("peername")
        self._safe_write(self.worker.reject(status, f"{address[0] if address else 'a socket'}: {message}"))
