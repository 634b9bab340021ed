"""Every release since 1.1.0 can be migrated; a database from before cannot, and is left as it is."""

import lzma
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.released.make import FOLDER
from tests.server import ROOT, empty_database, manage, running_server

GROWING = {"django_migrations", "django_content_type", "auth_permission", "auth_group_permissions", "pets_bulkchange"}
"""Tables that `migrate` adds rows to."""

CHANGE = "bulk_change_id"
"""The column of the history that names the change of a row. What was none becomes one; all else of a row stays."""

REFUSED = (
    "CommandError: This database was created before 1.1.0 and cannot be migrated. Nothing changed. "
    "Export its animals with the code that created it, and import them into a new database (docs/install.md).\n"
)


class Database:
    """A database that is read as it is, without our models."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.is_sqlite = url.startswith("sqlite")

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        connection: Any = (
            sqlite3.connect(self.url.removeprefix("sqlite:///")) if self.is_sqlite else psycopg.connect(self.url)
        )
        with closing(connection), connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def restore(self, version: str) -> None:
        if self.is_sqlite:
            Path(self.url.removeprefix("sqlite:///")).write_bytes(kept(f"{version}.sqlite3"))
        else:
            self.query(kept(f"{version}.sql").decode())

    def columns(self) -> dict[str, list[str]]:
        """Return the columns of each table."""
        if self.is_sqlite:
            tables = self.query("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
            return {name: [row[1] for row in self.query(f'PRAGMA table_info("{name}")')] for (name,) in tables}
        statement = (
            "SELECT table_name, array_agg(column_name::text ORDER BY ordinal_position) "
            "FROM information_schema.columns WHERE table_schema = 'public' GROUP BY 1"
        )
        return dict(self.query(statement))

    def rows(self, columns: dict[str, list[str]]) -> dict[str, set[str]]:
        """Return every row of each table, in these columns."""
        return {table: {repr(row) for row in self.query(select(table, names))} for table, names in columns.items()}


def select(table: str, columns: list[str]) -> str:
    return f'SELECT {", ".join(f"{chr(34)}{name}{chr(34)}" for name in columns)} FROM "{table}"'


def kept(name: str) -> bytes:
    return lzma.decompress((FOLDER / f"{name}.xz").read_bytes())


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with empty_database(tmp_path) as url:
        yield Database(url)


def migrate(database: Database) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "manage.py", "migrate", "--verbosity=0"]
    environment = {"PATH": os.environ["PATH"], "DATABASE_URL": database.url}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("version", sorted({file.name[: -len(".sql.xz")] for file in FOLDER.glob("*.sql.xz")}))
def test_every_row_of_a_release_is_still_there(database: Database, version: str) -> None:
    database.restore(version)
    columns = database.columns()
    columns["pets_petchange"].remove(CHANGE)
    named = f"SELECT history_id, {CHANGE} FROM pets_petchange WHERE {CHANGE} IS NOT NULL"
    before, was_named = database.rows(columns), {*database.query(named)}
    assert sum(map(len, before.values())) > 1000
    assert len([table for table, rows in before.items() if rows]) > 15
    done = migrate(database)
    assert (done.returncode, done.stderr) == (0, "")
    after = database.rows(columns)
    assert was_named <= {*database.query(named)}
    for table in columns:
        added = after[table] - before[table]
        assert (table, before[table] - after[table], added if table not in GROWING else set()) == (table, set(), set())
    with running_server(database=database.url, workers=1) as service:
        key = service.issue_key()
        ids = [pet["id"] for pet in service.get("/v1/pets?limit=100", key).json()]
        newest = database.query("SELECT id FROM pets_pet ORDER BY id DESC LIMIT 100")
        assert ids == [number for (number,) in newest]
        assert service.post("/v1/pets", key, {"name": "New", "categoryId": 1}).status == 201
        assert service.send("GET", "/readyz").status == 200
        assert "Shop" in service.manage("list_api_keys", "--all")


@pytest.mark.parametrize(
    "old",
    [
        pytest.param(["DROP TABLE pets_stockmovement"], id="1.0.0"),
        pytest.param(
            [
                "INSERT INTO django_migrations (app, name, applied) "
                "VALUES ('pets', '0002_check_category_at_once', CURRENT_TIMESTAMP)"
            ],
            id="before the squash",
        ),
    ],
)
def test_a_database_from_before_1_1_is_refused_and_unchanged(database: Database, old: list[str]) -> None:
    manage({"PATH": os.environ["PATH"], "DATABASE_URL": database.url}, "migrate", "pets", "0001", "--verbosity=0")
    for statement in old:
        database.query(statement)
    before = database.rows(database.columns())
    done = migrate(database)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", REFUSED)
    assert database.rows(database.columns()) == before
