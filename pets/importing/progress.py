"""Shows how far an import or an export is: a bar on a terminal, a line every ten seconds elsewhere."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection

TERMINAL_SECONDS, LINE_SECONDS = 0.5, 10.0
READING = {"postgresql": 0.1, "sqlite": 0.45}
"""The share of the time of an import that reading takes, until imports of this database show theirs: that of 300,000
new animals, once on each."""

NOTED_SECONDS = 1.0
LEAST_SECONDS = 1.0  # a shorter reading says nothing about the share

USUAL_SIZE = {"ncols": 80, "nrows": 24}
"""Of a terminal that says it has none, as some do that nobody looks at directly. Without rows tqdm shows nothing."""


Note = Callable[..., None]
"""Gets `phase` ("read", "check", "write"), `rows`, about how many seconds are `left`, and the `share` that is read."""


@contextmanager
def beside(work: Callable[[threading.Event], None]) -> Iterator[None]:
    """Do `work` in a thread as long as the block lasts; it stops once its event is set."""
    ended = threading.Event()
    thread = threading.Thread(target=work, args=(ended,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


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

    def reading_share(self) -> float | None:
        """Return the share of the time since the start that reading took, more than 0; None if it was too short."""
        if self._reading_seconds < LEAST_SECONDS:
            return None
        return self._reading_seconds / (time.monotonic() - self._began)

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

    @contextmanager
    def _showing(self, text: Callable[[], str], position: Callable[[], int], size: int) -> Iterator[None]:
        if not self._shown:
            yield
            return
        show = self._bar if self._terminal else self._lines
        with beside(lambda ended: show(ended, text, position, size)):
            yield

    def _bar(self, ended: threading.Event, text: Callable[[], str], position: Callable[[], int], size: int) -> None:
        from tqdm import tqdm  # noqa: PLC0415 - it takes a fifth of the start

        layout = "{desc} |{bar}|" if size else "{desc}"
        shape = USUAL_SIZE if self._has_no_width() else {"dynamic_ncols": True}
        with tqdm(total=size or None, file=self._stream, leave=False, bar_format=layout, **shape) as bar:
            while not ended.wait(TERMINAL_SECONDS):
                bar.n = min(position(), size)
                bar.set_description_str(text())

    def _has_no_width(self) -> bool:
        try:
            return os.get_terminal_size(self._stream.fileno()).columns == 0
        except (OSError, ValueError):
            return False

    def _lines(self, ended: threading.Event, text: Callable[[], str], _position: object, _size: object) -> None:
        while not ended.wait(LINE_SECONDS):
            self._stream.write(f"{text()}\n")
            self._stream.flush()
