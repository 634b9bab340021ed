"""What people see of an import while it runs."""

import os
import pty
from collections.abc import Iterator
from select import select
from types import SimpleNamespace
from typing import Any, TextIO

import pytest

from files import progress
from files.management.base import counting, noting
from files.progress import Progress


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[int, TextIO]]:
    """A terminal without a width: what it shows can be read, and it can be standard error."""
    terminal, end = pty.openpty()
    monkeypatch.setattr("tqdm.tqdm.monitor_interval", 0)  # its thread would never end
    with os.fdopen(end, "w", encoding="utf-8") as stream:
        yield terminal, stream
    os.close(terminal)


def read(terminal: int, text: str) -> None:
    """Read until the text has come."""
    seen = b""
    while text.encode() not in seen:
        assert select([terminal], [], [], 60)[0], seen
        seen += os.read(terminal, 10_000)


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch, terminal: tuple[int, TextIO]) -> None:
    number, stream = terminal
    monkeypatch.setattr("sys.stderr", stream)
    with noting(shown=True) as note:
        note(phase="read", rows=10, left=4.4, share=0.5)
        read(number, "\rReading (1 of 2): 10 rows, about 4 s left |")
        note(phase="write", rows=1_000, left=0)
        read(number, "\rWriting (2 of 2): 1,000 rows |")


def test_a_count_on_a_terminal(monkeypatch: pytest.MonkeyPatch, terminal: tuple[int, TextIO]) -> None:
    number, stream = terminal
    monkeypatch.setattr("sys.stderr", stream)
    with counting("Exporting", "animals", shown=True) as count:
        read(number, "\rExporting: 0 animals [00:00, ? animals/s]")
        count(3)


@pytest.mark.parametrize("shown", [True, False])
def test_without_a_terminal_nothing_is_shown(capfd: pytest.CaptureFixture[str], shown: bool) -> None:
    with counting("Exporting", "animals", shown=shown) as count, noting(shown=shown) as note:
        count(3)
        note(phase="read", rows=1, left=0)
    assert capfd.readouterr() == ("", "")


def test_a_page_gets_each_phase_and_the_time_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading is a quarter of the whole; a note comes with each phase, and each second while rows are read."""
    now, notes = [100.0], list[dict[str, Any]]()
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: now[0]))
    work = Progress(lambda **note: notes.append(note))
    work.usual_share = 0.25
    with work.reading(lambda: 5, 10):
        work.add(1)
        now[0] += 10
        work.add(1)
        work.add(1)
        now[0] += 10
    work.writing(3, "check")
    now[0] += 20
    work.writing(3)
    assert notes == [
        {"phase": "read", "rows": 0, "left": 0},
        {"phase": "read", "rows": 2, "share": 0.5, "left": 70},
        {"phase": "check", "rows": 3, "left": 60},
        {"phase": "write", "rows": 3, "left": 40},
    ]
