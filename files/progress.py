"""How far an import is, and how long it still takes."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection

READING = {"postgresql": 0.1, "sqlite": 0.45}
"""The share of the time of an import that reading takes: that of 300,000 new animals, once on each."""

NOTED_SECONDS = 1.0

Note = Callable[..., Any]
"""Gets `phase` ("read", "check", "write"), `rows`, about how many seconds are `left`, and the `share` that is read."""


class Progress:
    """Counts rows, and notes how far an import is: each phase as it begins, and reading each second."""

    def __init__(self, note: Note = lambda **_: None) -> None:
        self._note = note
        self.rows = 0
        self.usual_share = READING[connection.vendor]  # the share of the time that reading is expected to take
        self._share: Callable[[], float] = lambda: 1.0  # of the file that is read
        self._began = self._noted_at = 0.0
        self._read_in: float | None = 0.0  # seconds; None while it is read

    @contextmanager
    def reading(self, position: Callable[[], int], size: int) -> Iterator[None]:
        """While rows are read, the first phase: `position` says how many of the `size` bytes are done."""
        self._began = self._noted_at = time.monotonic()
        self._share, self._read_in = lambda: min(position() / size, 1.0) if size else 1.0, None
        self._note(phase="read", rows=self.rows, left=0)
        yield
        self._share, self._read_in = lambda: 1.0, time.monotonic() - self._began

    def writing(self, rows: int, phase: str = "write") -> None:
        """Note that the database works, the second phase."""
        self._note(phase=phase, rows=rows, left=self._left(time.monotonic() - self._began))

    def add(self, rows: int) -> None:
        self.rows += rows
        if time.monotonic() - self._noted_at >= NOTED_SECONDS:
            self._noted_at = time.monotonic()
            left = self._left(self._noted_at - self._began)
            self._note(phase="read", rows=self.rows, share=self._share(), left=left)

    def _left(self, seconds: float) -> float:
        """Return about how many seconds are left, so many after the begin: reading is the usual share of all."""
        read_in = seconds if self._read_in is None else self._read_in
        return read_in / max(self._share(), 0.01) / self.usual_share - seconds
