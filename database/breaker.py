"""Stop waiting for what does not respond: after a failure, skip it for a while."""

import time
from threading import Lock


class Breaker:
    """Open after a failure: nothing is tried for `seconds`, then one caller at a time tries again."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._closed_from = 0.0
        self._failed = False
        self._lock = Lock()

    def allows(self) -> bool:
        """Return whether to try. After a failure the next `seconds` belong to the caller that gets True."""
        with self._lock:
            if time.monotonic() < self._closed_from:
                return False
            if self._failed:
                self._closed_from = time.monotonic() + self.seconds
            return True

    def fail(self) -> None:
        with self._lock:
            self._failed = True
            self._closed_from = time.monotonic() + self.seconds

    def succeed(self) -> None:
        with self._lock:
            self._failed, self._closed_from = False, 0.0
