"""Many connections in one thread, none of which ever waits: enough to send more than the service can serve."""

import json
import re
import selectors
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from threading import Event
from typing import NamedTuple

from tests.meanwhile import meanwhile

LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
CLOSE = re.compile(rb"\r\nconnection: *close", re.IGNORECASE)
RETRY_AFTER = b"\r\nretry-after:"


class Call(NamedTuple):
    """A response. `status` is 0 if the connection ended without one."""

    begun: float
    seconds: float
    status: int
    says_when: bool
    """Whether it has `Retry-After`."""


def request(method: str, path: str, key: str, *headers: str, body: bytes = b"") -> bytes:
    head = (f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {key}", *headers)
    length = (f"Content-Length: {len(body)}",) if body else ()
    return "\r\n".join((*head, *length, "", "")).encode() + body


class Connection:
    """A client that sends one request at a time. It connects again if the server closed the connection."""

    def __init__(self, port: int, selector: selectors.BaseSelector) -> None:
        self.port, self.selector = port, selector
        self._connect()

    def _connect(self) -> None:
        self.socket = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.selector.register(self.socket, selectors.EVENT_READ, self)

    def close(self) -> None:
        if self.socket.fileno() >= 0:
            self.selector.unregister(self.socket)
            self.socket.close()

    def send(self, request: bytes) -> None:
        if self.socket.fileno() < 0:
            self._connect()
        self.received, self.began = b"", time.perf_counter()
        with suppress(ConnectionError):  # `receive` sees it
            self.socket.sendall(request)

    def receive(self) -> int | None:
        """Return the status once the response is complete, 0 if the connection ended, None if there is more."""
        try:
            new = self.socket.recv(65536)
        except ConnectionError:
            new = b""
        self.received += new
        head, end, body = self.received.partition(b"\r\n\r\n")
        if new and not end:
            return None
        status, length = int(head[9:12] or 0), LENGTH.search(head)
        if new and status != 304 and len(body) < int(length[1] if length else 0):
            return None
        if not new or CLOSE.search(head):
            self.close()
        return status if new else 0


def fetch(port: int, request: bytes) -> tuple[bytes, bytes]:
    """Send one request. Return the headers and the body of the response."""
    with selectors.DefaultSelector() as selector:
        client = Connection(port, selector)
        client.send(request)
        while client.receive() is None:
            pass
        client.close()
    head, _, body = client.received.partition(b"\r\n\r\n")
    return head, body


def responses(
    port: int, requests: Iterator[bytes], *, connections: int, going: Callable[[], bool]
) -> Iterator[tuple[Connection, int]]:
    """Yield each client that has a response, and its status. Then the client sends the next, while this is `going`."""
    with selectors.DefaultSelector() as selector, ExitStack() as stack:
        for _ in range(connections):
            client = Connection(port, selector)
            stack.callback(client.close)
            client.send(next(requests))
        waiting = connections
        while waiting:
            for key, _ in selector.select():
                client = key.data
                status = client.receive()
                if status is None:
                    continue
                yield client, status
                if going():
                    client.send(next(requests))
                else:
                    client.close()
                    waiting -= 1


def lists(key: str) -> list[bytes]:
    return [request("GET", "/v1/pets", key)]


def additions(key: str) -> list[bytes]:
    body = json.dumps({"name": "Flood", "categoryId": 1}).encode()
    return [request("POST", "/v1/pets", key, "Content-Type: application/json", body=body)]


@contextmanager
def flood(port: int, requests: Iterator[bytes], *, connections: int) -> Iterator[list[Call]]:
    """Send requests on all connections in the block; yield the responses so far."""
    calls: list[Call] = []

    def send(over: Event) -> None:
        for client, status in responses(port, requests, connections=connections, going=lambda: not over.is_set()):
            seconds = time.perf_counter() - client.began
            says_when = RETRY_AFTER in client.received.partition(b"\r\n\r\n")[0].lower()
            calls.append(Call(client.began, seconds, status, says_when))

    with meanwhile(send):
        yield calls
