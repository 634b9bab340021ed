"""Two instances of the service with one database and one Redis. The first is killed, the second never."""

import os
import secrets
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple, Self

import redis
from tests.server import ROOT, Gunicorn, manage, running_redis, until
from tests.with_postgresql import Server

from lab.chaos.store import running_postgresql

USER, PASSWORD = "soak", "correct horse battery staple"
"""An administrator."""


class Instance:
    """A service that gets its port back when it is started again, as systemd would."""

    def __init__(self, folder: Path, **variables: str) -> None:
        """Start it. Its logs lie in `folder`, one of each start."""
        self._folder, self._variables, self._starts = folder, variables, 0
        self.service = self._start()
        self.port = self.service.port

    def _start(self) -> Gunicorn:
        self._starts += 1
        folder = self._folder / str(self._starts)
        folder.mkdir(parents=True)
        return Gunicorn(folder, ROOT, listener=None, **self._variables)

    @property
    def workers(self) -> list[int]:
        """The process numbers of the workers, the oldest first."""
        return children(self.service.process.pid)

    def kill(self) -> None:
        """SIGKILL the master, wait until its workers have noticed, and start it again."""
        orphans = self.workers
        self.service.process.kill()
        self.service.process.wait()
        until(lambda: not any(Path(f"/proc/{pid}/exe").exists() for pid in orphans))
        self._variables["PORT"] = str(self.port)
        self.service = self._start()
        self.service.wait_until_ready()

    def __enter__(self) -> Self:
        self.service.wait_until_ready()
        return self

    def __exit__(self, *_raised: object) -> None:
        self.service.stop()


class Shop(NamedTuple):
    """All that runs."""

    postgresql: Server
    redis: int
    """The process number of Redis."""
    cache: str
    broken: Instance
    steady: Instance
    environment: dict[str, str]
    """For commands."""

    @property
    def instances(self) -> tuple[Instance, Instance]:
        return self.broken, self.steady

    @staticmethod
    def command(*arguments: str) -> list[str]:
        """Return a manage.py command."""
        return [sys.executable, str(ROOT / "manage.py"), *arguments]

    def manage(self, *arguments: str) -> str:
        """Run a command; raises `CalledProcessError`."""
        return manage(self.environment, *arguments)


@contextmanager
def running_shop(folder: Path) -> Iterator[Shop]:
    """Run it for the block, with an administrator. `folder` must not have a long path."""
    (folder / "postgresql").mkdir()
    folder.chmod(0o755)
    with ExitStack() as stack:
        postgresql = stack.enter_context(running_postgresql(folder / "postgresql"))
        cache = stack.enter_context(running_redis(folder))
        environment = {"DATABASE_URL": postgresql.url, "CACHE_URL": cache, "SECRET_KEY": secrets.token_hex(32)}
        _add_administrator(environment)
        broken, steady = (stack.enter_context(Instance(folder / name, **environment)) for name in ("broken", "steady"))
        client = redis.Redis.from_url(cache)
        number = int(client.info()["process_id"])  # type: ignore[index]  # redis types it for both of its clients
        yield Shop(postgresql, number, cache, broken, steady, environment | {"PATH": os.environ["PATH"]})


def _add_administrator(environment: dict[str, str]) -> None:
    password = {"DJANGO_SUPERUSER_PASSWORD": PASSWORD, "PATH": os.environ["PATH"]}
    manage(environment | password, "createsuperuser", "--noinput", f"--username={USER}", "--email=soak@example.com")


def children(pid: int) -> list[int]:
    """Return the process numbers of the children of a process, the oldest first."""
    try:
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:  # it has just ended
        return []


def freeze(pid: int) -> None:
    os.kill(pid, signal.SIGSTOP)


def thaw(pid: int) -> None:
    os.kill(pid, signal.SIGCONT)
