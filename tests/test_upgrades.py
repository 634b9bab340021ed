"""Releases since 1.5 can be migrated, and have the tables of a new database then. One from before is left as it is."""

import lzma
import os
import re
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
from tests.server import ROOT, empty_database, manage, migrated_database, running_server

GROWING = {"django_migrations", "django_content_type", "auth_permission", "auth_group_permissions"}
"""Tables that `migrate` adds rows to."""

TOO_OLD = (
    "CommandError: This database is of a release before 1.5. Nothing changed. "
    "First upgrade to 1.6, then to this release (docs/install.md).\n"
)

SCHEMA = """
SELECT table_name, column_name, concat_ws(' ', data_type, character_maximum_length, is_nullable, column_default,
    identity_generation, collation_name)
FROM information_schema.columns WHERE table_schema = 'public'
UNION ALL SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'
UNION ALL SELECT conrelid::regclass::text, conname,
    concat_ws(' ', pg_get_constraintdef(oid), condeferrable, condeferred, convalidated)
FROM pg_constraint WHERE connamespace = 'public'::regnamespace
UNION ALL SELECT tgrelid::regclass::text, tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
UNION ALL SELECT '', proname, pg_get_functiondef(oid) FROM pg_proc p WHERE pronamespace = 'public'::regnamespace
    AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
"""

CHANGES = "SELECT history_id, bulk_change_id FROM pets_petchange ORDER BY 1"
CHANGES_UNTIL_2_0 = """
SELECT history_id, coalesce(bulk_change_id, change_id)
FROM pets_petchange LEFT JOIN pets_importrun r ON r.id = import_run_id ORDER BY 1
"""
"""Rows of imports have the change of their import since 2.1."""

DAYS = "SELECT id, sold_on FROM pets_pet WHERE sold_on IS NOT NULL ORDER BY 1"

AS_WRITTEN = re.compile(r"::(?:text|character varying)(?:\[\])?|[\s\"()]")
"""What a dump writes in another way: casts, brackets, and the ends of lines."""


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

    def schema(self) -> set[tuple[str, ...]]:
        """Return each column, index, constraint, trigger and function, with all that it does."""
        if not self.is_sqlite:
            return {(table, name, AS_WRITTEN.sub("", text)) for table, name, text in self.query(SCHEMA)}
        found: set[tuple[str, ...]] = set()
        for kind, name, text in self.query("SELECT type, tbl_name, coalesce(sql, name) FROM sqlite_master"):
            if kind == "table":  # a table that was rebuilt has its columns in another order
                columns = text.partition("(")[2].removesuffix(")")
                found |= {(name, AS_WRITTEN.sub("", part)) for part in re.split(r", ?(?=\"|CONSTRAINT)", columns)}
            else:
                found.add((name, kind, AS_WRITTEN.sub("", text)))
        return found

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


@pytest.fixture(scope="module")
def schema_of_a_new_database() -> Iterator[set[tuple[str, ...]]]:
    with migrated_database() as url:
        yield Database(url).schema()


@pytest.mark.parametrize("version", sorted({file.name[: -len(".sql.xz")] for file in FOLDER.glob("*.sql.xz")}))
def test_every_row_of_a_release_is_still_there(
    database: Database, schema_of_a_new_database: set[tuple[str, ...]], version: str
) -> None:
    database.restore(version)
    columns = database.columns()
    query = CHANGES_UNTIL_2_0 if "import_run_id" in columns["pets_petchange"] else CHANGES
    columns["pets_petchange"] = [*{*columns["pets_petchange"]} - {"bulk_change_id", "import_run_id"}]
    sales = database.query("SELECT pet_id, day FROM pets_sale" if columns.pop("pets_sale", None) else DAYS)
    assert not columns.pop("pets_endedsale", None) or database.query("SELECT * FROM pets_endedsale") == []
    before, changes = database.rows(columns), database.query(query)
    assert sum(map(len, before.values())) > 1000
    assert len([table for table, rows in before.items() if rows]) > 15
    done = migrate(database)
    assert (done.returncode, done.stderr) == (0, "")
    assert database.schema() == schema_of_a_new_database
    after = database.rows(columns)
    for table in columns:
        added = after[table] - before[table]
        assert (table, before[table] - after[table], added if table not in GROWING else set()) == (table, set(), set())
    assert database.query(CHANGES) == changes
    assert database.query(DAYS) == sales
    with running_server(database=database.url, workers=1) as service:
        key = service.issue_key()
        ids = [pet["id"] for pet in service.get("/v1/pets?limit=100", key).json()]
        newest = database.query("SELECT id FROM pets_pet ORDER BY id DESC LIMIT 100")
        assert ids == [number for (number,) in newest]
        assert service.post("/v1/pets", key, {"name": "New", "categoryId": 1}).status == 201
        assert service.send("GET", "/readyz").status == 200
        assert "Shop" in service.command("list_api_keys", "--all")


@pytest.mark.parametrize(
    "lacks", ["name = '0018_one_change'", "name > '0004'", "name > '0002'"], ids=["1.3.0", "1.1.0", "1.0.0"]
)
def test_a_database_from_before_1_5_is_left_as_it_is(database: Database, lacks: str) -> None:
    database.restore("1.5.0")
    database.query(f"DELETE FROM django_migrations WHERE app = 'pets' AND {lacks}")
    before = database.rows(database.columns())
    done = migrate(database)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", TOO_OLD)
    assert database.rows(database.columns()) == before


def test_a_migration_that_was_stopped_goes_on(database: Database) -> None:
    manage({"PATH": os.environ["PATH"], "DATABASE_URL": database.url}, "migrate", "pets", "0001", "--verbosity=0")
    for _ in range(2):
        done = migrate(database)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        database.query("DELETE FROM django_migrations WHERE app = 'pets' AND name > '0031'")  # stopped at its end


CATEGORY = "INSERT INTO categories_category (id, name, created_at, updated_at) VALUES (1, 'Dog', {day}1', {day}1')"
ANIMAL = """
INSERT INTO pets_pet (id, name, category_id, status, created_at, updated_at) VALUES ({}, 'Rex', 1, '{}', {day}1', {day}9')
"""
ROW = """
INSERT INTO pets_petchange (id, name, category_id, status, history_type, history_date, actor, request_id)
VALUES ({}, 'Rex', 1, '{}', '{}', {day}{}', '', '')
"""
SALE = "INSERT INTO pets_sale (pet_id, day) VALUES ({}, {day}{}')"
ENDED_SALE = "INSERT INTO pets_endedsale (pet_id, day, ended_at) VALUES ({}, {day}{}', {day}{}')"
KNOWN = (
    "SELECT id, history_type, history_date, sold_on FROM pets_petchange WHERE sold_on IS NOT NULL ORDER BY history_id"
)

IN_1_6: dict[str, list[tuple[Any, ...]]] = {
    CATEGORY: [()],
    ANIMAL: [(1, "sold"), (2, "pending"), (3, "pending"), (5, "available"), (6, "sold")],
    ROW: [
        *[(1, "available", "+", 1), (1, "sold", "~", 2), (1, "sold", "~", 3)],
        *[(2, "available", "+", 1), (2, "sold", "~", 2), (2, "pending", "~", 3)],
        *[(3, "available", "+", 1), (3, "sold", "~", 2), (3, "available", "~", 3), (3, "sold", "~", 4)],
        *[(3, "pending", "~", 5)],
        *[(4, "available", "+", 1), (4, "sold", "~", 2), (4, "available", "~", 3), (4, "sold", "~", 4)],
        *[(4, "sold", "-", 5)],
        *[(5, "sold", "+", 1), (5, "available", "~", 2)],
        *[(6, "available", "+", 1), (6, "sold", "~", 2), (6, "available", "~", 3)],
    ],
    SALE: [(1, 2), (6, 5)],
    ENDED_SALE: [(2, 2, 3), (3, 2, 3), (3, 4, 5), (4, 2, 3), (4, 4, 4), (6, 2, 3)],
}
"""By statement, what it wrote of six animals in a week: 1 is sold, and the sales of 2 to 4 ended, that of 4 with its
deletion, which counts from its last change. 5 came as sold, and 6 was sold again with plain SQL."""


@pytest.mark.parametrize("stopped", ["never", "before it copies, and a sale ends meanwhile", "at its end"])
def test_days_of_sales_that_1_6_kept_in_tables_come_along(database: Database, stopped: str) -> None:
    """Those of the animals, and in their history those that an undo needs."""
    environment = {"PATH": os.environ["PATH"], "DATABASE_URL": database.url}
    manage(environment, "migrate", "pets", "0027", "--verbosity=0")
    for statement, rows in IN_1_6.items():
        for row in rows:
            database.query(statement.format(*row, day="'2026-01-0"))
    is_sold = not stopped.startswith("before")
    if not is_sold:
        database.query("ALTER TABLE pets_sale RENAME TO pets_sale_of_1_6")
        database.query("UPDATE pets_pet SET status = 'available' WHERE id = 1")
        database.query(ROW.format(1, "available", "~", 4, day="'2026-01-0"))
    if stopped == "at its end":
        manage(environment, "migrate", "pets", "0028", "--verbosity=0")
        database.query("DELETE FROM django_migrations WHERE app = 'pets' AND name > '0028'")
    assert migrate(database).returncode == 0
    assert [(pet, str(day)) for pet, day in database.query(DAYS)] == [(1, "2026-01-02")] * is_sold + [(6, "2026-01-05")]
    known = [(pet, did, str(at)[9], str(day)[9]) for pet, did, at, day in database.query(KNOWN)]
    assert known == [
        *[(1, "~", "3", "2"), (2, "~", "2", "2")],
        *[(3, "~", "2", "2"), (3, "~", "4", "4")],
        *[(4, "~", "2", "2"), (4, "-", "5", "4"), (6, "~", "2", "2")],
    ]
    assert not {table for table in database.columns() if "sale" in table}
