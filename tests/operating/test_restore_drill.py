"""The scripts in deploy/postgresql that back up, and the drill that restores and compares."""

import gzip
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from signal import SIGKILL
from threading import Event
from typing import Any

import psycopg
import pytest

from tests.meanwhile import meanwhile
from tests.server import ROOT, until
from tests.with_postgresql import Server, server

SCRIPTS = ROOT / "deploy/postgresql"
DRILL = SCRIPTS / "restore_drill.py"
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="it runs PostgreSQL as another user, which needs root")


class Backups:
    """A server that archives its WAL every two seconds, and the folder of its backups."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.folder = server.folder / "backups"
        self.live = server.url.replace("//petstore@", "//postgres@")
        for folder in (self.folder, self.folder / "wal"):
            folder.mkdir()
            if server.account:
                os.chown(folder, server.account.pw_uid, server.account.pw_gid)
        self.private = server.folder / "private"  # as the home of root, which the server's account cannot enter
        self.private.mkdir(mode=0o700)
        archive_wal = server.folder / "archive-wal"  # where the other user can read it
        archive_wal.write_bytes((SCRIPTS / "archive-wal").read_bytes())
        archive_wal.chmod(0o755)
        settings = {
            "archive_mode": "on",
            "archive_timeout": "2s",
            "archive_command": f'{archive_wal} "%p" "%f" {self.folder}/wal',
        }
        with closing(self.connect()) as connection:
            for name, value in settings.items():
                connection.execute(f"ALTER SYSTEM SET {name} = '{value}'")
            connection.execute("CREATE TABLE animals (id bigserial PRIMARY KEY, name text)")
            connection.execute("INSERT INTO animals (name) SELECT 'Rex ' || n FROM generate_series(1, 5000) AS n")
        server.stop()
        server.start()

    def connect(self) -> psycopg.Connection:
        return psycopg.connect(self.live, autocommit=True)

    def run(self, command: list[str]) -> "subprocess.CompletedProcess[str]":
        path = f"{self.server.binaries}:{os.environ['PATH']}"
        variables = {"PATH": path, "PGHOST": str(self.server.folder), "PGUSER": "postgres"}
        return subprocess.run(command, env=variables, cwd=self.private, capture_output=True, text=True, check=False)

    def back_up(self, keep: int = 7) -> str:
        done = self.run([str(SCRIPTS / "base-backup"), str(self.folder), str(keep)])
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.strip()

    def drill(self) -> "subprocess.CompletedProcess[str]":
        return self.run([sys.executable, str(DRILL), "--live", self.live, str(self.folder)])


def restore_commands() -> list[list[str]]:
    """Return the shell blocks of steps 1 and 2 of "Restore for real", without systemctl and ls."""
    chapter = (ROOT / "docs/backup.md").read_text().split("### Restore for real")[1].split("\n3. ")[0]
    blocks = re.findall(r"```sh\n(.*?)```", chapter, re.DOTALL)
    assert len(blocks) == 3
    return [
        [line.strip() for line in block.splitlines() if " systemctl " not in line and " ls " not in line]
        for block in blocks
    ]


@pytest.mark.parametrize(("with_wal", "animals"), [(True, 5012), (False, 5002)])
def test_a_crash_loses_nothing_if_the_wal_that_was_not_archived_is_copied(
    postgresql: Server, with_wal: bool, animals: int
) -> None:
    with server() as crashed:
        backups = Backups(crashed)
        base = Path(backups.back_up()).name
        archived = list[Path]()
        with closing(backups.connect()) as connection:
            for _ in range(2):
                connection.execute("INSERT INTO animals (name) VALUES ('Archived')")
                [segment] = connection.execute("SELECT pg_walfile_name(pg_switch_wal())").fetchone() or [""]
                archived.append(backups.folder / "wal" / f"{segment}.gz")
                until(archived[-1].exists)
            connection.execute("ALTER SYSTEM SET archive_command = 'false'")
            connection.execute("SELECT pg_reload_conf()")
            connection.execute("SET synchronous_commit = local")
            connection.execute("INSERT INTO animals (name) SELECT 'Last ' || n FROM generate_series(1, 10) AS n")
        crashed.stop(SIGKILL)
        subprocess.run(["gunzip", archived[-1]], check=True)  # as release 2.0 archived it
        for block in restore_commands()[: 3 if with_wal else 2]:
            script = "\n".join(block).replace("/var/lib/postgresql/15/main", f"{crashed.folder}/data")
            script = script.replace("/var/lib/postgresql/15", str(crashed.folder))
            script = script.replace("/var/backups/petstore", str(backups.folder)).replace("20261122T011523Z", base)
            subprocess.run(["sh", "-euc", script], check=True)
        (crashed.folder / "data/recovery.signal").touch()
        restore = re.findall(r"restore_command = .*", (ROOT / "docs/backup.md").read_text())[0]
        with (crashed.folder / "data/postgresql.auto.conf").open("a") as settings:
            settings.write(f"archive_mode = off\n{restore.replace('/var/backups/petstore', str(backups.folder))}\n")
        crashed.start()
        until(lambda: "archive recovery complete" in (crashed.folder / "log").read_text())
        with closing(backups.connect()) as connection:
            assert connection.execute("SELECT count(*) FROM animals").fetchone() == (animals,)


@pytest.fixture(scope="module")
def backups(postgresql: Server) -> Backups:
    return Backups(postgresql)


@pytest.fixture
def writer(backups: Backups) -> Iterator[None]:
    """Change, add and delete animals all the time."""

    def write(over: Event) -> None:
        with closing(backups.connect()) as connection:
            while not over.wait(0.005):
                connection.execute("INSERT INTO animals (name) VALUES ('Maple')")
                connection.execute("UPDATE animals SET name = name || '!' WHERE id % 100 = 1")
                connection.execute("DELETE FROM animals WHERE id = (SELECT min(id) FROM animals)")

    with meanwhile(write):
        yield


def test_everything_is_back_while_others_write(backups: Backups, writer: None) -> None:
    backups.back_up()
    known = {*(backups.folder / "wal").glob("*.gz")}
    until(lambda: {*(backups.folder / "wal").glob("*.gz")} - known)
    subprocess.run(["gunzip", max({*(backups.folder / "wal").glob("*.gz")} - known)], check=True)  # as 2.0 archived it
    done = backups.drill()
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    exposed = re.fullmatch(
        r"Exposed: a change was in the archive (\S+) s after its commit \(allowed: 60 s\)\.", lines[0]
    )
    assert exposed
    assert float(exposed[1]) < 60
    assert re.fullmatch(r"Restored in \S+ s, to the restore point drill-\d+\.", lines[1])
    assert re.fullmatch(r"Compared [45],\d{3} rows of 1 tables: 0 tables differ\.", lines[2])


def test_a_segment_in_the_archive_is_never_overwritten(backups: Backups, tmp_path: Path) -> None:
    for name, content in (("first", b"1"), ("again", b"1"), ("other", b"2")):
        (tmp_path / name).write_bytes(content)
    archive = tmp_path / "wal"
    archive.mkdir()
    statuses = [
        backups.run([str(SCRIPTS / "archive-wal"), str(tmp_path / name), "0001", str(archive)]).returncode
        for name in ("first", "again", "other")
    ]
    assert statuses == [0, 0, 1]
    assert [(path.name, gzip.decompress(path.read_bytes())) for path in archive.iterdir()] == [("0001.gz", b"1")]


def test_old_backups_and_the_wal_before_them_are_deleted(backups: Backups) -> None:
    killed = backups.folder / "base" / ".20260101T000000Z.part"
    (killed / "base").mkdir(parents=True)
    os.utime(killed, (0, 0))
    (backups.folder / "wal" / f"{1:024X}.gz").touch()
    newest = Path(backups.back_up(keep=1))
    assert [path.name for path in (backups.folder / "base").iterdir()] == [newest.name]
    label = (newest / "backup_label").read_text()
    first = re.search(r"file (\w{24})\)", label)
    assert first
    assert all(path.name >= first[1] for path in (backups.folder / "wal").glob("?" * 24 + ".gz"))


@pytest.fixture
def drill() -> Any:
    spec = importlib.util.spec_from_file_location("restore_drill", DRILL)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_row_that_differs_is_found(backups: Backups, drill: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with closing(backups.connect()) as live, closing(psycopg.connect(backups.live)) as copy:
        copy.execute("UPDATE animals SET name = 'Other' WHERE id = (SELECT max(id) FROM animals)")
        assert drill._compare(live, copy) == 1
        copy.rollback()
        assert drill._compare(live, copy) == 0
    assert "DIFFERENT: public.animals has " in capsys.readouterr().out


def test_it_waits_for_an_import(backups: Backups, drill: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(psycopg.connect(backups.live)) as long, closing(psycopg.connect(backups.live)) as snapshot:
        long.execute("UPDATE animals SET name = 'Other' WHERE id = (SELECT max(id) FROM animals)")
        monkeypatch.setattr(drill, "TRIES", 2)
        monkeypatch.setattr(drill.time, "sleep", lambda _seconds: long.rollback())
        assert drill._mark_when_possible(snapshot, backups.live, "after the import")
        snapshot.rollback()
        long.execute("UPDATE animals SET name = 'Other' WHERE id = (SELECT max(id) FROM animals)")
        monkeypatch.setattr(drill.time, "sleep", lambda _seconds: None)
        with pytest.raises(SystemExit, match=r"^Something wrote all the time, such as an import\."):
            drill._mark_when_possible(snapshot, backups.live, "never")


def test_a_dump_can_be_read(backups: Backups) -> None:
    done = backups.run([str(SCRIPTS / "dump"), "petstore", str(backups.folder)])
    assert (done.returncode, done.stderr) == (0, "")
    listed = backups.run(["pg_restore", "--list", done.stdout.strip()])
    assert "TABLE DATA public animals" in listed.stdout
