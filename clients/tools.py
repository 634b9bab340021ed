"""Install the generators of clients, by their own locks, when they are needed first: nothing else needs them."""

import fcntl
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
DESCRIPTION = ROOT / "docs" / "openapi.yaml"
TOOLS = Path(os.environ.get("CLIENT_TOOLS", ROOT))
"""The checkout whose generators are used: a clone need not install its own."""

PYTHON_LOCK = ROOT / "requirements" / "clients.txt"
PYTHON_FOLDER = TOOLS / ".venv-clients"
TYPESCRIPT = TOOLS / "clients" / "typescript"

SECONDS = 300
"""How long a program may take."""

NO_NETWORK = re.compile(
    r"connection broken|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ENOTCACHED|ERR_SOCKET_TIMEOUT"
)
"""What pip and npm print when no registry responds; any other error is a failure."""


class CannotInstallError(Exception):
    """A program is missing, or no registry responds."""


def python_tools(lock: Path = PYTHON_LOCK, folder: Path = PYTHON_FOLDER) -> Path:
    """Return the folder of the programs that a lock names, in the virtual environment `folder`."""
    with _alone():
        _unless_done(folder, lock, partial(_install_python, lock, folder))
    return folder / "bin"


def node_tools(folder: Path = TYPESCRIPT) -> Path:
    """Return the `node_modules` that the `package-lock.json` in `folder` names."""
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            message = f"{folder.relative_to(TOOLS)} needs {program}"
            raise CannotInstallError(message)
    modules = folder / "node_modules"
    with _alone():
        _unless_done(modules, folder / "package-lock.json", partial(_install_node, folder))
    return modules


def run(*command: str | Path, cwd: Path, environment: Mapping[str, str] | None = None) -> str:
    """Run a program, with more in its environment, and return what it printed; it must succeed."""
    variables = os.environ | (environment or {})
    done = subprocess.run(command, cwd=cwd, env=variables, capture_output=True, text=True, check=False, timeout=SECONDS)
    _check(done)
    return done.stdout


def path_with(folder: Path) -> dict[str, str]:
    """Return a PATH on which the programs of `folder` are first."""
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


def _check(done: subprocess.CompletedProcess[str]) -> None:
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)


@contextmanager
def _alone() -> Iterator[None]:
    """Keep other processes out of the block (pytest-xdist runs several)."""
    folder = os.open(TOOLS / "clients", os.O_RDONLY)
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


def _install_python(lock: Path, folder: Path) -> None:
    _install(sys.executable, "-m", "venv", folder, cwd=ROOT)
    pip = (folder / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "--retries=1")
    _install(
        *pip, "install", "--quiet", "--no-compile", "--no-deps", "--require-hashes", "--requirement", lock, cwd=ROOT
    )


def _install_node(folder: Path) -> None:
    _install("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1", cwd=folder)


def _install(*command: str | Path, cwd: Path) -> None:
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=SECONDS)
    except subprocess.TimeoutExpired as error:
        message = "the generators of clients cannot be installed: the registry is too slow"
        raise CannotInstallError(message) from error
    if done.returncode and NO_NETWORK.search(done.stderr):
        message = "the generators of clients cannot be installed: no registry responds"
        raise CannotInstallError(message)
    _check(done)
