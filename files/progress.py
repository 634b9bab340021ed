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
        self._stream, self._shown, self._note = stream, shown, note
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

        def text() -> str:
            seconds, share = time.monotonic() - self._began, self._share()
            left = f", about {self._left(seconds):.0f} s left in all" if share > 0.01 else ""
            return f"Reading (1 of 2): {share:.0%}, {self.rows:,} rows, {self.rows / seconds:,.0f} rows/s{left}"

        if self._note is not None:
            self._note(phase="read", rows=self.rows, left=0)
        with self._showing(text, position, size):
            yield
        self._share, self._read_in = lambda: 1.0, time.monotonic() - self._began

    @contextmanager
    def writing(self, rows: int, what: str = "Writing") -> Iterator[None]:
        """While the database works, the second phase."""
        started = time.monotonic()

        def text() -> str:
            now = time.monotonic()
            left = self._left(now - self._began)
            about = f", about {left:.0f} s left" if left > 0 else ""
            return f"{what} (2 of 2): {rows:,} rows, {now - started:.0f} s{about}"

        if self._note is not None:
            phase = "check" if what == "Checking" else "write"
            self._note(phase=phase, rows=self.rows, left=self._left(started - self._began))
        with self._showing(text):
            yield

    def working(self, what: Callable[[], str]) -> AbstractContextManager[None]:
        """While something is done that cannot say how long it takes."""
        started = time.monotonic()
        return self._showing(lambda: f"{what()}, {time.monotonic() - started:.0f} s")

    def add(self, rows: int) -> None:
        self.rows += rows
        if self._note is not None and time.monotonic() - self._noted_at >= NOTED_SECONDS:
            self._noted_at = time.monotonic()
            left = self._left(self._noted_at - self._began)
            self._note(phase="read", rows=self.rows, share=self._share(), left=left)

    def _left(self, seconds: float) -> float:
        """Return about how many seconds are left, so many after the begin: reading is the usual share of all."""
        read_in = seconds if self._read_in is None else self._read_in
        return read_in / self._share() / self.usual_share - seconds

    def _showing(
        self, text: Callable[[], str], position: Callable[[], int] = lambda: 0, size: int = 0
    ) -> AbstractContextManager[None]:
        return shown(self._stream, text, position, size) if self._shown else nullcontext()
