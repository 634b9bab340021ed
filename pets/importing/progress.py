"""Shows how far an import is: a bar on a terminal, a line every ten seconds elsewhere."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

TERMINAL_SECONDS, LINE_SECONDS = 0.5, 10.0
READING = 0.4
"""A first estimate of the share of the time of an import that reading takes. It is not measured yet."""

USUAL_WIDTH = 80
"""Columns of a terminal that says it has none, as some do that nobody looks at directly."""


class Progress:
    """Counts rows; a thread looks at the count now and then, so that counting costs nothing."""

    def __init__(self, stream: Any, *, shown: bool) -> None:
        """Write to `stream`, a text file, if `shown`."""
        self._stream = stream
        self._shown = shown
        self._terminal = shown and stream.isatty()
        self.rows = 0
        self._reading_seconds = 0.0

    @contextmanager
    def reading(self, position: Callable[[], int], size: int) -> Iterator[None]:
        """While rows are read, the first phase: `position` says how many of the `size` bytes are done.

        The time that is left includes an estimate of the second phase.
        """
        started = time.monotonic()

        def text() -> str:
            seconds = time.monotonic() - started
            done = min(position() / size, 1.0) if size else 1.0
            left = f", about {seconds / done / READING - seconds:.0f} s left in all" if done > 0.01 else ""
            return f"Reading (1 of 2): {done:.0%}, {self.rows:,} rows, {self.rows / seconds:,.0f} rows/s{left}"

        with self._showing(text, position, size):
            yield
        self._reading_seconds = time.monotonic() - started

    @contextmanager
    def writing(self, rows: int) -> Iterator[None]:
        """While the database writes, the second phase; the time that is left is estimated from the first one."""
        started = time.monotonic()
        expected = self._reading_seconds * (1 - READING) / READING

        def text() -> str:
            seconds = time.monotonic() - started
            left = f", about {expected - seconds:.0f} s left" if seconds < expected else ""
            return f"Writing (2 of 2): {rows:,} rows, {seconds:.0f} s{left}"

        with self._showing(text, lambda: 0, 0):
            yield

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
        ended = threading.Event()
        show = self._bar if self._terminal else self._lines
        thread = threading.Thread(target=show, args=(ended, text, position, size), daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _bar(self, ended: threading.Event, text: Callable[[], str], position: Callable[[], int], size: int) -> None:
        from tqdm import tqdm  # noqa: PLC0415 - it takes a fifth of the start

        layout = "{desc} |{bar}|" if size else "{desc}"
        width = {"ncols": USUAL_WIDTH} if self._has_no_width() else {"dynamic_ncols": True}
        with tqdm(total=size or None, file=self._stream, leave=False, bar_format=layout, **width) as bar:
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
