"""The unit for systemd that backs up SQLite: a whole copy while others write."""

import re
import sqlite3
import stat
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Event

import pytest

from tests.meanwhile import meanwhile
from tests.server import ROOT

UNIT = (ROOT / "deploy/systemd/petstore-back-up-sqlite.service").read_text()


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Path]:
    """A file in which two tables always have as many rows, and which another connection writes all the time."""
    path = tmp_path / "petstore.sqlite3"
    rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("PRAGMA journal_mode=WAL; CREATE TABLE a (x TEXT); CREATE TABLE b (x TEXT)")
        for table in "ab":
            connection.execute(f"{rows} INSERT INTO {table} SELECT hex(randomblob(500)) FROM n")
        connection.commit()

    def write(over: Event) -> None:
        with closing(sqlite3.connect(path, timeout=5)) as connection:
            while not over.wait(0.001):
                with connection:
                    connection.execute("INSERT INTO a VALUES (hex(randomblob(500)))")
                    connection.execute("INSERT INTO b VALUES ('x')")

    with meanwhile(write):
        yield path


def back_up(database: Path, folder: Path) -> int:
    """Run what systemd runs, with our folders for its own."""
    [script] = re.findall(r"^ExecStart=/bin/sh -ec '(.*)'$", UNIT, re.MULTILINE)
    ours = script.replace("$$", "$").replace("%%", "%").replace("/var/backups/petstore", str(folder))
    command = ["sh", "-ec", ours.replace("/var/lib/petstore/petstore.sqlite3", str(database))]
    return subprocess.run(command, umask=0o077, timeout=60, capture_output=True, check=False).returncode


def test_each_copy_is_whole_and_takes_the_place_of_yesterdays(database: Path, tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    folder.mkdir()
    for hour in range(24):
        for name in (f"petstore-{hour:02}.sqlite3", f"petstore-{hour:02}.sqlite3.part"):
            (folder / name).touch(mode=0o600)
    assert back_up(database, folder) == 0
    [made] = [file for file in folder.iterdir() if file.stat().st_size]
    assert re.fullmatch(r"petstore-\d\d\.sqlite3", made.name)
    assert stat.S_IMODE(made.stat().st_mode) == 0o600
    with closing(sqlite3.connect(made)) as copy:
        rows = [copy.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in "ab"]
        assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert rows[0] == rows[1] >= 20000


def test_a_backup_that_fails_leaves_the_copies(database: Path, tmp_path: Path) -> None:
    assert back_up(database, tmp_path / "nowhere") != 0
    folder = tmp_path / "backups"
    folder.mkdir()
    assert back_up(tmp_path / "no.sqlite3", folder) != 0
    assert list(folder.glob("petstore-??.sqlite3")) == []
