"""The fast tests pass a month, two months and a year from now: none of them knows today's date.

All of them are run a year ahead. What a nearer day breaks, such as a span of days that goes over the end of a year, is in
the files that name a day.
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

NAMES_A_DAY = re.compile(r"\b(datetime|timezone|tests\.days)\b")
DATED = sorted(str(file) for file in (ROOT / "tests").rglob("test_*.py") if NAMES_A_DAY.search(file.read_text("utf-8")))


@pytest.mark.skipif(not shutil.which("cc"), reason="cc is not installed")
@pytest.mark.parametrize(("days", "tests"), [(31, DATED), (60, DATED), (400, [])], ids=["31", "60", "400"])
def test_they_pass_on_another_day(tmp_path: Path, days: int, tests: list[str]) -> None:
    faulthandler.cancel_dump_traceback_later()  # the command has its time, longer than that of a test
    clock = tmp_path / "clock.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(clock), str(ROOT / "tests" / "clock.c")], check=True)
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    shifted = kept | {"LD_PRELOAD": str(clock), "DAYS_AHEAD": str(days)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "auto", "-m", "not slow", *tests]
    ended = subprocess.run(command, cwd=ROOT, env=shifted, capture_output=True, text=True, timeout=1_800, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
