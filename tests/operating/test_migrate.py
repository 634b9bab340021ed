"""`manage.py migrate`: one at a time, and no lock or statement takes long."""

import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from tests.server import ROOT, until
from tests.with_postgresql import Server


def start(url: str, *arguments: str, **variables: str) -> "subprocess.Popen[str]":
    environment = {"PATH": os.environ["PATH"], "DATABASE_URL": url} | variables
    command = [sys.executable, "manage.py", *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=pipe, stderr=pipe, text=True)


def migrate(url: str, *arguments: str, **variables: str) -> tuple[int, str, str]:
    """Return exit status, output and errors."""
    process = start(url, "migrate", *arguments, **variables)
    out, err = process.communicate(timeout=180)
    return process.returncode, out, err


@pytest.fixture(scope="module")
def url(postgresql: Server) -> str:
    return postgresql.url


@pytest.mark.parametrize("vendor", ["postgresql", "sqlite"])
def test_two_at_once_both_succeed_and_one_waits(request: pytest.FixtureRequest, tmp_path: Path, vendor: str) -> None:
    url = request.getfixturevalue("url") if vendor == "postgresql" else f"sqlite:///{tmp_path}/store.sqlite3"
    both = [start(url, "migrate") for _ in range(2)]
    ended = [(*process.communicate(timeout=180), process.returncode) for process in both]
    assert [status for _, _, status in ended] == [0, 0]
    assert sorted(err for _, err, _ in ended) == ["", "Another migrate is running. Waiting for it to finish.\n"]
    assert sorted("No migrations to apply." in out for out, _, _ in ended) == [False, True]


def test_a_busy_sqlite_is_named_and_the_next_run_goes_on(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/store.sqlite3"
    assert migrate(url, "pets", "0001")[0] == 0
    with closing(sqlite3.connect(tmp_path / "store.sqlite3", isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        status, _, err = migrate(url)
    message = (
        f"The database was busy for too long: {tmp_path}/store.sqlite3: database is locked. Run the same command again."
    )
    assert (status, err.splitlines()[-1].removeprefix("CommandError: ")) == (1, message)
    assert migrate(url)[0] == 0
    assert "No migrations to apply." in migrate(url)[1]


def test_a_table_in_use_or_a_long_statement_stops_a_migration_before_requests_queue_behind_it(url: str) -> None:
    assert migrate(url, "pets", "0029")[0] == 0
    with closing(psycopg.connect(url)) as other:
        other.execute("LOCK TABLE pets_importrun IN ROW EXCLUSIVE MODE")
        status, _, err = migrate(url, "--lock-timeout=300ms")
    assert status == 1
    assert err == (
        "The database was busy for too long: canceling statement due to lock timeout. Run the same command again.\n"
    )
    with closing(psycopg.connect(url)) as other:  # whose lock makes the statement long on a fast machine too
        other.execute("LOCK TABLE pets_petchange IN ACCESS SHARE MODE")
        status, _, err = migrate(url, "--statement-timeout=300ms")
    assert status == 1
    assert "canceling statement due to statement timeout" in err
    assert migrate(url)[::2] == (0, "")


def test_what_is_dropped_waits_for_a_table_in_use_and_holds_up_no_one(url: str) -> None:
    """As they would with a lock that they wait for, in front of all who come later."""
    assert migrate(url, "pets", "0030")[0] == 0
    with closing(psycopg.connect(url)) as other, closing(psycopg.connect(url, autocommit=True)) as reader:
        other.execute("LOCK TABLE pets_pet IN ACCESS SHARE MODE")
        waiting = start(url, "migrate")
        until(lambda: reader.execute("SELECT FROM pg_locks WHERE NOT granted").fetchall())
        reader.execute("SET statement_timeout = '500ms'")
        over = time.monotonic() + 2
        while time.monotonic() < over:
            reader.execute("SELECT FROM pets_pet LIMIT 1")
        assert waiting.poll() is None
        other.rollback()
        _, err = waiting.communicate()
    assert (waiting.returncode, err) == (0, "A table is in use. Waiting for a moment in which it is not.\n")


def test_what_release_1_6_needs_is_not_made_again(url: str) -> None:
    message = "CommandError: The tables of release 1.6 are gone. To go back to it, restore the backup. Now run: manage.py migrate"
    assert migrate(url, "pets", "zero")[::2] == (1, f"{message}\n")
    assert migrate(url)[::2] == (0, "")


def test_it_goes_on_when_the_other_has_ended(url: str) -> None:
    with closing(psycopg.connect(url, autocommit=True)) as other:
        other.execute("SELECT pg_advisory_lock(1885697139, 1835624306)")
        waiting = start(url, "migrate")
        assert waiting.stderr is not None
        assert waiting.stderr.readline() == "Another migrate is running. Waiting for it to finish.\n"
        other.execute("SELECT pg_advisory_unlock_all()")
        until(lambda: waiting.poll() is not None)
    waiting.communicate()
    assert waiting.returncode == 0


def test_not_through_pgbouncer(url: str) -> None:
    status, _, err = migrate(url, DATABASE_BEHIND_PGBOUNCER="true")
    assert status == 1
    assert err.startswith("CommandError: migrate holds a lock for as long as it runs, which PgBouncer")


def test_a_database_that_cannot_fold_names_is_rejected(postgresql: Server) -> None:
    root = postgresql.url.replace("//petstore@", "//postgres@")
    with closing(psycopg.connect(root, autocommit=True)) as administrator:
        administrator.execute("CREATE DATABASE old OWNER petstore ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0")
    status, _, err = migrate(urlsplit(postgresql.url)._replace(path="/old").geturl())
    assert (status, "Names need a database with the encoding UTF8. This one has SQL_ASCII." in err) == (1, True)


def test_the_extension_of_the_search_is_asked_for_and_then_used(url: str) -> None:
    root = url.replace("//petstore@", "//postgres@")
    with closing(psycopg.connect(root, autocommit=True)) as administrator:
        administrator.execute("CREATE ROLE tenant LOGIN")
        administrator.execute("CREATE DATABASE lodging")
    theirs = urlsplit(root)._replace(path="/lodging").geturl()
    tenant = theirs.replace("//postgres@", "//tenant@")
    with closing(psycopg.connect(theirs, autocommit=True)) as administrator:
        administrator.execute("GRANT ALL ON SCHEMA public TO tenant")
        status, _, err = migrate(tenant)
        assert (status, "run this in the database, then migrate again: CREATE EXTENSION pg_trgm" in err) == (1, True)
        administrator.execute("CREATE EXTENSION pg_trgm")
    assert migrate(tenant)[0] == 0
