"""The queue before a few threads or connections: a request that would wait too long is rejected at once."""

import asyncio
import time
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

from petstore_site.public.errors import BusyError

MOST_SECONDS = 2
"""How long the last in the queue may have to wait, as far as can be foreseen. A rejection takes more than half of the
time that a read takes, so that rejecting early serves fewer."""

WEIGHT = 0.05
"""Of the last request, in the average of how long they keep a place."""


class Queue:
    """Counts the requests that wait (`with queue`), and knows how long each place is kept on average."""

    def __init__(self, places: int) -> None:
        self.waiting = 0
        self._places = places
        self._average_seconds = 0.0

    def admit(self) -> None:
        """Raise `BusyError` if a new request would wait too long."""
        if self.waiting * self._average_seconds / self._places > MOST_SECONDS:
            raise BusyError

    def __enter__(self) -> None:
        self.waiting += 1

    def __exit__(self, *_: object) -> None:
        self.waiting -= 1

    def learn(self, seconds: float) -> None:
        """Take into the average how long a place was kept."""
        self._average_seconds += WEIGHT * (seconds - self._average_seconds)


def within(seconds: float, latest: float, *rooms: asyncio.Semaphore | asyncio.Lock) -> AbstractAsyncContextManager[Any]:
    """Return what raises `TimeoutError` after so many seconds, or at the time `latest` of `time.perf_counter`.

    That takes time, so it does nothing if all rooms are free.
    """
    if any(room.locked() for room in rooms):
        return asyncio.timeout(min(seconds, latest - time.perf_counter()))
    return nullcontext()
