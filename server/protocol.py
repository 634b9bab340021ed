"""A connection: gunicorn's, with Errors (docs/decisions/0032) and limits (docs/decisions/0056) where it has none."""

import asyncio
from typing import TYPE_CHECKING, Any

from gunicorn.asgi.parser import LimitRequestHeaders, LimitRequestLine, ParseError, UnsupportedTransferCoding
from gunicorn.asgi.protocol import ASGIProtocol
from gunicorn.http.errors import ParseException

from server.limits import client_of
from server.parser import RejectedError

if TYPE_CHECKING:
    from server.worker import Worker

HEAD_SECONDS = 10
"""How long a client may take to send the head of its first request."""

READ_SECONDS = 30
"""How long a client may read nothing of a response."""

HEADER_BYTES = 8000
"""What we promise for a header. nginx accepts so much of a value, gunicorn 8,190 with the name (deploy/nginx)."""

LINGER_SECONDS = 2
"""How long a client may go on sending after a response that ends the connection.

If the kernel gets something that no one reads, the client may never see the response (RFC 9112, section 9.6).
"""


class Protocol(ASGIProtocol):  # type: ignore[misc]  # gunicorn has no types
    """A connection."""

    worker: "Worker"
    _body_receiver: Any
    _callback_parser: Any
    _closed: bool
    client_has_ended = False
    """Whether the client has closed its side."""
    _is_admitted = True
    """Whether there was room. If not, the connection gets one response."""
    _client = ""
    """The client for which the connection counts."""
    _has_rejected = False
    _timer: asyncio.TimerHandle | None = None
    """Until the first head must be there."""
    _reading: asyncio.TimerHandle | None = None
    """Until the client must have read more of a response."""

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Begin."""
        super().connection_made(transport)
        self.worker.protocols.add(self)
        client = "" if self.worker.client_header else self._address()
        self._is_admitted = self.worker.limits.admit(self, client)
        self._client = client if self._is_admitted else ""
        self._timer = self.worker.loop.call_later(HEAD_SECONDS, self._close_if_nothing_came)

    def connection_lost(self, error: Exception | None) -> None:
        """End."""
        self.worker.protocols.discard(self)
        self.worker.limits.leave(self, admitted=self._is_admitted)
        self._count_for("")
        for timer in (self._timer, self._reading):
            if timer:
                timer.cancel()
        super().connection_lost(error)
        self._flow_control.resume_writing()  # nothing is written any more, so that nothing needs to wait

    def eof_received(self) -> bool:
        """Keep the connection for the response if the client closes its side after or during a request."""
        self.client_has_ended = True
        if not self.is_idle:
            self._end_body()
        return not (self.is_idle or self._closed)

    def abort(self) -> None:
        """End at once."""
        self.transport.abort()

    # --- Requests ----------------------------------------------------------------------------------------------------

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

    def _arm_keepalive_timer(self) -> None:
        """Wait for the next request, if there can be one."""
        if self.worker.client_header:
            self._count_for("")
        if self.client_has_ended:
            self._keepalive_timeout()
        else:
            super()._arm_keepalive_timer()

    def _feed_callback_parser(self, data: bytes) -> bool:
        """Parse. Reject what is no request; a body that is malformed is an incomplete one for the application."""
        try:
            self._callback_parser.feed(data)
        except (ParseError, ParseException, ValueError) as error:  # ValueError: a length of more than 4,300 digits
            if self.is_idle:
                self._reject(error)
            else:
                self._end_body()
                self._callback_parser = None
            return False
        if self._callback_parser.waiting:
            self._pause_reading()
        else:  # the head that waited may have a body that is still to come
            self._resume_reading()
        return True

    def _resume_reading(self) -> None:
        """Read again when all requests that came have been served. Until then, at most one read of the socket waits."""
        if not (self._callback_parser and self._callback_parser.waiting):
            super()._resume_reading()

    def _on_headers_complete(self) -> bool:
        parser = self._callback_parser
        if parser.path == b"*":
            raise RejectedError(204, "OPTIONS *")
        header = self.worker.client_header
        has_room = self._is_admitted and (not header or self._count_for(_last(parser.headers, header)))
        if not has_room and parser.path not in self.worker.always_served:
            raise RejectedError(503, "too many connections")
        begins: bool = super()._on_headers_complete()
        return begins

    def _count_for(self, client: str) -> bool:
        """Count the connection for this client, and no longer for the one before; return whether there is room."""
        if self._client:
            self.worker.limits.release(self._client)
        self._client = client if client and self.worker.limits.hold(client) else ""
        return self._client == client

    def _will_close(self, request: Any, response_requires_close: bool) -> bool:  # noqa: FBT001 - as gunicorn calls it
        if self.worker.is_leaving or not self._is_admitted:
            return True
        closes: bool = super()._will_close(request, response_requires_close)
        return closes

    def _end_body(self) -> None:
        receiver = self._body_receiver
        if not receiver._complete:  # noqa: SLF001 - gunicorn has no public way
            receiver._body_wait_expired = True  # noqa: SLF001
            receiver._wake_waiter()  # noqa: SLF001

    def _is_websocket_upgrade(self, _request: Any) -> bool:
        return False

    # --- Errors ------------------------------------------------------------------------------------------------------

    def _reject(self, error: Exception) -> None:
        status = 501 if isinstance(error, UnsupportedTransferCoding) else getattr(error, "status", 400)
        self._safe_write(self._rejection(status, f"{type(error).__name__}: {error}", self._broken_limit(error)))
        self._has_rejected = True
        self._close_transport()

    def _broken_limit(self, error: Exception) -> str:
        """Return the message for a request that is too long; empty for any other error."""
        if isinstance(error, LimitRequestLine):
            return f"The request line (method and URL) must have at most {self.cfg.limit_request_line:,} bytes."
        if isinstance(error, LimitRequestHeaders):
            each = f"each of at most {HEADER_BYTES:,} bytes"
            return f"The request must have at most {self.cfg.limit_request_fields} headers, {each}."
        return ""

    def _send_error_response(self, status: int, message: str, _extra_headers: Any = ()) -> None:
        """Send what the application says about a request that it does not get (a status below 500), or about a bug."""
        self._safe_write(self._rejection(status, message))

    def _rejection(self, status: int, reason: str, message: str = "") -> bytes:
        return self.worker.reject(status, f"{self._address() or 'a socket'}: {reason}", message)

    def _address(self) -> str:
        peer = self.transport.get_extra_info("peername")
        return client_of(peer[0]) if peer else ""

    # --- The end -----------------------------------------------------------------------------------------------------

    def _close_transport(self) -> None:
        """Close. A client that may still be sending gets a moment, and one that reads no more than that is ended."""
        if self._closed or not self.transport:
            return
        if self._may_get_more():
            self._closed = True
            self._callback_parser = None  # what comes now is dropped
            self._resume_reading()
            self.transport.write_eof()
            self.worker.loop.call_later(LINGER_SECONDS, self.transport.close)
        else:
            super()._close_transport()
        if self.transport.get_write_buffer_size():
            self._watch()

    def _may_get_more(self) -> bool:
        if self.client_has_ended or self.transport.is_closing():
            return False
        receiver, parser = self._body_receiver, self._callback_parser
        is_incomplete = receiver is not None and not receiver._complete  # noqa: SLF001
        return self._has_rejected or is_incomplete or bool(parser and parser.waiting)

    def pause_writing(self) -> None:
        """Wait until the client has read more, but not forever."""
        super().pause_writing()
        self._watch()

    def _watch(self) -> None:
        if self._reading:
            self._reading.cancel()
        before = self.transport.get_write_buffer_size()
        self._reading = self.worker.loop.call_later(READ_SECONDS, self._abort_unless_read, before)

    def _abort_unless_read(self, before: int) -> None:
        self._reading = None
        left = self.transport.get_write_buffer_size()
        if left >= before > 0:
            self.abort()
        elif left:
            self._watch()


def _last(headers: list[tuple[bytes, bytes]], wanted: bytes) -> str:
    """Return the client that the proxy names: the last one, since those before it are what the client said."""
    values = [value for name, value in headers if name == wanted]
    return client_of(values[-1].rpartition(b",")[2].strip().decode("latin-1")) if values else ""
