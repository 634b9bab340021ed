"""The fast tests pass in a year, and those that read the clock in six weeks: none of them knows today's date.

What a nearer day breaks, such as a span of days that goes over the end of a year, is in tests that read the clock.
"""

import faulthandler
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.server import ROOT

READS_THE_CLOCK = re.compile(r"timezone\.now|datetime\.now|date\.today|tests\.days")
DATED = sorted(
    str(file) for file in (ROOT / "tests").rglob("test_*.py") if READS_THE_CLOCK.search(file.read_text("utf-8"))
)


@pytest.mark.skipif(not shutil.which("cc"), reason="cc is not installed")
@pytest.mark.parametrize(("days", "tests"), [(45, DATED), (400, [])], ids=["45", "400"])
def test_they_pass_on_another_day(tmp_path: Path, days: int, tests: list[str]) -> None:
    faulthandler.cancel_dump_traceback_later()  # the command has its time, longer than that of a test
    clock = tmp_path / "clock.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(clock), str(ROOT / "tests" / "clock.c")], check=True)
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    shifted = kept | {"LD_PRELOAD": str(clock), "DAYS_AHEAD": str(days)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "auto", "-m", "not slow", *tests]
    ended = subprocess.run(command, cwd=ROOT, env=shifted, capture_output=True, text=True, timeout=1_800, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
