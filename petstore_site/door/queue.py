"""The queue before a few places, threads or connections: who comes is rejected at once if the wait would be long."""

MOST_SECONDS = 1.0
"""How long the last in the queue may have to wait, as far as can be foreseen."""

WEIGHT = 0.1
"""Of the last request, in the average of how long they keep a place."""


class BusyError(Exception):
    """No place was free, or will be free in time: the request was not begun."""


class Queue:
    """Counts the requests that wait (`with queue`), and knows how long each place is kept on average."""

    def __init__(self, places: int) -> None:
        self.waiting = 0
        self._places = places
        self._average_seconds = 0.0

    def admit(self) -> None:
        """Raise `BusyError` if one who comes now would wait too long."""
        if self.waiting * self._average_seconds / self._places > MOST_SECONDS:
            raise BusyError

    def __enter__(self) -> None:
        self.waiting += 1

    def __exit__(self, *_: object) -> None:
        self.waiting -= 1

    def learn(self, seconds: float) -> None:
        """Take into the average how long a place was kept."""
        self._average_seconds += WEIGHT * (seconds - self._average_seconds)
