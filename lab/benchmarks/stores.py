"""The two databases of the measurements. Each is reset to an empty catalogue before every run.

This uses psql and sqlite3, so that our process stays small: a process that we start is never reported with less memory.
"""

import shutil
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Protocol

from lab.benchmarks.animals import CATEGORIES, Content
from lab.benchmarks.processes import manage, run

FILL_CATEGORIES = "INSERT INTO categories_category (name, created_at, updated_at) VALUES " + ", ".join(
    f"('{name}', CURRENT_TIMESTAMP, CURRENT_TIMESTAMP)" for name in CATEGORIES
)
SUMS = ", ".join(f"COALESCE(sum({what}), 0)" for what in ("length(name)", "category_id", "length(status)"))
CONTENT = f"SELECT count(*), {SUMS} FROM pets_pet"
HISTORY = "SELECT count(*) FROM pets_petchange"
EMPTY = "TRUNCATE pets_pet, pets_petchange, pets_importrun, pets_importupload, pets_bulkchange RESTART IDENTITY CASCADE"
TIDY = "VACUUM (ANALYZE) pets_pet, pets_petchange, pets_importrun, categories_category"
TABLES = "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'"


class Store(Protocol):
    """A database with the service's schema and the categories in it."""

    name: str
    environment: dict[str, str]
    """The variables that make manage.py use it."""

    def empty(self) -> None:
        """Delete everything except the categories, and leave nothing for VACUUM to do."""

    def execute(self, *statements: str) -> str:
        """Run the statements one by one, and return what the database printed."""

    def numbers(self, query: str) -> list[int]:
        """Return the row that `query` selects."""


def content(store: Store) -> Content:
    """Return the content of the catalogue."""
    return Content(*store.numbers(CONTENT))


def history_rows(store: Store) -> int:
    """Return the number of rows of history."""
    return store.numbers(HISTORY)[0]


def psql(url: str) -> tuple[str, ...]:
    """Return the command that runs psql and stops at the first error."""
    return ("psql", url, "-X", "-q", "-A", "-t", "-F", " ", "-v", "ON_ERROR_STOP=1")


class PostgreSQL:
    """The database of `url`. It must be empty, because its content would be lost."""

    name = "PostgreSQL"

    def __init__(self, url: str) -> None:
        """Create the schema and the categories. Exit if the database is not empty."""
        self.url = url
        self.environment = {"DATABASE_URL": url, "LOG_LEVEL": "ERROR", "PGCLIENTENCODING": "UTF8"}
        if self.numbers(TABLES) != [0]:
            sys.exit("The database of DATABASE_URL is not empty. A measurement would delete its content.")
        run(*manage("migrate", "-v0"), environment=self.environment)
        self.execute(FILL_CATEGORIES)

    def execute(self, *statements: str) -> str:
        """Run the statements one by one, and return what the database printed."""
        commands = [argument for statement in statements for argument in ("-c", statement)]
        return run(*psql(self.url), *commands, environment=self.environment).output

    def empty(self) -> None:
        """Delete everything except the categories."""
        self.execute(EMPTY)
        self.tidy()

    def tidy(self) -> None:
        """Leave nothing for autovacuum to do during a measurement."""
        self.execute(TIDY)

    def numbers(self, query: str) -> list[int]:
        """Return the row that `query` selects."""
        return [int(number) for number in self.execute(query).split()]

    def version(self) -> str:
        """Return the version of the server."""
        return self.execute("SHOW server_version").split()[0]


class SQLite:
    """A file in `folder`, reset from a copy of an empty catalogue."""

    name = "SQLite"

    def __init__(self, folder: Path) -> None:
        """Create the schema and the categories."""
        self.path = folder / "catalogue.sqlite3"
        self.environment = {"DATABASE_URL": f"sqlite:///{self.path}", "LOG_LEVEL": "ERROR"}
        self._unfilled = folder / "unfilled.sqlite3"
        run(*manage("migrate", "-v0"), environment=self.environment)
        with self._connection() as connection:
            connection.execute(FILL_CATEGORIES)
            connection.commit()
            connection.execute("PRAGMA journal_mode=DELETE")  # everything must be in the one file
        self.path.rename(self._unfilled)

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.path)) as connection:
            yield connection

    def empty(self) -> None:
        """Delete everything except the categories."""
        for left in self.path.parent.glob(f"{self.path.name}*"):
            left.unlink()
        shutil.copyfile(self._unfilled, self.path)

    def execute(self, *statements: str) -> str:
        """Run the statements one by one. SQLite prints nothing."""
        with self._connection() as connection, connection:
            for statement in statements:
                connection.execute(statement)
        return ""

    def numbers(self, query: str) -> list[int]:
        """Return the row that `query` selects."""
        with self._connection() as connection:
            return list(connection.execute(query).fetchone())
