"""More requests than the service can serve: many connections in one thread, none of which ever waits."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from typing import NamedTuple

from benchmarks.load import request, responses
from tests.meanwhile import meanwhile

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
