"""What people see of an import while it runs."""

import io
from itertools import count
from threading import Event
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest

from pets.importing import progress
from pets.importing.progress import Progress


class Screen(io.StringIO):
    """A terminal or a file; keeps the first text with a time."""

    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self.isatty = lambda: terminal  # type: ignore[method-assign]
        self.first = ""
        self.shown = Event()

    def write(self, text: str) -> int:
        if " s" in text and not self.first:
            self.first = text
            self.shown.set()
        return len(text)


@pytest.mark.parametrize(
    ("terminal", "size", "shown"),
    [
        (True, 100, "\rReading: 50%, 10 rows, 10 rows/s, 1 s left |#####     |"),
        (True, None, "\rWriting 10 rows: 1 s"),
        (False, 100, "Reading: 50%, 10 rows, 10 rows/s, 1 s left\n"),
        (False, None, "Writing 10 rows: 1 s\n"),
    ],
    ids=["bar", "no bar", "lines", "lines without a share"],
)
def test_a_bar_on_a_terminal_and_lines_elsewhere(
    monkeypatch: pytest.MonkeyPatch, size: int | None, shown: str, *, terminal: bool
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr("tqdm.tqdm.monitor_interval", 0)  # its thread would never end
    monkeypatch.setattr("tqdm.tqdm._lock", MagicMock(), raising=False)  # an error would leave it locked
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=count().__next__))
    monkeypatch.setattr(progress, "TERMINAL_SECONDS", 0.01)
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.01)
    screen = Screen(terminal=terminal)
    work = Progress(screen, shown=True)
    work.rows = 10
    with work.reading(lambda: 50, size) if size else work.working("Writing 10 rows"):
        assert screen.shown.wait(5)
    assert screen.first == shown
