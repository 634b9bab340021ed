"""What is broken: the service as it ships, with a PostgreSQL that keeps what it acknowledged."""

import atexit
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.server import Gunicorn, manage, running_server, until
from tests.with_postgresql import NoPostgreSQLError, Server, find_binaries

SETTINGS = {
    "listen_addresses": "",
    "max_connections": "200",
    "synchronous_commit": "local",
    "synchronous_standby_names": "nobody",  # matters only to the outage that turns synchronous_commit on
}


class Store(NamedTuple):
    """A database, the service in front of it, and a key with scope write."""

    postgresql: Server
    service: Gunicorn
    key: str

    @property
    def port(self) -> int:
        """The port of the service."""
        return self.service.port


@contextmanager
def running_store(*, workers: int = 2, listener: socket.socket | None = None, **variables: str) -> Iterator[Store]:
    """Run both for the block."""
    with (
        short_folder() as folder,
        running_postgresql(folder) as postgresql,
        running_service(postgresql.url, workers=workers, listener=listener, **variables) as service,
    ):
        yield Store(postgresql, service, key())


@contextmanager
def running_service(
    url: str, *, workers: int = 2, listener: socket.socket | None = None, **variables: str
) -> Iterator[Gunicorn]:
    """Run the service."""
    with running_server(database=url, workers=workers, listener=listener, **variables) as service:
        wait_for_all(service)
        yield service


def serving(service: Gunicorn) -> list[int]:
    """Return the process numbers of the workers that are ready and still there, the oldest first."""
    messages = [line["message"] for line in service.lines()]
    ready = [int(message.rpartition(" ")[2][:-1]) for message in messages if message.startswith("Worker ready")]
    return [pid for pid in ready if Path(f"/proc/{pid}/exe").exists()]


def wait_for_all(service: Gunicorn) -> None:
    """Wait until all workers are ready."""
    until(lambda: len(serving(service)) >= int(service.environment["WEB_CONCURRENCY"]))


@contextmanager
def short_folder() -> Iterator[Path]:
    """Make a folder for the block: the path of a socket can have some 100 bytes, and another user must reach it."""
    with tempfile.TemporaryDirectory(prefix="petstore-chaos-", dir="/tmp") as folder:
        yield Path(folder)


@contextmanager
def running_postgresql(folder: Path) -> Iterator[Server]:
    """Run a PostgreSQL with some animals for the block."""
    with started(copied_server(folder)) as server:
        yield server


@contextmanager
def started(server: Server) -> Iterator[Server]:
    """Run the server for the block."""
    server.start()
    try:
        yield server
    finally:
        server.stop()


def copied_server(folder: Path) -> Server:
    """Return a server that was not started yet, with the schema and some animals."""
    original, _ = _original()
    subprocess.run(["cp", "-a", f"{original}/.", str(folder)], check=True)
    return _server(folder)


def key() -> str:
    """Return a key that all of them know."""
    return _original()[1]


@cache
def _original() -> tuple[Path, str]:
    """Return a folder to copy, and the key."""
    folder = Path(tempfile.mkdtemp(prefix="petstore-chaos-", dir="/tmp"))
    atexit.register(shutil.rmtree, folder)
    server = _server(folder)
    server.create()
    with started(server):
        environment = {"PATH": os.environ["PATH"], "DATABASE_URL": server.url}
        manage(environment, "migrate", "--verbosity=0")
        manage(environment, "load_demo_data")
        issued = manage(environment, "issue_api_key", "Chaos", "--secret-only").strip()
    return folder, issued


def _server(folder: Path) -> Server:
    try:
        return Server(folder, find_binaries(), settings=SETTINGS)
    except NoPostgreSQLError as missing:
        pytest.skip(str(missing))
