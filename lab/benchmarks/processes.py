"""Run commands, and measure their time, CPU and memory."""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024
"""The unit of memory in getrusage(2), in bytes. macOS has its own."""


class Ran(NamedTuple):
    """A command that succeeded. `peak` is its peak resident memory, in bytes."""

    seconds: float
    peak: int
    output: str
    cpu: float
    """Seconds of the process itself, not of a server that works for it."""


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
        return Ran(seconds, usage.ru_maxrss * MAXRSS_UNIT, output.read(), usage.ru_utime + usage.ru_stime)


def least_peak() -> int:
    """Return our own peak, in bytes. The peak of a process that we start is never reported as less."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * MAXRSS_UNIT


def manage(*arguments: str) -> tuple[str, ...]:
    """Return the command that runs a manage.py command."""
    return (sys.executable, str(ROOT / "manage.py"), *arguments)


def cpu_seconds(root: int) -> float:
    """Return the CPU seconds so far of a process, its descendants, and those of them that ended. Linux only."""
    fields, children = {}, defaultdict(list)
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it ended
            pid, stat = int(process.name), (process / "stat").read_text()
            fields[pid] = stat.rpartition(")")[2].split()
            children[int(fields[pid][1])].append(pid)
    return _cpu_seconds(root, fields, children)


def _cpu_seconds(root: int, fields: Mapping[int, list[str]], children: Mapping[int, list[int]]) -> float:
    own, ended = (sum(map(int, fields[root][each : each + 2])) / os.sysconf("SC_CLK_TCK") for each in (11, 13))
    with suppress(OSError):  # it has just ended
        own = time.clock_gettime(~root << 3 | 2)  # exact: the clock that clock_getcpuclockid(3) returns
    return own + ended + sum(_cpu_seconds(child, fields, children) for child in children.get(root, ()))


def parent(pid: int) -> int:
    """Return the parent of a process. Linux only."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
