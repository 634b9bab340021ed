"""Callers of the service in the trial: what readers and writers share."""

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


class Callers:
    """Threads that call the service until a block ends."""

    def __init__(self, port: int, key: str, pause: float, host: str = "127.0.0.1") -> None:
        self.port, self.key, self.pause, self.host = port, key, pause, host
        self._stop = threading.Event()

    @contextlib.contextmanager
    def _calling(self, call: Callable[[T], None], each: Iterable[T]) -> Iterator[None]:
        """Run `call` for each of these in a thread; it returns when `_stop` is set."""
        threads = [threading.Thread(target=call, args=(one,)) for one in each]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._stop.set()
            for thread in threads:
                thread.join()
