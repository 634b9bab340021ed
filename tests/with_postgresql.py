"""Runs a command with a throwaway PostgreSQL: `python tests/with_postgresql.py COMMAND [ARG…]`.

Tests and benchmarks need a real server on any machine, also as root, without an account or a service.
Only the standard library is used, so that it runs before anything is installed.
"""

import contextlib
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import quote

LEFT_OUT = 77
"""Exit status when the machine has no PostgreSQL server (automake's "skipped")."""

PLACES = (
    "/usr/lib/postgresql/*/bin",  # Debian
    "/usr/pgsql-*/bin",  # Red Hat
    "/opt/homebrew/opt/postgresql@*/bin",
    "/usr/local/opt/postgresql@*/bin",
    "/Applications/Postgres.app/Contents/Versions/*/bin",
    "/usr/local/pgsql/bin",
)
READY_SECONDS = 120
STOP_SECONDS = 10
DATABASE = """\
CREATE ROLE petstore LOGIN CREATEDB
CREATE DATABASE petstore OWNER petstore
"""
SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "200",
    "deadlock_timeout": "400ms",  # then autovacuum gives way to the TRUNCATE between tests, which waits a second at most
    "synchronous_standby_names": "nobody",  # matters only to the test that turns synchronous_commit on for itself
}


class NoPostgreSQLError(Exception):
    """No server binaries were found."""

    def __str__(self) -> str:
        """Return the sentence that says what was looked for and how to get it."""
        return (
            "no initdb and postgres found on PATH or in /usr/lib/postgresql/*/bin;"
            " on Debian: apt-get install postgresql"
        )


def find_binaries() -> Path:
    """Return the folder that holds `initdb` and `postgres`: that of PATH, else the newest of `PLACES`.

    Raises `NoPostgreSQLError`.
    """
    on_path = shutil.which("initdb")
    candidates = [Path(on_path).resolve().parent] if on_path else []
    for place in PLACES:
        candidates += sorted(Path("/").glob(place.removeprefix("/")), key=_version, reverse=True)
    for folder in candidates:
        if all(os.access(folder / name, os.X_OK) for name in ("initdb", "postgres")):
            return folder
    raise NoPostgreSQLError


def _version(folder: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", str(folder))]


def _account() -> pwd.struct_passwd | None:
    """Return the user the server runs as, or None for our own: PostgreSQL does not run as root."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    return names.get("postgres") or names["nobody"]


@dataclass
class Server:
    """A cluster in `folder`, reachable only through a socket there, that no one else uses."""

    folder: Path
    binaries: Path = field(default_factory=find_binaries)
    account: pwd.struct_passwd | None = field(default_factory=_account)
    process: subprocess.Popen[bytes] | None = None
    settings: Mapping[str, str] = field(default_factory=lambda: SETTINGS)

    @property
    def url(self) -> str:
        """The address for `DATABASE_URL`; its role owns its database and may create others."""
        return f"postgres://petstore@/petstore?host={quote(str(self.folder), safe='')}&port=5432"

    def create(self) -> None:
        """Make the cluster, the role and the database."""
        if self.account:
            os.chown(self.folder, self.account.pw_uid, self.account.pw_gid)
        locale = "C.UTF-8" if sys.platform == "linux" else "C"
        self._run("initdb", "--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8", f"--locale={locale}")
        # The single-user mode needs no client program; it reports a failure only in words.
        printed = self._run("postgres", "--single", "-F", "postgres", text=DATABASE)
        if "ERROR" in printed or "FATAL" in printed:
            raise RuntimeError(printed)

    def start(self) -> None:
        """Start the server and return when it accepts connections."""
        options = [f"--{name}={value}" for name, value in self.settings.items()]
        with (self.folder / "log").open("ab") as log:
            # A session of its own: a Ctrl-C in the terminal must reach the command first.
            self.process = subprocess.Popen(
                [self.binaries / "postgres", *options, f"--unix_socket_directories={self.folder}"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, **self._as_account(),
            )  # fmt: skip
        self._wait_until_ready(self.process)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop the server: SIGINT is PostgreSQL's fast shutdown, SIGQUIT its immediate one, like a crash.

        SIGKILL kills all of its processes, as the loss of its machine does. Those of a dead postmaster work on for a
        while, and until they end, the server does not start again.
        """
        if self.process is None:
            return
        forked = self.freeze() if how is signal.SIGKILL else []
        self.process.send_signal(how)
        if forked:
            _kill(forked)
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait()
        self.process = None

    def freeze(self) -> list[int]:
        """Stop the postmaster first, or it could fork meanwhile, then what it forked; return those processes."""
        assert self.process
        self.process.send_signal(signal.SIGSTOP)
        forked = [each for each, parent in _running() if parent == self.process.pid]
        for each in forked:
            with contextlib.suppress(ProcessLookupError):
                os.kill(each, signal.SIGSTOP)
        return forked

    def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> None:
        # The last line of postmaster.pid is the state, which pg_ctl reads too.
        status = self.folder / "data" / "postmaster.pid"
        deadline = time.monotonic() + READY_SECONDS
        while process.poll() is None and time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                lines = status.read_text().split()
                if lines[:1] == [str(process.pid)] and lines[-1] == "ready":
                    return
            time.sleep(0.02)
        self.stop(signal.SIGQUIT)
        raise RuntimeError((self.folder / "log").read_text(errors="replace"))

    def _run(self, name: str, *arguments: str, text: str = "") -> str:
        done: subprocess.CompletedProcess[str] = subprocess.run(
            [self.binaries / name, *arguments],
            input=text, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **self._as_account(),
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(done.stdout)
        return done.stdout

    def _as_account(self) -> dict[str, Any]:
        """Return Popen's arguments: the other user, a folder it may enter, and none of the caller's PG* variables."""
        environment = {"PGDATA": str(self.folder / "data"), "PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}
        if self.account is None:
            return {"cwd": self.folder, "env": environment}
        ids = {"user": self.account.pw_uid, "group": self.account.pw_gid, "extra_groups": []}
        return {"cwd": self.folder, "env": environment, **ids}


def _kill(processes: list[int]) -> None:
    """Kill them, and wait until they are gone."""
    for each in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)
    while any(each in processes for each, _ in _running()):
        time.sleep(0.01)


def _running() -> Iterator[tuple[int, int]]:
    """Yield each process and its parent, without those that have ended."""
    listed = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid=,stat="], stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    for process, parent, state in (line.split() for line in listed.splitlines()):
        if not state.startswith("Z"):
            yield int(process), int(parent)


@contextlib.contextmanager
def server() -> Iterator[Server]:
    """Run a new server in the block, which may stop and start it.

    Raises `NoPostgreSQLError`, or `RuntimeError` with what PostgreSQL printed.
    """
    binaries = find_binaries()
    # Not the machine's TMPDIR: a socket's path may have some 100 bytes, and the other user must be able to reach it.
    folder = Path(tempfile.mkdtemp(prefix="petstore-pg-", dir="/tmp"))
    running = Server(folder, binaries)
    try:
        running.create()
        running.start()
        yield running
    finally:
        running.stop()
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def postgresql() -> Iterator[str]:
    """Run a new server in the block and give its `DATABASE_URL`; errors as in `server`."""
    with server() as running:
        yield running.url


class Command:
    """The command, and what signals meant for us do with it."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._handle)

    def run(self, arguments: list[str], environment: Mapping[str, str]) -> int:
        """Run it to its end and return its exit status, 128 + N if signal N ended it."""
        try:
            self.process = subprocess.Popen(arguments, env=environment)
        except OSError as error:
            sys.stderr.write(f"{arguments[0]}: {error.strerror}\n")
            return 127
        status = self.process.wait()
        for number in (signal.SIGINT, signal.SIGTERM):  # the server is stopped next, which nothing may cut short
            signal.signal(number, signal.SIG_IGN)
        return status if status >= 0 else 128 - status

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        if self.process is None:
            raise SystemExit(128 + number)
        if number != signal.SIGINT or not _in_foreground():
            self.process.send_signal(number)


def _in_foreground() -> bool:
    """Whether a terminal sends its Ctrl-C to us, and so to the command too."""
    try:
        with Path("/dev/tty").open("rb", buffering=0) as terminal:
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False


def main(arguments: list[str]) -> int:
    """Run the command with `DATABASE_URL` set and return the exit status."""
    if not arguments:
        sys.stderr.write("usage: python tests/with_postgresql.py COMMAND [ARG…]\n")
        return 2
    command = Command()
    try:
        with postgresql() as url:
            return command.run(arguments, os.environ | {"DATABASE_URL": url})
    except NoPostgreSQLError as error:
        sys.stderr.write(f"PostgreSQL ({error})\n")
        return LEFT_OUT


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
