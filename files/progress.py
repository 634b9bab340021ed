"""How far an import or an export is, and how long it still takes."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from shutil import get_terminal_size
from typing import Any

from django.db import connection

READING = {"postgresql": 0.1, "sqlite": 0.45}
"""The share of the time of an import that reading takes: that of 300,000 new animals, once on each."""

NOTED_SECONDS = 1.0
SHOWN_SECONDS = 0.5

Note = Callable[..., None]
"""Gets `phase` ("read", "check", "write"), `rows`, about how many seconds are `left`, and the `share` that is read."""


class Progress:
    """Counts rows; a thread looks at the count now and then, so that counting costs nothing."""

    def __init__(self, stream: Any, *, shown: bool, note: Note | None = None) -> None:
        """Show a bar on `stream` if it is a terminal. `note` gets each phase as it begins, and reading each second."""
        self._stream, self._shown, self._note = stream, shown and stream.isatty(), note
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

    @contextmanager
    def _showing(
        self, text: Callable[[], str], position: Callable[[], int] = lambda: 0, size: int = 0
    ) -> Iterator[None]:
        """Show `text`, and `position` of `size`, by a thread: the block may wait for the database for minutes."""
        ended = threading.Event()
        thread = threading.Thread(target=self._show, args=(ended, text, position, size), daemon=True)
        if self._shown:
            thread.start()
        try:
            yield
        finally:
            ended.set()
            if self._shown:
                thread.join()

    def _show(self, ended: threading.Event, text: Callable[[], str], position: Callable[[], int], size: int) -> None:
        from tqdm import tqdm  # noqa: PLC0415 - it takes a fifth of the start

        layout = "{desc} |{bar}|" if size else "{desc}"
        columns, rows = get_terminal_size()  # the usual ones if the terminal has none: tqdm would show nothing
        total, stream = size or None, self._stream
        with tqdm(total=total, file=stream, leave=False, bar_format=layout, ncols=columns, nrows=rows) as bar:
            while not ended.wait(SHOWN_SECONDS):
                bar.n = min(position(), size)
                bar.set_description_str(text())
