"""Shows how far an import is: a bar on a terminal, a line every ten seconds elsewhere."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

TERMINAL_SECONDS, LINE_SECONDS = 0.5, 10.0


class Progress:
    """Counts rows; a thread looks at the count now and then, so that counting costs nothing."""

    def __init__(self, stream: Any, *, shown: bool) -> None:
        """Write to `stream`, a text file, if `shown`."""
        self._stream = stream
        self._shown = shown
        self._terminal = shown and stream.isatty()
        self.rows = 0

    @contextmanager
    def reading(self, position: Callable[[], int], size: int) -> Iterator[None]:
        """While rows are read: `position` says how many of the `size` bytes are done."""
        started = time.monotonic()

        def text() -> str:
            seconds = time.monotonic() - started
            done = min(position() / size, 1.0) if size else 1.0
            left = f", {seconds / done - seconds:.0f} s left" if done > 0.01 else ""
            return f"Reading: {done:.0%}, {self.rows:,} rows, {self.rows / seconds:,.0f} rows/s{left}"

        with self._showing(text, position, size):
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
        with tqdm(total=size or None, file=self._stream, leave=False, bar_format=layout, dynamic_ncols=True) as bar:
            while not ended.wait(TERMINAL_SECONDS):
                bar.n = min(position(), size)
                bar.set_description_str(text())

    def _lines(self, ended: threading.Event, text: Callable[[], str], _position: object, _size: object) -> None:
        while not ended.wait(LINE_SECONDS):
            self._stream.write(f"{text()}\n")
            self._stream.flush()
