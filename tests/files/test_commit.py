"""The reported result of an import or an undo is true, whatever happens around its COMMIT."""

import contextlib
import errno
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection, connections
from django.test import Client

from categories.models import Category
from files import staging
from files.errors import OutcomeUnknownError
from pets.models import ImportRun, ImportUpload
from tests.factories import PetFactory
from tests.files.at_commit import at_commit
from tests.files.conftest import Import, Result, catalogue, command, counts
from tests.files.test_admin_imports import confirm, send
from tests.files.test_runs import ROOT, environment, lock_is_free
from tests.pets.office import told
from tests.server import until

pytestmark = pytest.mark.django_db(transaction=True)

CONTENT = "name,category,external_reference\nRex,Dogs,A-1\n,Dogs,\n"
REX = [("Rex", "Dogs", "available", "A-1")]
SKIP = ("--on-error", "skip")
NOTHING_WRITTEN = ("rejected", 2, 0, 0, 0, 1)


@pytest.fixture
def rejects(tmp_path: Path) -> Path:
    folder = tmp_path / "rejects"
    folder.mkdir()
    return folder / "rejects.csv"


def lose_the_folder(rejects: Path, _patch: pytest.MonkeyPatch) -> str:
    shutil.rmtree(rejects.parent)
    return f"{rejects} cannot be written: No such file or directory."


def write_the_file(rejects: Path, _patch: pytest.MonkeyPatch) -> str:
    rejects.write_text("theirs")
    return f"{rejects} exists already."


def fill_the_disk(rejects: Path, patch: pytest.MonkeyPatch) -> str:
    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    patch.setattr(os, "fsync", full)
    return f"{rejects} cannot be written: No space left on device."


@pytest.mark.parametrize("go_wrong", [lose_the_folder, write_the_file, fill_the_disk])
def test_a_file_of_rejects_that_cannot_be_written_rejects_the_import(
    run_import: Import,
    dogs: Category,
    rejects: Path,
    monkeypatch: pytest.MonkeyPatch,
    go_wrong: Callable[[Path, pytest.MonkeyPatch], str],
) -> None:
    check, said = staging.take_out_wrong, []

    def check_and_go_wrong(**options: Any) -> Any:
        said.append(go_wrong(rejects, monkeypatch))
        return check(**options)

    monkeypatch.setattr(staging, "take_out_wrong", check_and_go_wrong)
    result = run_import(CONTENT, *SKIP, "--rejects", str(rejects))
    assert result.status == 3
    assert f"{said[0]}" in result.error
    assert (catalogue(), counts()) == ([], NOTHING_WRITTEN)
    assert ImportRun.objects.get().rejects == ""
    assert [path.name for path in rejects.parent.glob("*")] == ["rejects.csv"] * (go_wrong is write_the_file)


def test_the_file_of_rejects_is_there_before_the_commit(run_import: Import, dogs: Category, rejects: Path) -> None:
    seen = []
    with at_commit(before=lambda: seen.append(rejects.read_text().count("\n"))):
        result = run_import(CONTENT, *SKIP, "--rejects", str(rejects))
    assert (result.status, seen, catalogue()) == (4, [2], REX)
    assert [path.name for path in rejects.parent.iterdir()] == ["rejects.csv"]


def break_a_foreign_key() -> None:
    """Foreign keys are checked by the COMMIT, on both databases."""
    ImportUpload.objects.create(uploaded_by_id=999_999, file_name="x", content=b"", options={})


def test_a_commit_that_fails_leaves_nothing(run_import: Import, dogs: Category, rejects: Path) -> None:
    with at_commit(before=break_a_foreign_key):
        result = run_import(CONTENT, *SKIP, "--rejects", str(rejects))
    assert result.status == 3
    assert result.error.splitlines()[1:] == [
        f"Nothing changed. The catalogue was changed while this ran. Try again. ({ImportRun.objects.get()})"
    ]
    assert (catalogue(), counts(), [*rejects.parent.iterdir()]) == ([], NOTHING_WRITTEN, [])
    assert run_import(CONTENT, *SKIP, "--rejects", str(rejects)).status == 4  # the same command
    assert (catalogue(), ImportRun.objects.latest("pk").rejects) == (REX, str(rejects))


def test_an_undo_whose_commit_fails_leaves_all(run_import: Import, dogs: Category) -> None:
    run_import(CONTENT, *SKIP)
    with at_commit(before=break_a_foreign_key):
        result = undo_last()
    assert (result.status, catalogue(), counts()[0]) == (3, REX, "done")
    assert undo_last().status == 0
    assert catalogue() == []


def undo_last(*options: str) -> Result:
    return command("undo_import", str(ImportRun.objects.latest("pk").pk), "-v0", *options)


def lose_the_connection() -> None:
    message = "server closed the connection unexpectedly"
    raise OperationalError(message)


def be_stopped() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(("lost", "left"), [(2, REX), (3, [])])
def test_a_lost_race_is_tried_again_twice(
    run_import: Import, dogs: Category, monkeypatch: pytest.MonkeyPatch, lost: int, left: list[Any]
) -> None:
    write, tries = staging.write, []

    def write_or_lose(*given: Any, **options: Any) -> Any:
        tries.append(1)
        if len(tries) <= lost:
            raise OperationalError from psycopg.errors.SerializationFailure()
        return write(*given, **options)

    monkeypatch.setattr(staging, "write", write_or_lose)
    run_import(CONTENT, *SKIP)
    assert (len(tries), catalogue(), counts()[0]) == (3, left, "done" if left else "rejected")


@pytest.mark.parametrize("end", [lose_the_connection, be_stopped])
def test_a_commit_whose_answer_is_lost_is_looked_up(
    run_import: Import, dogs: Category, rejects: Path, end: Callable[[], None]
) -> None:
    with at_commit(after=end):
        result = run_import(CONTENT, *SKIP, "--rejects", str(rejects))
    assert (result.status, result.out.partition(",")[0], rejects.exists()) == (4, "Done", True)
    assert (catalogue(), counts()) == (REX, ("done", 2, 1, 0, 0, 1))


@pytest.mark.parametrize("end", [lose_the_connection, be_stopped])
def test_an_undo_that_is_ended_after_its_commit_is_done(run_import: Import, dogs: Category, end: Any) -> None:
    run_import(CONTENT, *SKIP)
    with at_commit(after=end):
        undone = undo_last()
    assert (undone.status, undone.out.partition(",")[0]) == (0, "Undone")
    assert (catalogue(), counts()[0]) == ([], "undone")


def test_a_commit_that_never_arrived_is_looked_up_too(run_import: Import, dogs: Category, rejects: Path) -> None:
    with at_commit(before=lose_the_connection), pytest.raises(OperationalError):
        run_import(CONTENT, *SKIP, "--rejects", str(rejects))
    assert [*rejects.parent.iterdir()] == []
    run = ImportRun.objects.get()
    assert (run.state, run.outcome) == ("failed", "It failed with OperationalError. Nothing changed.")
    assert run.finished_at is not None
    assert catalogue() == []
    run_import(CONTENT, *SKIP)
    with at_commit(before=lose_the_connection), pytest.raises(OperationalError):
        undo_last()
    assert (catalogue(), counts()[0]) == (REX, "done")


@pytest.mark.parametrize(("moment", "state"), [("before", "killed"), ("after", "done")])
@pytest.mark.usefixtures("dogs")
def test_a_commit_that_cannot_be_looked_up_is_unknown(
    run_import: Import, monkeypatch: pytest.MonkeyPatch, moment: str, state: str
) -> None:
    with monkeypatch.context() as patch:

        def go_away() -> None:
            patch.setattr(type(connections["default"]), "connect", lambda _self: lose_the_connection())
            lose_the_connection()

        with at_commit(**{moment: go_away}):
            result = run_import(CONTENT, *SKIP, "--json")
    run = ImportRun.objects.get()
    assert (result.status, result.json) == (
        1,
        {"state": "unknown", "message": str(OutcomeUnknownError(run.pk)), "import": run.pk},
    )
    command("list_imports")
    assert (counts()[0], catalogue()) == (state, REX if state == "done" else [])


@pytest.mark.parametrize("moment", ["before", "after"])
def test_killed_at_the_commit_the_next_command_finds_the_truth(dogs: Category, tmp_path: Path, moment: str) -> None:
    file = tmp_path / "animals.csv"
    file.write_text(CONTENT)
    rejects = tmp_path / "rejects.csv"
    kill(moment, "import_pets", str(file), "-v0", *SKIP, "--rejects", str(rejects))
    command("list_imports")
    state = "done" if moment == "after" else "killed"
    assert (counts()[0], catalogue()) == (state, REX if moment == "after" else [])
    assert {path.name for path in tmp_path.iterdir()} == {"animals.csv", "rejects.csv"}
    if moment == "before":
        command("import_pets", str(file), "-v0", *SKIP)
    kill(moment, "undo_import", str(ImportRun.objects.latest("pk").pk), "-v0")
    assert (counts()[0], catalogue()) == (("undone", []) if moment == "after" else ("done", REX))


def kill(moment: str, *arguments: str) -> None:
    script = [sys.executable, "-m", "tests.files.at_commit", moment, *arguments]
    done = subprocess.run(script, cwd=ROOT, env=environment(), capture_output=True, check=False, timeout=180)
    assert done.returncode == -signal.SIGKILL
    until(lock_is_free)


@pytest.mark.parametrize("closed", ["| true", ">/dev/full", "2>/dev/full", "2>&-"])
def test_what_nobody_reads_changes_nothing(dogs: Category, tmp_path: Path, closed: str) -> None:
    file = tmp_path / "animals.csv"
    file.write_text(CONTENT)
    assert shell(f"import_pets {file} --on-error skip {closed}") == 4
    assert (catalogue(), counts()[0]) == (REX, "done")
    assert shell(f"undo_import {ImportRun.objects.get().pk} --json {closed}") == 0
    assert counts()[0] == "undone"


def shell(arguments: str) -> int:
    script = f"set -o pipefail; {sys.executable} manage.py {arguments}"
    done = subprocess.run(
        ["bash", "-c", script], cwd=ROOT, env=environment(), capture_output=True, text=True, check=False, timeout=180
    )
    assert "Traceback" not in done.stderr
    return done.returncode


@pytest.mark.parametrize("end", [lose_the_connection, be_stopped])
def test_what_ends_after_the_commit_fails_no_import(
    run_import: Import, dogs: Category, monkeypatch: pytest.MonkeyPatch, end: Callable[[], None]
) -> None:
    monkeypatch.setattr(staging, "clear", end)
    assert run_import(CONTENT, *SKIP).status == 4
    assert (catalogue(), counts()[0]) == (REX, "done")


def test_an_upload_knows_its_import_from_the_moment_of_the_commit(dogs: Category) -> None:
    staff = Client()
    staff.force_login(User.objects.create_superuser("keeper"))
    shown = send(staff, CONTENT)
    with at_commit(after=lose_the_connection):
        done = confirm(staff, shown)
    run = ImportRun.objects.get(state="done")
    assert (done.context["change"].run, told(done)) == (run, [])
    assert (ImportUpload.objects.get().run, catalogue()) == (run, REX)
    assert told(confirm(staff, shown, again="on")) == [f"This was imported already: {run}."]
    assert catalogue() == REX


LOCKED = "Nothing changed. Something else kept the database locked. Try again."
READ_ONLY = "Nothing changed. The database is read-only: check the permissions of its file and of its folder."


@pytest.fixture
def writer(monkeypatch: pytest.MonkeyPatch) -> Iterator[sqlite3.Connection]:
    """Another process that can write to the database; ours waits for it 10 ms."""
    monkeypatch.setitem(connection.settings_dict["OPTIONS"], "timeout", 0.01)
    connection.close()
    with contextlib.closing(sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)) as other:
        yield other
    connection.close()


@pytest.mark.sqlite("PostgreSQL locks rows")
def test_a_locked_database_is_a_clear_rejection(run_import: Import, dogs: Category, writer: sqlite3.Connection) -> None:
    run_import(CONTENT, *SKIP)
    writer.execute("BEGIN IMMEDIATE")
    for result in (run_import("name,category\nMax,Dogs\n"), undo_last()):
        assert (result.status, result.error) == (3, LOCKED)
    writer.execute("ROLLBACK")
    assert (catalogue(), counts()[0]) == (REX, "done")


@pytest.mark.sqlite("PostgreSQL locks rows")
def test_a_database_that_is_locked_on_the_way(
    run_import: Import, dogs: Category, writer: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staging, "set_ids_aside", lambda _run: writer.execute("BEGIN IMMEDIATE"))
    result = run_import(CONTENT, *SKIP)
    writer.execute("ROLLBACK")
    assert (result.status, result.error) == (3, LOCKED)
    command("list_imports")
    assert (catalogue(), counts()[0]) == ([], "killed")


@pytest.mark.sqlite("PostgreSQL locks rows")
def test_a_read_only_database_is_a_clear_rejection(
    run_import: Import, dogs: Category, writer: sqlite3.Connection
) -> None:
    run_import(CONTENT, *SKIP)
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA query_only = 1")
    for run, *arguments in ((run_import, "name,category\nMax,Dogs\n"), (undo_last,)):
        result = run(*arguments)
        assert (result.status, result.error) == (3, READ_ONLY)
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA query_only = 0")
    assert (catalogue(), counts()[0]) == (REX, "done")


@pytest.mark.postgresql("SQLite has no backend to lose")
def test_a_backend_that_dies_in_the_commit(run_import: Import, dogs: Category) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;"
            "CREATE CONSTRAINT TRIGGER die AFTER INSERT ON pets_pet DEFERRABLE INITIALLY DEFERRED"
            " FOR EACH ROW EXECUTE FUNCTION die()"
        )
    try:
        with pytest.raises(OperationalError):
            run_import(CONTENT, *SKIP)
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP FUNCTION die() CASCADE")
    assert (catalogue(), counts()[0]) == ([], "failed")
    PetFactory(name="Max", category=dogs)
