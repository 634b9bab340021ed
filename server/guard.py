"""A connection: uvicorn's, with Errors and limits where it has none (docs/decisions/0032)."""

import asyncio
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_SECONDS = 10  # for a head
IDLE_SECONDS = 1.5  # for idle connections when the worker stops: longer than in a proxy, which must close them first
LINGER_SECONDS = 2  # of reading behind the last response, or the client may never see it (RFC 9112, section 9.6)
LINE_BYTES, FIELDS, FIELD_BYTES = 4094, 50, 8190  # a field with its name; we promise 8,000, as nginx has no name in it
MOST_BYTES = LINE_BYTES + FIELDS * FIELD_BYTES  # of a message besides the body that the application can read
TARGET = re.compile(rb"(?:(?i:https?)://([^/?#]+)|(?=/))([!\"$->@-~]*)(?:\?([!\"$-~]*))?(?:#[!-~]*)?")
END = b"\r\n\r\n"  # of a head, and of a body in chunks


class RejectedError(Exception):
    """A request that gets this status from the server, and why."""


class Guard(HttpToolsProtocol):
    """A connection, which parses one request at a time. Behind it waits at most one read of the socket."""

    rejection: Callable[[int, str], bytes]  # the application's: by status and the reason for the log, the response
    is_leaving = False  # whether the worker stops: each response says that its connection ends
    url = b""  # of the last request, or of the one whose head comes
    _waiting, _at = b"", 0  # what came, and how much of it was parsed
    _in_message = _in_head = _is_active = _is_ended = _client_has_ended = False
    _is_held = False  # until the response to what was parsed has been sent
    _head: bytes | None = b""  # of a response, until the first part of its body
    _size = _length = 0  # of the message: bytes that count towards MOST_BYTES, and those of its body to come

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._transport, self.is_closing = transport, transport.is_closing
        self._peer, self._later = transport.get_extra_info("peername"), asyncio.get_running_loop().call_later
        self._deadline = self._later(HEAD_SECONDS, self.close)  # of the head

    def eof_received(self) -> bool:  # type: ignore[override]  # uvicorn's always closes
        """Keep the connection for the response if the client closes its side after a request, or during its body."""
        self._client_has_ended = True
        if self._is_active and self._in_message:
            self._fail(RejectedError(400, "half a body"))
        return self._is_active and not self._is_ended

    def data_received(self, data: bytes) -> None:
        """Parse to the end of the request; parse further when it has its response. Drop what comes after the end."""
        self._waiting += data
        while self._at < len(self._waiting) and not (self._is_held or self._is_ended):
            end = self._waiting.find(END, max(self._at + 1 - len(END), 0)) + len(END)
            if self._length:
                end = self._at + self._length
            part = self._waiting[self._at : end if end >= len(END) else None]
            self._at += len(part)
            self._size += len(part)
            try:
                self.parser.feed_data(part)
                if self._size > MOST_BYTES:
                    self._fail(RejectedError(431, "too much besides a body"))
            except httptools.HttpParserUpgrade:  # it leaves the body to another parser, which learns only its framing
                callbacks = SimpleNamespace(on_body=self.on_body, on_message_complete=self.on_message_complete)
                self.parser, framing = httptools.HttpRequestParser(callbacks), {b"content-length", b"transfer-encoding"}
                lines = [b"%b: %b\r\n" % field for field in self.headers if field[0] in framing]
                self.parser.feed_data(b"POST / HTTP/1.1\r\n%b\r\n" % b"".join(lines))
            except httptools.HttpParserError as error:
                self._fail((isinstance(error, httptools.HttpParserCallbackError) and error.__context__) or error)
        if self._at < len(self._waiting) and not self._is_ended:
            self.flow.pause_reading()
        else:
            self._waiting = self._waiting[1 - len(END) :]  # END may come in two parts
            self._at = len(self._waiting)
        if self._in_head and not self._size:  # the first part of it
            self._deadline.cancel()
            self._deadline = self._later(HEAD_SECONDS, self.close)

    def _fail(self, error: BaseException) -> None:
        """Reject what is no request. For the application, a body that is malformed or ends early is cut."""
        if self._in_head or not self._in_message:
            self.reject(error)
        elif self._is_active:
            self.scope["state"]["is_cut"] = self._is_held = True
            self.cycle.keep_alive = False
            self.cycle.message_event.set()
        else:
            self.close()

    def on_message_begin(self) -> None:
        if self._in_message or self._is_held:
            raise RejectedError(400, "two requests in one")
        super().on_message_begin()
        self._in_message = self._in_head = True
        self._size = self._length = 0

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header, without blanks around its value (RFC 9110, 5.5). Leave out trailers and names with `_`."""
        if self._in_head and b"_" not in name:
            if len(name) + len(value) > FIELD_BYTES or len(self.headers) >= FIELDS:
                raise RejectedError(431, "long or many headers")
            super().on_header(name, value.strip(b" \t"))

    def on_headers_complete(self) -> None:
        """Check the head, and have the application respond. The host of an absolute target counts more than `Host`."""
        version, method, target = self.parser.get_http_version(), self.parser.get_method(), TARGET.fullmatch(self.url)
        names, fields = [name for name, _ in self.headers], dict(self.headers)
        coding = fields.get(b"transfer-encoding", b"chunked").lower()
        if len(method) + len(self.url) + len("  HTTP/1.1") > LINE_BYTES:
            raise RejectedError(414, "a long request line")
        if self._size > MOST_BYTES:
            raise RejectedError(431, "much in other headers")
        if coding != b"chunked" or names.count(b"transfer-encoding") > 1:
            raise RejectedError(501, coding.decode("latin-1"))
        has_host = names.count(b"host") == 1 or (version == "1.0" and b"host" not in fields)
        if not target or not has_host or version not in {"1.0", "1.1"} or method == b"CONNECT":
            raise RejectedError(400, f"HTTP/{version}, {names.count(b'host')} Host, or a target that is no address")
        host, path, query = target.groups(b"")
        if host:
            self.headers[:] = [field for field in self.headers if field[0] != b"host"] + [(b"host", host)]
        self.url = (path or b"/") + b"?" + query
        self.expect_100_continue &= version == "1.1"
        super().on_headers_complete()
        self.cycle.transport = self  # type: ignore[assignment]  # for `write`, `close` and `is_closing`
        self.cycle.keep_alive &= not (self.is_leaving or self.parser.should_upgrade())
        self._deadline.cancel()
        self._in_head, self._is_active, self._length = False, True, int(fields.get(b"content-length", 0))
        self._head = b"" if self.expect_100_continue or method == b"HEAD" else None

    def write(self, part: bytes) -> None:
        """Send the head of a response with the first part of its body, not before it (ASGI)."""
        self._head, part = (part, b"") if self._head is None else (b"", self._head + part)
        self._transport.write(part)

    def on_body(self, body: bytes) -> None:
        """Take a part of the body, or drop it if the response was sent without it."""
        self._size -= len(body) if self._is_active else 0
        self._length = max(self._length - len(body), 0)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Parse no further until the response is sent."""
        if not self.parser.should_upgrade():
            super().on_message_complete()
            self._in_message, self._is_held = False, self._is_active

    def on_response_complete(self) -> None:
        """Go on with the next request, if there can be one."""
        super().on_response_complete()
        self._is_active = self._is_held = False
        self.data_received(b"")
        if self._client_has_ended:
            self.timeout_keep_alive_handler()

    def timeout_keep_alive_handler(self) -> None:
        if not self._is_active:
            self.close()

    def shutdown(self) -> None:
        """Close soon, so that the worker can stop. Until then, each response says that its connection ends."""
        Guard.is_leaving = True
        if self.cycle:
            self.cycle.keep_alive = False
        self._later(IDLE_SECONDS, self.timeout_keep_alive_handler)

    def close(self) -> None:
        """Close. A client that may still be sending gets a moment, or it would lose the response."""
        if not (self._is_ended or self._transport.is_closing()):
            self._is_ended = True
            may_get_more = self._in_message or self._at < len(self._waiting)
            self.flow.resume_reading()
            self._transport.write_eof()
            self._later(LINGER_SECONDS * may_get_more, self._transport.close)

    def reject(self, error: BaseException) -> None:
        """Send an Error, to a HEAD without its body, and close."""
        status = error.args[0] if isinstance(error, RejectedError) else 400
        who = self._peer[0] if self._peer else "a socket"
        response = self.rejection(status, f"{who}: {type(error).__name__}: {error.args[-1:]}")
        if self.url and self.parser and self.parser.get_method() == b"HEAD":
            response = response.partition(END)[0] + END
        self.write(response)
        self._in_message = True
        self.close()
