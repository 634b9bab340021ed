"""`functools.cache` lets threads that come together build side by side; here the first builds and the others wait."""

from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")


class once(Generic[T]):  # noqa: N801 - a decorator
    """Makes a function without arguments run once in a process; an exception is not remembered."""

    def __init__(self, build: Callable[[], T]) -> None:
        """Decorate `build`."""
        self._build = cache(build)
        self._lock = Lock()
        self.forget = self._build.cache_clear

    def __call__(self) -> T:
        """Return what `build` returned."""
        with self._lock:
            return self._build()
