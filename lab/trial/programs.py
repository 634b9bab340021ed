"""Programs that the trial runs, and how it talks to them."""

import contextlib
import http.client
import itertools
import os
import random
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

PATIENCE = 180
"""Seconds until anything is given up."""

ports = itertools.count(random.randrange(20000, 30000, 50))


class Program:
    """A program that can be started again; its output goes to a file."""

    def __init__(
        self, folder: Path, name: str, command: list[str], environment: Mapping[str, str], account: str | None
    ) -> None:
        self.log, self.command, self.folder, self.account = folder / f"{name}.log", command, folder, account
        self.environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"} | dict(environment)
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The process, or 0 before the first start."""
        return self.process.pid if self.process else 0

    def start(self) -> None:
        """Start it; one that ran before was killed."""
        self.kill()
        groups = {"user": self.account, "group": self.account, "extra_groups": []} if self.account else {}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True, **groups,  # type: ignore[call-overload]  # it knows no dictionaries
            )  # fmt: skip

    def stop(self) -> None:
        """Ask it to end, and wait."""
        if self.process:
            self.process.terminate()
            self.process.wait(PATIENCE)

    def kill(self) -> None:
        """End it if it runs."""
        if self.process:
            self.process.kill()
            self.process.wait()


def send_to_all(processes: list[int], sent: signal.Signals) -> None:
    """Send a signal to those that still run."""
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            if process:
                os.kill(process, sent)


def send(
    port: int,
    method: str,
    path: str,
    body: str | None = None,
    headers: Mapping[str, str] | None = None,
    *,
    host: str = "127.0.0.1",
) -> tuple[int, bytes]:
    """Send one request on a new connection; the status is 0 if there is no response within 10 s."""
    connection = http.client.HTTPConnection(host, port, timeout=10)
    try:
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        return response.status, response.read()
    except (OSError, http.client.HTTPException):
        return 0, b""
    finally:
        connection.close()


def wait_until(condition: Callable[[], Any]) -> Any:
    """Wait for a true value and return it."""
    deadline = time.monotonic() + PATIENCE
    while not (value := condition()):
        if time.monotonic() > deadline:
            print(f"Given up after {PATIENCE} s.")
            raise TimeoutError
        time.sleep(0.1)
    return value


def free_port() -> int:
    """Return a port below those that the system gives to connections: no one takes it while its server is down."""
    for port in ports:
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise SystemExit("There is no free port.")


def find(program: str) -> str:
    """Return the path of a program."""
    found = shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin")
    if not found:
        raise SystemExit(f"{program} is not installed. See docs/high-availability.md")
    return found


def find_postgresql() -> str:
    """Return the folder of the newest PostgreSQL's programs."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    return str(found[-1] if found else Path(find("postgres")).parent)
