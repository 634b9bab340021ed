"""Run commands, and measure their time and memory."""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024
"""The unit of memory in getrusage(2), in bytes. macOS has its own."""


class Ran(NamedTuple):
    """A command that succeeded. `peak` is its peak resident memory, in bytes."""

    seconds: float
    peak: int
    output: str


def run(*command: str, environment: Mapping[str, str] | None = None) -> Ran:
    """Run `command` with `environment` added to ours. Exit if the command fails."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
        began = time.perf_counter()
        process = subprocess.Popen(command, cwd=ROOT, env=os.environ | (environment or {}), stdout=output)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        if process.returncode:
            sys.exit(f"{' '.join(command)}: exit status {process.returncode}\n{output.read()}")
        return Ran(seconds, usage.ru_maxrss * MAXRSS_UNIT, output.read())


def least_peak() -> int:
    """Return our own peak, in bytes. The peak of a process that we start is never reported as less."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * MAXRSS_UNIT


def manage(*arguments: str) -> tuple[str, ...]:
    """Return the command that runs a manage.py command."""
    return (sys.executable, str(ROOT / "manage.py"), *arguments)
