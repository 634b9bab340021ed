"""Bytes on a connection, which http.client would not send, and the responses to them in their order."""

import http.client
import json
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BufferedReader
from typing import Any, NamedTuple

from rest.errors import CODES

TIMEOUT = 8
"""Seconds that one read may take."""


class Answer(NamedTuple):
    """One response, read to its end."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def is_the_services(self) -> bool:
        """Whether the service wrote it, and not nginx by itself."""
        return "Content-Security-Policy" in self.headers

    def error(self) -> dict[str, Any]:
        """Return the Error that it must be: exactly the three fields, known code, same status, JSON."""
        assert self.headers.get_all("Content-Type") == ["application/json"], self
        body: dict[str, Any] = json.loads(self.body)
        assert list(body) == ["code", "message", "status"]
        assert body["status"] == self.status == CODES[body["code"]].status
        assert len(self.headers.get_all("X-Request-ID", [])) == 1, self
        assert self.headers["Link"].endswith(f'</docs/errors/{body["code"]}>; rel="help"'), self
        return body


@contextmanager
def connected(port: int) -> Iterator[tuple[socket.socket, BufferedReader]]:
    """Give a connection and what comes back on it."""
    with socket.create_connection(("127.0.0.1", port), TIMEOUT) as connection, connection.makefile("rb") as reader:
        yield connection, reader


def read_answer(reader: BufferedReader) -> Answer | None:
    """Return the next response to something that is not HEAD, or None when the connection has ended."""
    try:
        line = reader.readline()
    except ConnectionResetError:
        return None
    if not line:
        return None
    assert line.startswith(b"HTTP/1."), line
    headers = http.client.parse_headers(reader)
    status = int(line.split()[1])
    return Answer(status, headers, _read_body(reader, status, headers))


def answer_on(reader: BufferedReader) -> Answer:
    """Return the next response, which must come."""
    answer = read_answer(reader)
    assert answer is not None
    return answer


def _read_body(reader: BufferedReader, status: int, headers: http.client.HTTPMessage) -> bytes:
    if status in {204, 304}:
        return b""
    if headers["Transfer-Encoding"] == "chunked":
        return b"".join(iter(lambda: _read_chunk(reader), b""))
    length = headers["Content-Length"]
    return reader.read(int(length) if length else -1)


def _read_chunk(reader: BufferedReader) -> bytes:
    chunk = reader.read(int(reader.readline(), 16))
    assert reader.readline() == b"\r\n"
    return chunk


def exchange(port: int, sent: bytes) -> list[Answer]:
    """Send these bytes, close our side, and return all responses until the other side is closed too."""
    with connected(port) as (connection, reader):
        try:
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
        except (BrokenPipeError, ConnectionResetError):
            pass  # rejected before all was sent
        return list(iter(lambda: read_answer(reader), None))


def request(path: str, *lines: str | bytes, method: str = "GET", version: str = "HTTP/1.1") -> bytes:
    """Return a request without a body; `lines` are its header fields after Host."""
    head: Iterable[str | bytes] = [f"{method} {path} {version}", "Host: 127.0.0.1", *lines, "", ""]
    return b"\r\n".join(line.encode() if isinstance(line, str) else line for line in head)
