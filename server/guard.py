"""A connection: uvicorn's, with Errors (docs/decisions/0032) and limits (docs/decisions/0056) where it has none."""

import asyncio
import re
from typing import Any

# After a reload `httptools` has new errors, while its parser, which is compiled and stays, raises those that it has.
from httptools.parser.parser import (  # type: ignore[attr-defined]  # its types name only the parser
    HttpParserCallbackError,
    HttpParserError,
    HttpParserInvalidMethodError,
    HttpParserUpgrade,
    HttpRequestParser,
)
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from server.limits import client_of

HEAD_SECONDS = 10  # for the head of the first request
READ_SECONDS = 30  # in which a client must read something of a response
IDLE_SECONDS = 3  # for idle connections when the worker stops: longer than in a proxy, which must close them first
LINGER_SECONDS = 2  # of reading behind the last response, or the client may never see it (RFC 9112, section 9.6)
LINE_BYTES, FIELDS, FIELD_BYTES = 4094, 50, 8190  # a field with its name; we promise 8,000, as nginx has no name in it
MOST_BYTES = LINE_BYTES + FIELDS * FIELD_BYTES  # of a message besides the body that the application can read
METHOD = re.compile(rb"([A-Z][A-Z_-]{2,19}) ")  # as nginx knows them, and at most 20 letters
TARGET = re.compile(rb"(?:(?i:https?)://([^/?#]+)|(?=/))([!-~]*)")
END = b"\r\n\r\n"  # of a head, and of a body in chunks


class RejectedError(Exception):
    """A request that gets this status from the server, and why."""


class Cycle(RequestResponseCycle):
    """A request and its response."""

    is_cut = False  # whether the rest of the body will never come

    async def receive(self) -> Any:
        """Return the next part of the body. What is cut ends as if the client had gone."""
        return {"type": "http.disconnect"} if self.is_cut and not self.body else await super().receive()

    async def send_500_response(self) -> None:
        """Send an Error, not a text. uvicorn has logged the bug."""
        self.transport.reject(RejectedError(500, "a bug"))  # type: ignore[attr-defined]  # a Guard


class Guard(HttpToolsProtocol):
    """A connection, which parses one request at a time. Behind it waits at most one read of the socket."""

    worker: Any  # the one of this process, which imports this file
    _waiting, _at = b"", 0  # what came, and how much of it was parsed
    _in_message = _in_head = _is_ended = _client_has_ended = False
    _method = b""  # of the request, if the parser does not know it
    _size = _length = 0  # of the message: bytes that count towards MOST_BYTES, and those of its body to come
    _is_held = False  # until the response to what was parsed has been sent
    _head: bytes | None = None  # of a response, until there is a part of its body
    _client = ""  # the one for which the connection counts
    _reading: asyncio.TimerHandle | None = None  # until the client must have read more

    def connection_made(self, transport: Any) -> None:
        """Begin. If there is no room, the connection gets one response."""
        super().connection_made(transport)
        self.is_closing, self.abort = transport.is_closing, transport.abort
        self._address = client_of(self.client[0]) if self.client else ""
        client = "" if self.worker.client_header else self._address
        self._is_admitted = self.worker.limits.admit(self, client)
        self._client = client if self._is_admitted else ""
        self.timeout_keep_alive_task = self.loop.call_later(HEAD_SECONDS, self.timeout_keep_alive_handler)

    def connection_lost(self, exc: Exception | None) -> None:
        self.worker.limits.leave(self, admitted=self._is_admitted)
        self._count_for("")
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def eof_received(self) -> bool:  # type: ignore[override]  # uvicorn's always closes
        """Keep the connection for the response if the client closes its side after or during a request."""
        self._client_has_ended = True
        if self._is_active and self._in_message:
            self._fail(None)
        return self._is_active and not self._is_ended

    @property
    def _is_active(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def data_received(self, data: bytes) -> None:
        """Parse to the end of the request; parse further when it has its response. Drop what comes after the end."""
        self._waiting += data
        while self._at < len(self._waiting) and not (self._is_held or self._is_ended):
            end = self._waiting.find(END, max(self._at + 1 - len(END), 0)) + len(END)
            if self._length and not self._in_head:
                end = self._at + self._length
            part = self._waiting[self._at : end if end >= len(END) else None]
            self._at += len(part)
            self._size += len(part)
            try:
                self.parser.feed_data(part)
                if self._size > MOST_BYTES:
                    self._fail(RejectedError(431, "too much besides a body"))
            except HttpParserUpgrade:
                # With an upgrade, the parser leaves the body to another protocol. Parse the head again, without one.
                fields = b"".join(b"%b: %b\r\n" % field for field in self.headers if field[0] != b"upgrade")
                head = b"%b %b HTTP/1.1\r\n%b\r\n" % (self.parser.get_method(), self.url, fields)
                self._waiting, self._at = head + self._waiting[self._at :], 0
                self.parser, self._in_message = HttpRequestParser(self), False
            except HttpParserInvalidMethodError as error:
                # The application rejects it by its path. Parse the head again, with a method that the parser knows.
                unknown = METHOD.match(self._waiting, self._at - len(part))
                if self._method or not unknown:
                    self._fail(error)
                    continue
                self._method, self._waiting, self._at = unknown[1], b"PURGE " + self._waiting[unknown.end() :], 0
                self.parser, self._in_message = HttpRequestParser(self), False
            except HttpParserError as error:
                self._fail(error.__context__ if isinstance(error, HttpParserCallbackError) else error)
        if self._at < len(self._waiting) and not self._is_ended:
            self.flow.pause_reading()
        else:
            self._waiting = self._waiting[1 - len(END) :]  # END may come in two parts
            self._at = len(self._waiting)

    def _fail(self, error: BaseException | None) -> None:
        """Reject what is no request. A body that is malformed is an incomplete one for the application."""
        if self._in_head or not self._in_message:
            self.reject(error)
        elif self._is_active:
            self._is_held = self.cycle.is_cut = True  # type: ignore[attr-defined]  # it is a Cycle
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
        """Take a header, unless it is behind the body, or its `_` could make it another one for the application."""
        name = name.lower()
        if not self._in_head or b"_" in name:
            return
        if len(name) + len(value) > FIELD_BYTES or len(self.headers) >= FIELDS:
            raise RejectedError(431, "long or many headers")
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Check the head, and have the application respond."""
        version, method = self.parser.get_http_version(), self._method or self.parser.get_method()
        if len(method) + len(self.url) + len("  HTTP/1.1") > LINE_BYTES:
            raise RejectedError(414, "a long request line")
        if version not in {"1.0", "1.1"} or method == b"CONNECT":
            raise RejectedError(400, f"HTTP/{version} {method.decode()}")
        if self.parser.should_upgrade():
            return
        self._method = b""
        fields, names = dict(self.headers), [name for name, _ in self.headers]
        if names.count(b"host") > 1 or (b"host" not in fields and version == "1.1"):
            raise RejectedError(400, "not one Host")
        coding = fields.get(b"transfer-encoding", b"chunked").strip(b" \t").lower()
        if coding != b"chunked" or names.count(b"transfer-encoding") > 1:
            raise RejectedError(501, coding.decode("latin-1"))
        self._length = int(fields.get(b"content-length", 0))
        path, _, query = self._target(method).partition(b"#")[0].partition(b"?")
        last = fields.get(self.worker.client_header, b"").rpartition(b",")[2].strip().decode("latin-1")
        has_room = self._is_admitted and (not self.worker.client_header or self._count_for(client_of(last)))
        if not has_room and path not in self.worker.always_served:
            raise RejectedError(503, "too many connections")
        self._unset_keepalive_if_required()
        self._in_head, self._head = False, None
        self.scope |= {"method": method.decode(), "http_version": version, "raw_path": path, "query_string": query}
        keep_alive = has_room and version == "1.1" and self.parser.should_keep_alive() and not self.worker.is_leaving
        self.cycle = Cycle(
            self.scope, self, self.flow, self.logger, self.access_logger, self.access_log,  # type: ignore[arg-type]
            self.server_state.default_headers, asyncio.Event(), self.expect_100_continue and version == "1.1",
            keep_alive, self.on_response_complete,
        )  # fmt: skip
        self._start_asgi_task(self.cycle, self.app)

    def _target(self, method: bytes) -> bytes:
        """Return path and query. The host of an absolute target counts more than `Host` (RFC 9112, section 3.2.2)."""
        if self.url == b"*" and method == b"OPTIONS":
            raise RejectedError(204, "OPTIONS *")
        if not (target := TARGET.fullmatch(self.url)):
            raise RejectedError(400, "a target that is no address of HTTP")
        host, rest = target.groups(b"")
        if host:
            self.headers[:] = [field for field in self.headers if field[0] != b"host"] + [(b"host", host)]
        return rest if rest.startswith(b"/") else b"/" + rest

    def on_body(self, body: bytes) -> None:
        """Take a part of the body, or drop it if the response was sent without it."""
        self._size -= 0 if self.cycle.response_complete else len(body)
        self._length = max(self._length - len(body), 0)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Parse no further until the response is sent."""
        if not self._in_head:  # of an upgrade
            super().on_message_complete()
            self._in_message, self._is_held = False, self._is_active

    def _count_for(self, client: str) -> bool:
        """Count the connection for this client, and no longer for the one before; return whether there is room."""
        if self._client:
            self.worker.limits.release(self._client)
        self._client = client if client and self.worker.limits.hold(client) else ""
        return self._client == client

    def write(self, data: bytes) -> None:
        """Write for the cycle: the head of a response together with the first part of its body."""
        if self._head is None and self.cycle.response_started and self.scope["method"] != "HEAD":
            self._head = data
        else:
            self.transport.write(self._head + data if self._head else data)
            self._head = self._head and b""

    def on_response_complete(self) -> None:
        """Go on with the next request, if there can be one."""
        super().on_response_complete()
        self.worker.nr += 1
        if self.worker.client_header:
            self._count_for("")
        self._is_held = False
        self.data_received(b"")
        if self._client_has_ended and not self._is_active:
            self.close()

    def timeout_keep_alive_handler(self) -> None:
        if not self._is_active:
            self.close()

    def shutdown(self) -> None:
        """Close soon, so that the worker can stop. Until then, each response says that its connection ends."""
        self.worker.is_leaving = True
        if self.cycle:
            self.cycle.keep_alive = False
        self.loop.call_later(IDLE_SECONDS, self.timeout_keep_alive_handler)

    def close(self) -> None:
        """Close. A client that may still be sending gets a moment, and one that reads no more than that is ended."""
        if self._is_ended or self.transport.is_closing():
            return
        self._is_ended = True
        may_get_more = not self._client_has_ended and (self._in_message or self._at < len(self._waiting))
        self.flow.resume_reading()
        self.transport.write_eof()
        self.loop.call_later(LINGER_SECONDS * may_get_more, self.transport.close)
        self._watch()

    def reject(self, error: BaseException | None) -> None:
        status = error.args[0] if isinstance(error, RejectedError) else 400
        reason = f"{self._address or 'a socket'}: {type(error).__name__}: {error and error.args[-1]}"
        response = self.worker.reject(status, reason)
        if self.parser.get_method() == b"HEAD" and not isinstance(error, HttpParserInvalidMethodError):
            response = response[: response.index(END) + len(END)]
        self.transport.write(response)
        self._in_message = True
        self.close()

    def pause_writing(self) -> None:
        """Wait until the client has read more, but not forever."""
        super().pause_writing()
        self._watch()

    def _watch(self, before: int = 0) -> None:
        if self._reading:
            self._reading.cancel()
        left = self.transport.get_write_buffer_size()
        if left >= before > 0:
            self.transport.abort()
        elif left:
            self._reading = self.loop.call_later(READ_SECONDS, self._watch, left)
