"""The thread that saves what requests left in memory, so that no request waits for a write."""

import atexit
import threading
import time
from collections.abc import Callable

from django.conf import settings
from django.db import connection


class Writer:
    """Calls the flushes that were given to it, every `settings.API_KEY_USE_FLUSH_SECONDS` and when the process ends."""

    def __init__(self) -> None:
        """Start without a thread: a server may fork before there is anything to write."""
        self._lock = threading.Lock()
        self._flushes: list[Callable[[], None]] = []
        self._thread: threading.Thread | None = None

    def calls(self, flush: Callable[[], None]) -> Callable[[], None]:
        """Call `flush` too from now on, and return it; it must not raise."""
        self._flushes.append(flush)
        return flush

    def start(self) -> None:
        """Start the thread unless it runs; to be called whenever there is something to write."""
        if settings.API_KEY_USE_FLUSH_SECONDS is None or self._is_running():
            return
        with self._lock:
            if not self._is_running():
                self._thread = threading.Thread(target=self._write_on, name="api-key-use", daemon=True)
                self._thread.start()
                atexit.register(self._flush_and_close)

    def _is_running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _write_on(self) -> None:
        while (seconds := settings.API_KEY_USE_FLUSH_SECONDS) is not None:
            time.sleep(seconds)
            self._flush_and_close()

    def _flush_and_close(self) -> None:
        for flush in self._flushes:
            flush()
        connection.close()


_writer = Writer()
calls = _writer.calls
start = _writer.start
