"""What people see of an import while it runs."""

import io
import os
import pty
from collections.abc import Callable
from contextlib import AbstractContextManager
from itertools import count
from threading import Event
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from files import progress
from files.progress import Progress
from tests.server import until


class Screen(io.StringIO):
    """A terminal; keeps the first text with a time."""

    def __init__(self) -> None:
        super().__init__()
        self.isatty = lambda: True  # type: ignore[method-assign]
        self.first = ""
        self.shown = Event()

    def write(self, text: str) -> int:
        if " s" in text and not self.first:
            self.first = text
            self.shown.set()
        return len(text)


Show = Callable[[Progress], AbstractContextManager[None]]
READING: Show = lambda work: work.reading(lambda: 50, 100)  # noqa: E731
WORKING: Show = lambda work: work.working(lambda: f"Exporting: {work.rows} animals")  # noqa: E731


@pytest.fixture
def _drawn_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("tqdm.tqdm.monitor_interval", 0)  # its thread would never end
    monkeypatch.setattr("tqdm.tqdm._lock", MagicMock(), raising=False)  # an error would leave it locked
    monkeypatch.setattr(progress, "SHOWN_SECONDS", 0.01)


@pytest.mark.usefixtures("_drawn_at_once")
@pytest.mark.parametrize(
    ("show", "shown"),
    [
        (READING, "\rReading (1 of 2): 50%, 10 rows, 10 rows/s, about 4 s left in all |######5      |"),
        (WORKING, "\rExporting: 10 animals, 1 s"),
    ],
)
def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch, show: Show, shown: str) -> None:
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=count().__next__))
    screen = Screen()
    work = Progress(screen, shown=True)
    work.rows = 10
    work.usual_share = 0.4
    with show(work):
        assert screen.shown.wait(60)
    assert screen.first == shown


@pytest.mark.usefixtures("_drawn_at_once")
@pytest.mark.parametrize(
    ("reading", "shown"),
    [(20, "\rWriting (2 of 2): 10 rows, 0 s, about 30 s left"), (0, "\rWriting (2 of 2): 10 rows, 0 s")],
)
def test_the_time_of_writing_is_estimated_from_that_of_reading(
    monkeypatch: pytest.MonkeyPatch, reading: int, shown: str
) -> None:
    now = [0]
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: now[0]))
    screen = Screen()
    work = Progress(screen, shown=True)
    work.usual_share = 0.4
    with Progress.reading(work, lambda: 1, 1):
        now[0] = reading
    screen.first = ""
    screen.shown.clear()
    with work.writing(10):
        assert screen.shown.wait(60)
    assert screen.first == shown


def read(terminal: int) -> bytes:
    """Return what has come since the last time."""
    try:
        return os.read(terminal, 10_000)
    except BlockingIOError:
        return b""


def test_a_terminal_without_a_width_shows_the_phase(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, end = pty.openpty()
    os.set_blocking(terminal, False)
    monkeypatch.setattr("tqdm.tqdm.monitor_interval", 0)
    monkeypatch.setattr(progress, "SHOWN_SECONDS", 0.01)
    with os.fdopen(end, "w", encoding="utf-8") as stream:
        assert os.get_terminal_size(end).columns == 0
        monkeypatch.setattr("sys.stderr", stream)  # only there tqdm asks for the number of rows
        with Progress(stream, shown=True).writing(10):
            until(lambda: b"Writing (2 of 2): 10 rows" in read(terminal))
    os.close(terminal)


def test_a_page_gets_each_phase_and_the_time_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading is a quarter of the whole; a note comes with each phase, and each second while rows are read."""
    now, notes = [100.0], list[dict[str, Any]]()
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: now[0]))
    work = Progress(None, shown=False, note=lambda **note: notes.append(note))
    work.usual_share = 0.25
    with work.reading(lambda: 5, 10):
        work.add(1)
        now[0] += 10
        work.add(1)
        work.add(1)
        now[0] += 10
    with work.writing(3, "Checking"):
        now[0] += 20
    with work.writing(3):
        pass
    assert notes == [
        {"phase": "read", "rows": 0, "left": 0},
        {"phase": "read", "rows": 2, "share": 0.5, "left": 70},
        {"phase": "check", "rows": 3, "left": 60},
        {"phase": "write", "rows": 3, "left": 40},
    ]
