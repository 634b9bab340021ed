"""gunicorn's parser, with what RFC 9112 asks of a server beyond it, and for one request at a time."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from gunicorn.asgi import protocol
from gunicorn.asgi.parser import ParseError, PythonProtocol

PART = 16 * 1024
"""Bytes that gunicorn gets at once. It copies those behind a request once for each request."""

HOST = re.compile(rb"(?:[^:/?#@\[\]]*|\[[0-9A-Fa-f:.]+\])(?::(\d{0,5}))?")
ABSOLUTE = re.compile(rb"https?://([^/?#]+)(.*)", re.IGNORECASE | re.DOTALL)
MOST_PORT = 65535
COMPRESSIONS = {b"gzip", b"x-gzip", b"deflate", b"compress", b"x-compress"}


class RejectedError(ParseError):  # type: ignore[misc]  # gunicorn has no types
    """A request that can be parsed, and gets this status from the server."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Parser(PythonProtocol):  # type: ignore[misc]
    """A parser that keeps what is behind the request until the next one is read."""

    __slots__ = ("waiting",)
    path: Any
    _headers_list: Any

    def __init__(self, *callbacks: Callable[..., Any], **options: Any) -> None:
        super().__init__(*callbacks, **options)
        self.waiting = bytearray()

    def feed(self, data: bytes) -> None:
        """Read to the end of the request. What is behind it waits."""
        if self.is_complete or len(data) > PART:
            self.waiting += data
            data = b"" if self.is_complete else self._next_part()
        super().feed(data)
        while self.waiting and not self.is_complete:
            super().feed(self._next_part())

    def remaining(self) -> bytes:
        """Return the beginning of the next request, to be fed after `reset`."""
        return super().remaining() or self._next_part()

    def _next_part(self) -> bytes:
        part = bytes(self.waiting[:PART])
        del self.waiting[:PART]
        return part

    def _finalize_headers(self) -> None:
        if not self.path.startswith(b"/"):
            self._read_absolute_form()
        hosts = 0
        for name, value in self._headers_list:
            if name == b"host":
                hosts += 1
                _check_host(value)
            elif name == b"transfer-encoding":
                _check_codings(value)
        if not hosts and self.http_version >= (1, 1):
            raise RejectedError(400, "no Host")
        super()._finalize_headers()

    def _read_absolute_form(self) -> None:
        """Use the host of the target, whatever Host says (RFC 9112, section 3.2.2)."""
        if self.path == b"*" or self.method == b"CONNECT":
            return
        absolute = ABSOLUTE.fullmatch(self.path)
        if not absolute:
            raise RejectedError(400, "a target that is no address of HTTP")
        self.path = absolute[2] if absolute[2].startswith(b"/") else b"/" + absolute[2]
        fields = [(name, absolute[1] if name == b"host" else value) for name, value in self._headers_list]
        if fields == self._headers_list and self.http_version == (1, 0):
            fields.append((b"host", absolute[1]))
        self._headers_list = fields


@lru_cache(maxsize=256)
def _check_host(value: bytes) -> None:
    host = HOST.fullmatch(value)
    if not host or int(host[1] or 0) > MOST_PORT:
        raise RejectedError(400, "an invalid Host")


def _check_codings(value: bytes) -> None:
    """Raise for what gunicorn would pass on as it is."""
    for coding in value.lower().split(b","):
        if coding.strip(b" \t") in COMPRESSIONS:
            raise RejectedError(501, coding.decode("latin-1"))


protocol.PythonProtocol = Parser  # gunicorn has no setting for it
