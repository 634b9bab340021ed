"""The CPU that a PostgreSQL server on this machine has used."""

import subprocess
from functools import cache

from lab.benchmarks.processes import cpu_seconds
from lab.benchmarks.stores import psql

PARENT = r"""
SELECT pg_backend_pid() AS backend \gset
\setenv BACKEND :backend
\! ps -o ppid= -p $BACKEND
"""


def server_cpu(url: str) -> float:
    """Return the CPU seconds of the server so far, in all its processes."""
    return cpu_seconds(_postmaster(url))


@cache
def _postmaster(url: str) -> int:
    return int(subprocess.run(psql(url), input=PARENT, check=True, capture_output=True, text=True).stdout)
