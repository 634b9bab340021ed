"""Commands as operators run them: real processes, by a shell."""

import os
import shlex
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import psycopg
import pytest

from tests.server import ROOT, SECONDS, migrated_database

MANAGE = shlex.join([sys.executable, str(ROOT / "manage.py")])


class Ended(NamedTuple):
    """How a process ended."""

    status: int
    out: str
    err: str


class Database:
    """The database of the processes, asked without Django."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.is_sqlite = url.startswith("sqlite")

    def query(self, *statements: str) -> Sequence[Any]:
        """Run the statements in one transaction and return the rows of the last."""
        path = urlsplit(self.url).path.removeprefix("/")
        with closing(sqlite3.connect(path) if self.is_sqlite else psycopg.connect(self.url)) as connection:
            for statement in statements:
                cursor = connection.execute(statement)
            rows = list(cursor.fetchall()) if cursor.description else []
            connection.commit()
        return rows

    def secrets(self) -> Sequence[Any]:
        """Return all that a command with a secret may change."""
        keys = "SELECT key_id, CAST(expires_at AS varchar(40)), replaced_by_id FROM apikeys_apikey ORDER BY id"
        return [self.query(keys), self.query("SELECT username, password FROM auth_user ORDER BY id")]


Shell = Callable[[str], Ended]


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with migrated_database() as url:
        yield Database(url)


@pytest.fixture
def environment(database: Database) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "DATABASE_URL": database.url}


@pytest.fixture
def shell(environment: dict[str, str]) -> Shell:
    """Run a line of bash in which `manage` is manage.py; the status is that of the first command of a pipe."""

    def run(line: str) -> Ended:
        script = f'manage() {{ {MANAGE} "$@"; }}; {line}; exit ${{PIPESTATUS[0]}}'
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=SECONDS, check=False,
        )  # fmt: skip
        return Ended(done.returncode, done.stdout, done.stderr)

    return run
