"""Tests find their fixtures whatever the order of files on the command line."""

import subprocess
import sys

from tests.server import ROOT


def test_a_folder_is_left_and_entered_again() -> None:
    files = ["tests/portal/test_search.py", "tests/test_times.py", "tests/portal/test_markdown.py"]
    command = [sys.executable, "-m", "pytest", "--setup-plan", "-p", "no:cacheprovider", *files]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stdout
