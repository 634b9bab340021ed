"""A real service for the tests: gunicorn with the configuration that ships, and a database of its own."""

import atexit
import http.client
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg import sql

ROOT = Path(__file__).parent.parent
RELEASE = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
SECONDS = 180
"""How long anything here may take."""

at_the_end = ExitStack()
atexit.register(at_the_end.close)


def free_port() -> int:
    """Return a port that only a server which names it can take in the next minute.

    The connection that we close first leaves it in TIME_WAIT: the kernel gives it to nobody who asks for any port,
    while a server with SO_REUSEADDR (gunicorn, nginx, Redis) can listen there.
    """
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
        server.accept()[0].close()
        port: int = server.getsockname()[1]
        return port


def until(condition: Callable[[], object], *, seconds: float = SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


class Answer(NamedTuple):
    """A response, read to its end."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


def send(
    port: int, method: str, path: str, *, body: bytes | None = None, headers: Mapping[str, str] | None = None
) -> Answer:
    """Send one request on a new connection, so that any worker may serve it."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    try:
        return send_on(connection, method, path, body=body, headers=headers)
    finally:
        connection.close()


def send_on(
    connection: http.client.HTTPConnection,
    method: str,
    path: str,
    *,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """Send one request on a connection that stays open, so that the same worker serves it."""
    connection.request(method, path, body, headers or {})
    response = connection.getresponse()
    return Answer(response.status, response.headers, response.read())


def patiently(ask: Callable[[], Answer]) -> Answer:
    """Ask again while it is 503: the first page of a worker can take longer than a request may, on a busy machine."""
    end = time.monotonic() + SECONDS
    while (answer := ask()).status == 503:
        assert time.monotonic() < end, answer
    return answer


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def head_of_post(key: str, *more: str) -> bytes:
    """Return the head of a request that adds an animal, with more header lines, for a socket."""
    lines = ["POST /v1/pets HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {key}"]
    return "\r\n".join([*lines, "Content-Type: application/json", *more, "", ""]).encode()


ACTIVATE = """\
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.execve(sys.executable, sys.orig_argv[:1] + sys.argv[2:], os.environ | {"LISTEN_FDS": "1", "LISTEN_PID": str(os.getpid())})
"""
"""Becomes another program, to which it gives a socket as systemd does (sd_listen_fds(3))."""

SHELL = """\
import contextlib, io, json, sys
from django.db import connection
for line in sys.stdin:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(json.loads(line), {})
    connection.close()
    print(json.dumps(out.getvalue()), flush=True)
"""
"""Runs one piece of code after another: to start Django takes longer than most of them."""


def listening() -> socket.socket:
    """Return a socket as that of petstore.socket, which lasts longer than the service."""
    return socket.create_server(("127.0.0.1", 0), backlog=4096)


class Gunicorn:
    """One gunicorn with two workers, and the database that it was given."""

    def __init__(
        self,
        folder: Path,
        root: Path = ROOT,
        *,
        python: str = sys.executable,
        module: str = "gunicorn",
        listener: socket.socket | None = None,
        **variables: str,
    ) -> None:
        """Start it; `root` holds the code, `folder` its log, `variables` go before ours.

        The module `server` is what `make run` starts; it gets a session of its own, as from a terminal. A `listener` is
        the socket that it takes, as it would from petstore.socket.
        """
        self.port: int = listener.getsockname()[1] if listener else free_port()
        self.log = folder / "gunicorn.log"
        self.environment = {
            "PATH": os.environ["PATH"],
            "PORT": str(self.port),
            "WEB_CONCURRENCY": "2",
            "DATABASE_URL": _sqlite(folder),
            "LOG_FORMAT": "json",
        } | variables
        self._passed = (listener.fileno(),) if listener else ()
        activate = ["-c", ACTIVATE, *map(str, self._passed)] if listener else []
        self._command = [python, *activate, "-m", module, "--config", f"{root}/deploy/gunicorn.conf.py"]
        self.log.unlink(missing_ok=True)
        self.start()

    def start(self) -> None:
        """Start it again, if it was killed."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self._command,
                cwd=self.log.parent,
                env=self.environment,
                stdout=log,
                stderr=log,
                pass_fds=self._passed,
                start_new_session="server" in self._command,
            )

    def restart(self) -> None:
        """Stop it and start it again, as `systemctl restart petstore` does, and wait until its workers are ready."""
        ready = self.log.read_text().count("Worker ready")
        assert self.stop() == 0
        self.start()
        self.wait_until_ready(workers=ready + int(self.environment["WEB_CONCURRENCY"]))

    @cached_property
    def _shell(self) -> subprocess.Popen[str]:
        command, pipe = (
            [sys.executable, str(ROOT / "manage.py"), "shell", "--verbosity=0", "-c", SHELL],
            subprocess.PIPE,
        )
        return subprocess.Popen(command, cwd=ROOT, env=self.environment, stdin=pipe, stdout=pipe, text=True)

    def shell(self, code: str) -> str:
        """Run code against the same database and return what it printed; one process does so until the service stops."""
        assert self._shell.stdin
        assert self._shell.stdout
        self._shell.stdin.write(json.dumps(code) + "\n")
        self._shell.stdin.flush()
        return str(json.loads(self._shell.stdout.readline()))

    @property
    def url(self) -> str:
        """The address, without a slash at its end."""
        return f"http://127.0.0.1:{self.port}"

    def wait_until_ready(self, *, workers: int = 2) -> None:
        """Wait until so many workers have become ready since the start."""
        until(lambda: self.process.poll() is not None or self.log.read_text().count("Worker ready") >= workers)
        assert self.process.poll() is None, self.log.read_text()

    def send(
        self, method: str, path: str, *, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        return send(self.port, method, path, body=body, headers=headers)

    def get(self, path: str, key: str) -> Answer:
        return self.send("GET", path, headers=bearer(key))

    def post(self, path: str, key: str, body: Any, **headers: str) -> Answer:
        """Send `body` as JSON; `headers` with _ for -."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = bearer(key) | {"Content-Type": "application/json"} | named
        return self.send("POST", path, body=json.dumps(body).encode(), headers=sent)

    def manage(self, *arguments: str, **variables: str) -> str:
        """Run a manage.py command against the same database and return what it printed."""
        return manage(self.environment | variables, *arguments)

    def command(self, *arguments: str) -> str:
        """As `manage`, in the process of `shell`."""
        return self.shell(f"from django.core.management import call_command; call_command(*{arguments!r})")

    def manage_json(self, *arguments: str) -> Any:
        return json.loads(self.manage(*arguments, "--json"))

    def issue_key(self, name: str = "Test", *options: str) -> str:
        """Issue a key with scope write and return it."""
        return self.command("issue_api_key", name, *options, "--secret-only").strip()

    def lines(self) -> list[dict[str, str]]:
        """Return the log, which must be JSON from the first line to the last that is complete."""
        complete, _, _ = self.log.read_text().rpartition("\n")
        return [json.loads(line) for line in complete.splitlines()]

    def logged(self, words: str) -> bool:
        return words in self.log.read_text()

    def workers(self, *, begins: str = "Worker ready") -> list[int]:
        """Return the process numbers of the workers that serve since the start, or ("Long work") of those that work."""
        messages = [line["message"] for line in self.lines()]
        return [int(message.strip(")").split()[-1]) for message in messages if message.startswith(begins)]

    def stop(self) -> int:
        """Stop it gracefully and return its exit status; a second time changes nothing."""
        if shell := self.__dict__.pop("_shell", None):
            shell.communicate()
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise


def manage(environment: Mapping[str, str], *arguments: str) -> str:
    """Run a manage.py command and return what it printed; what it complains about goes to our own stderr."""
    command = [sys.executable, str(ROOT / "manage.py"), *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout


@contextmanager
def migrated_database() -> Iterator[str]:
    """Make a database for the block and give its `DATABASE_URL`.

    It lies beside the one that our own `DATABASE_URL` names if that is PostgreSQL's; else it is an SQLite file.
    """
    folder = tempfile.TemporaryDirectory(prefix="petstore-database-")
    with folder as name, empty_database(Path(name), migrated_template()) as url:
        yield url


@cache
def migrated_template() -> str:
    """Make what new databases are copied from, since a migration takes two seconds. It is removed at the end."""
    folder = Path(at_the_end.enter_context(tempfile.TemporaryDirectory(prefix="petstore-template-")))
    url = at_the_end.enter_context(empty_database(folder))
    manage({"PATH": os.environ["PATH"], "DATABASE_URL": url}, "migrate", "--verbosity=0")
    return url


@contextmanager
def running_server(
    *, database: str | None = None, workers: int = 2, listener: socket.socket | None = None, **variables: str
) -> Iterator[Gunicorn]:
    """Run the service for the block, with a new database unless an address is given; it must stop cleanly."""
    if database is None:
        with (
            migrated_database() as new,
            running_server(database=new, workers=workers, listener=listener, **variables) as server,
        ):
            yield server
        return
    with tempfile.TemporaryDirectory(prefix="petstore-server-") as folder:
        settings = {"DATABASE_URL": database, "WEB_CONCURRENCY": str(workers)} | variables
        server = Gunicorn(Path(folder), ROOT, listener=listener, **settings)
        try:
            server.wait_until_ready(workers=workers)
            assert server.send("GET", "/livez").status == 200
            yield server
        finally:
            status = server.stop()
        assert status == 0


def _sqlite(folder: Path) -> str:
    return f"sqlite:///{folder}/petstore.sqlite3"


@contextmanager
def empty_database(folder: Path, template: str = "") -> Iterator[str]:
    """Make a database without tables, or a copy of a template, for the block and give its `DATABASE_URL`."""
    ours = os.environ.get("DATABASE_URL", "")
    if not ours.startswith("postgres"):
        if template:
            shutil.copy(template.removeprefix("sqlite:///"), folder)
        yield _sqlite(folder)
        return
    name, copied = f"petstore_{secrets.token_hex(8)}", urlsplit(template).path.lstrip("/") or "template1"
    with psycopg.connect(ours, autocommit=True) as connection:
        create = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
        connection.execute(create.format(sql.Identifier(name), sql.Identifier(copied)))
        try:
            yield urlsplit(ours)._replace(path=f"/{name}").geturl()
        finally:
            _drop(connection, name)


def _drop(connection: psycopg.Connection, name: str) -> None:
    """Drop the database, even if something that failed is still connected to it."""
    drop = sql.SQL("DROP DATABASE {}").format(sql.Identifier(name))
    try:
        connection.execute(drop)  # this ends an autovacuum of the database; by force, it would need a superuser
    except psycopg.errors.ObjectInUse:
        connection.execute(drop + sql.SQL(" WITH (FORCE)"))


@contextmanager
def running_redis(folder: Path, *more: str) -> Iterator[str]:
    """Run a Redis of our own, with more options if there are any, and give its `CACHE_URL`."""
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("redis-server is not on PATH")
    port = free_port()
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", str(folder)]
    options += more
    with (folder / "redis.log").open("wb") as log:
        process = subprocess.Popen([program, *options], stdout=log, stderr=log)
    try:
        until(lambda: "Ready to accept connections" in (folder / "redis.log").read_text())
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        process.terminate()
        process.wait()
