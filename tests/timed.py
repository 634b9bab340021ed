"""Requests and how long they took."""

import http.client
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from tests.server import Answer

LOST = Answer(0, http.client.HTTPMessage(), b"")
"""What a caller has whose connection ended without a response."""


class Timed(NamedTuple):
    answer: Answer
    seconds: float
    begun: float = 0.0
    """By the monotonic clock."""


def timed(send: Callable[[], Answer]) -> Timed:
    begun = time.monotonic()
    try:
        answer = send()
    except (OSError, http.client.HTTPException):
        answer = LOST
    return Timed(answer, time.monotonic() - begun, begun)


def soon(send: Callable[[], Timed], seconds: float) -> Timed:
    """Return the first that takes less, of those in six seconds: a busy machine delays only some, a mistake all."""
    end = time.monotonic() + 6
    while (answer := send()).seconds >= seconds:
        assert time.monotonic() < end, answer
    return answer


def at_once(*sends: Callable[[], Timed]) -> list[Timed]:
    with ThreadPoolExecutor(len(sends)) as pool:
        return [future.result() for future in [pool.submit(send) for send in sends]]
