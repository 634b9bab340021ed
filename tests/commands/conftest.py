"""Commands as operators run them: real processes, by a shell."""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from tests.server import ROOT, SECONDS, migrated_database


class Ended(NamedTuple):
    """How a process ended."""

    status: int
    out: str
    err: str


Shell = Callable[[str], Ended]


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    with migrated_database() as url:
        yield url


@pytest.fixture
def shell(database: str) -> Shell:
    """Run a line of bash in which `manage` is manage.py; the status is that of the first command of a pipe."""

    def run(line: str) -> Ended:
        manage = shlex.join([sys.executable, str(ROOT / "manage.py")])
        script = f'manage() {{ {manage} "$@"; }}; {line}; exit ${{PIPESTATUS[0]}}'
        environment = {"PATH": os.environ["PATH"], "DATABASE_URL": database}
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=SECONDS, check=False,
        )  # fmt: skip
        return Ended(done.returncode, done.stdout, done.stderr)

    return run
