"""Installs the generators, by their own locks, the first time a test asks for them: nothing else needs them."""

import fcntl
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
DESCRIPTION = ROOT / "docs" / "openapi.yaml"
PYTHON_LOCK = ROOT / "requirements" / "clients.txt"
PYTHON_FOLDER = ROOT / ".venv-clients"
TYPESCRIPT = Path(__file__).parent / "typescript"

SECONDS = 300
"""How long an installation may take."""

NO_NETWORK = re.compile(
    r"connection broken|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ENOTCACHED|ERR_SOCKET_TIMEOUT"
)
"""What pip and npm print when no registry responds; any other error is a failure."""


def python_tools() -> Path:
    """Return the folder of the programs that `requirements/clients.txt` names; skip if they cannot be installed."""
    with _alone():
        _unless_done(PYTHON_FOLDER, PYTHON_LOCK, _install_python)
    return PYTHON_FOLDER / "bin"


def node_tools() -> Path:
    """Return the `node_modules` that `package-lock.json` names; skip if they cannot be installed."""
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            pytest.skip(f"the TypeScript client needs {program}")
    modules = TYPESCRIPT / "node_modules"
    with _alone():
        _unless_done(modules, TYPESCRIPT / "package-lock.json", _install_node)
    return modules


def run(*command: str | Path, cwd: Path, path: Path | None = None) -> str:
    """Run a program, `path` before the others on PATH, and return what it printed; it must succeed."""
    environment = os.environ | ({"PATH": f"{path}{os.pathsep}{os.environ['PATH']}"} if path else {})
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@contextmanager
def _alone() -> Iterator[None]:
    """Keep other processes out of the block (pytest-xdist runs several)."""
    folder = os.open(Path(__file__).parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _unless_done(folder: Path, lock: Path, install: Callable[[], None]) -> None:
    stamp, digest = folder / "installed", sha256(lock.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == digest:
        return
    shutil.rmtree(folder, ignore_errors=True)
    install()
    stamp.write_text(digest)


def _install_python() -> None:
    _install(sys.executable, "-m", "venv", PYTHON_FOLDER)
    pip = (PYTHON_FOLDER / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "--retries=1")
    _install(*pip, "install", "--quiet", "--require-hashes", "--requirement", PYTHON_LOCK)


def _install_node() -> None:
    _install("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1")


def _install(*command: str | Path) -> None:
    try:
        done = subprocess.run(command, cwd=TYPESCRIPT, capture_output=True, text=True, check=False, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        pytest.skip("the generators of clients cannot be installed: the registry is too slow")
    if done.returncode and NO_NETWORK.search(done.stderr):
        pytest.skip("the generators of clients cannot be installed: no registry responds")
    assert done.returncode == 0, done.stdout + done.stderr
