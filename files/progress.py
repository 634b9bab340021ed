"""How far an import or an export is, and how long it still takes."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from django.db import connection

from commands.progress import shown

READING = {"postgresql": 0.1, "sqlite": 0.45}
"""The share of the time of an import that reading takes: that of 300,000 new animals, once on each."""

NOTED_SECONDS = 1.0

Note = Callable[..., None]
"""Gets `phase` ("read", "check", "write"), `rows`, about how many seconds are `left`, and the `share` that is read."""


class Progress:
    """Counts rows; a thread looks at the count now and then, so that counting costs nothing."""

    def __init__(self, stream: Any, *, shown: bool, note: Note | None = None) -> None:
        """Write to `stream`, a text file, if `shown`. `note` gets each phase as it begins, and reading each second."""
        self._stream = stream
        self._shown = shown
        self._terminal = shown and stream.isatty()
        self._note = note
        self._noted_at = 0.0
        self.rows = 0
        self.usual_share = READING[connection.vendor]  # the share of the time that reading is expected to take
        self._began = self._reading_seconds = 0.0

    @contextmanager
    def reading(self, position: Callable[[], int], size: int) -> Iterator[None]:
        """While rows are read, the first phase: `position` says how many of the `size` bytes are done.

        The time that is left includes an estimate of the second phase.
        """
        started = self._began = self._noted_at = time.monotonic()

        def text() -> str:
            seconds = time.monotonic() - started
            done = min(position() / size, 1.0) if size else 1.0
            left = f", about {seconds / done / self.usual_share - seconds:.0f} s left in all" if done > 0.01 else ""
            return f"Reading (1 of 2): {done:.0%}, {self.rows:,} rows, {self.rows / seconds:,.0f} rows/s{left}"

        self._position, self._size = position, size
        self._begin("read")
        with self._showing(text, position, size):
            yield
        self._reading_seconds = time.monotonic() - started

    @contextmanager
    def writing(self, rows: int, what: str = "Writing") -> Iterator[None]:
        """While the database works, the second phase; the time that is left is estimated from the first one."""
        started = time.monotonic()
        ends = self._began + self._reading_seconds / self.usual_share

        def text() -> str:
            now = time.monotonic()
            left = f", about {ends - now:.0f} s left" if now < ends else ""
            return f"{what} (2 of 2): {rows:,} rows, {now - started:.0f} s{left}"

        self._begin("check" if what == "Checking" else "write")
        with self._showing(text, lambda: 0, 0):
            yield

    @contextmanager
    def exporting(self, count: Callable[[], int]) -> Iterator[None]:
        """While `rows` are written that can only be counted by a query, which a bar alone is worth."""
        started, total = time.monotonic(), count() if self._terminal else 0

        def text() -> str:
            seconds = time.monotonic() - started
            left = f", about {seconds * (total / self.rows - 1):.0f} s left" if total and self.rows else ""
            return f"Exporting: {self.rows:,} animals, {seconds:.0f} s{left}"

        with self._showing(text, lambda: self.rows, total):
            yield

    def add(self, rows: int) -> None:
        self.rows += rows
        if self._note is not None and time.monotonic() - self._noted_at >= NOTED_SECONDS:
            self._noted_at = time.monotonic()
            share = min(self._position() / self._size, 1.0) if self._size else 1.0
            seconds = time.monotonic() - self._began
            self._note(phase="read", rows=self.rows, share=share, left=seconds / share / self.usual_share - seconds)

    def _begin(self, phase: str) -> None:
        if self._note is not None:
            ends = self._began + self._reading_seconds / self.usual_share
            self._note(phase=phase, rows=self.rows, left=ends - time.monotonic())

    @contextmanager
    def working(self, what: str) -> Iterator[None]:
        """While the database works and cannot say how far it is."""
        started = time.monotonic()
        with self._showing(lambda: f"{what}: {time.monotonic() - started:.0f} s", lambda: 0, 0):
            yield

    def _showing(self, text: Callable[[], str], position: Callable[[], int], size: int) -> AbstractContextManager[None]:
        return shown(self._stream, text, position, size) if self._shown else nullcontext()
