"""Send requests to a server on loopback as fast as it responds, from one process that does little else."""

import re
import selectors
import socket
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from itertools import cycle
from typing import NamedTuple

LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
CLOSE = re.compile(rb"\r\nconnection: *close", re.IGNORECASE)


class Figures(NamedTuple):
    """What one run showed. CPU is in µs per request, `p50` and `p99` are in ms."""

    requests_per_second: float
    server_cpu: float
    database_cpu: float
    p50: float | None
    p99: float | None
    errors: int
    """Responses with another status, and connections that ended without a response."""

    @property
    def cpu(self) -> float:
        """CPU of the server and the database."""
        return self.server_cpu + self.database_cpu


def request(method: str, path: str, key: str, *headers: str, body: bytes = b"") -> bytes:
    """Return the bytes of a request."""
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
        """Close the connection."""
        if self.socket.fileno() >= 0:
            self.selector.unregister(self.socket)
            self.socket.close()

    def send(self, request: bytes) -> None:
        """Send a request."""
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


def measure(  # noqa: PLR0913 - what a run consists of
    port: int,
    requests: Iterable[bytes],
    *,
    status: int,
    connections: int,
    seconds: float,
    cpu: Callable[[], tuple[float, float]],
) -> Figures:
    """Warm up, then measure. `cpu` returns the CPU seconds of the server and the database so far."""
    _send(port, requests, status=status, connections=connections, seconds=seconds / 4)
    before, began = cpu(), time.perf_counter()
    latencies, errors = _send(port, requests, status=status, connections=connections, seconds=seconds)
    taken, after = time.perf_counter() - began, cpu()
    server, database = ((now - then) * 1e6 / len(latencies) for now, then in zip(after, before, strict=True))
    p50, p99 = (round(figure * 1000, 2) for figure in percentiles(latencies))
    return Figures(round(len(latencies) / taken), round(server, 1), round(database, 1), p50, p99, errors)


def percentiles(values: list[float]) -> tuple[float, float]:
    """Return p50 and p99."""
    return statistics.median(values), statistics.quantiles(values, n=100, method="inclusive")[98]


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


def _send(
    port: int, requests: Iterable[bytes], *, status: int, connections: int, seconds: float
) -> tuple[list[float], int]:
    """Return the seconds of each response, and the number of errors."""
    latencies, errors = list[float](), 0
    end = time.perf_counter() + seconds
    seen = responses(port, cycle(requests), connections=connections, going=lambda: time.perf_counter() < end)
    for client, received in seen:
        latencies.append(time.perf_counter() - client.began)
        errors += received != status
    return latencies, errors
