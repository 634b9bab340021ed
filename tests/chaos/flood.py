"""More requests than the service can serve: many connections in one thread, none of which ever waits."""

import json
import time
from collections.abc import Iterator
from threading import Event, Thread
from typing import NamedTuple, Self

from benchmarks.load import Connection, request, responses

RETRY_AFTER = b"\r\nretry-after:"


class Call(NamedTuple):
    """A response. `status` is 0 if the connection ended without one."""

    begun: float
    seconds: float
    status: int
    says_when: bool
    """Whether it has `Retry-After`."""


def lists(key: str) -> list[bytes]:
    """Return the request of the newest animals."""
    return [request("GET", "/v1/pets", key)]


def additions(key: str) -> list[bytes]:
    """Return a request that adds an animal."""
    body = json.dumps({"name": "Flood", "categoryId": 1}).encode()
    return [request("POST", "/v1/pets", key, "Content-Type: application/json", body=body)]


class Flood:
    """Sends requests on all connections while the block lasts."""

    def __init__(self, port: int, requests: Iterator[bytes], *, connections: int) -> None:
        self.calls: list[Call] = []
        self._given = port, requests, connections
        self._stop = Event()
        self._thread = Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_raised: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        port, requests, connections = self._given
        for client, status in responses(port, requests, connections=connections, going=lambda: not self._stop.is_set()):
            self._take(client, status)

    def _take(self, client: Connection, status: int) -> None:
        seconds = time.perf_counter() - client.began
        says_when = RETRY_AFTER in client.received.partition(b"\r\n\r\n")[0].lower()
        self.calls.append(Call(client.began, seconds, status, says_when))
