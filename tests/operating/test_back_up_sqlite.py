"""`manage.py back_up_sqlite`: a whole copy while others write."""

import json
import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Event

import pytest

from tests.meanwhile import meanwhile
from tests.server import ROOT


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Path]:
    """A file in which two tables always have as many rows, and which another connection writes all the time."""
    path = tmp_path / "live.sqlite3"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("PRAGMA journal_mode=WAL; CREATE TABLE a (x TEXT); CREATE TABLE b (x TEXT)")

    def write(over: Event) -> None:
        with closing(sqlite3.connect(path, timeout=5)) as connection:
            while not over.wait(0.001):
                with connection:
                    connection.execute("INSERT INTO a VALUES (hex(randomblob(500)))")
                    connection.execute("INSERT INTO b VALUES ('x')")

    with meanwhile(write):
        yield path


def back_up(url: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "manage.py", "back_up_sqlite", *arguments, "--json"]
    environment = {"PATH": os.environ["PATH"], "DATABASE_URL": url}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def test_each_copy_is_whole_and_the_oldest_are_deleted(database: Path, tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    folder.mkdir()
    for name in ("petstore-20260101T000000.000000Z.part", "petstore-20260101T000000.000000Z.part-journal"):
        (folder / name).write_bytes(b"killed")
        os.utime(folder / name, (0, 0))
    running = folder / "petstore-20260101T000001.000000Z.part"
    running.touch()
    made = []
    for _ in range(3):
        done = back_up(f"sqlite:///{database}", str(folder), "--keep", "2")
        assert (done.returncode, done.stderr) == (0, "")
        made.append(json.loads(done.stdout))
        file = Path(made[-1]["file"])
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        with closing(sqlite3.connect(file)) as copy:
            rows = [copy.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in "ab"]
        assert rows[0] == rows[1]
    assert [run["deleted"] for run in made] == [[], [], [made[0]["file"]]]
    assert sorted(map(str, folder.iterdir())) == [str(running), *[run["file"] for run in made[1:]]]


def test_what_cannot_be_done_is_said(database: Path, tmp_path: Path) -> None:
    missing = back_up(f"sqlite:///{database}", str(tmp_path / "nowhere"))
    assert missing.returncode == 1
    assert missing.stderr == f"No backup was made: there is no folder {tmp_path / 'nowhere'}. Create it first.\n"
    (tmp_path / "file").touch()
    file = back_up(f"sqlite:///{database}", str(tmp_path / "file"))
    said = f"No backup was made: {tmp_path / 'file'} cannot be written: Not a directory.\n"
    assert (file.returncode, file.stderr) == (1, said)
    closed = back_up(f"sqlite:///{tmp_path / 'no.sqlite3'}", str(tmp_path))
    assert (closed.returncode, closed.stderr) == (1, "No backup was made: unable to open database file.\n")
    assert back_up("postgres://x@127.0.0.1:1/x", str(tmp_path)).returncode == 3
    assert back_up(f"sqlite:///{database}", str(tmp_path), "--keep", "0").returncode == 2
    assert not list(tmp_path.glob("petstore-*"))
