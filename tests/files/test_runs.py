"""The record of an import: one at a time, the same file once, and the truth after a kill at any moment."""

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from django.db import DEFAULT_DB_ALIAS, connection, connections

from categories.models import Category
from files import staging
from files.lock import ADVISORY_LOCK, only_import
from files.readers.rows import Reading
from pets import sql
from pets.models import ImportRun, Pet
from tests.exploring import EXPLORE
from tests.factories import PetFactory
from tests.files.conftest import Import, catalogue, command, counts, history
from tests.server import until

pytestmark = pytest.mark.django_db(transaction=True)

ROOT = Path(__file__).parents[2]
CONTENT = "name,category\nRex,Dogs\n"


def test_the_record_says_everything(run_import: Import, dogs: Category) -> None:
    run_import(CONTENT, "--blank", "clear", name="friday.csv")
    run = ImportRun.objects.get()
    assert (run.file_name, run.sha256) == ("friday.csv", hashlib.sha256(CONTENT.encode()).hexdigest())
    assert run.who
    assert run.finished_at is not None
    assert run.finished_at >= run.started_at
    assert run.options == {
        "accept_ids": False,
        "accept_names": False,
        "accept_near": False,
        "accept_references": False,
        "again": False,
        "allow_empty": False,
        "create_categories": False,
        "dry_run": False,
        "force_categories": False,
        "ignore_ids": False,
        "keep_blanks": False,
        "for_page": False,
        "profile": None,
        "reading": asdict(Reading()),
        "rejects": None,
        "report_missing": False,
        "skip_errors": False,
    }


def test_the_same_file_is_rejected_unless_asked_for(run_import: Import, dogs: Category) -> None:
    run_import(CONTENT)
    run = ImportRun.objects.get()
    for options in ([], ["--dry-run"]):
        rejected = run_import(CONTENT, *options, name="renamed.csv")
        again = ImportRun.objects.latest("pk")
        assert rejected.error == (
            f"Nothing changed. This file was already imported: {run} by {run.who}, {run.started_at:%Y-%m-%d %H:%M} UTC, "
            'as "animals.csv". Importing it again would add its animals without an external reference twice. '
            f"To import it again, use --again ({again})."
        )
        assert (rejected.status, len(catalogue()), counts()) == (5, 1, ("already imported", 1, 0, 0, 0, 0))
    assert run_import(CONTENT, "--json").json["state"] == "already imported"
    assert run_import(CONTENT, "--again").status == 0
    assert len(catalogue()) == 2


NIGHTLY = "external_reference,name,category\n"
A, B = f"{NIGHTLY}A-1,Rex,Dogs\n", f"{NIGHTLY}A-1,Max,Dogs\n"


@pytest.mark.parametrize(
    ("nights", "name"),
    [([NIGHTLY, NIGHTLY, NIGHTLY], None), ([A, A, A], "Rex"), ([A, B, A], "Rex"), ([A, NIGHTLY, A, B, A, B], "Max")],
)
def test_a_nightly_file_succeeds_every_night(
    run_import: Import, dogs: Category, nights: list[str], name: str | None
) -> None:
    for night in nights:
        result = run_import(night, "--allow-empty")
        assert (result.status, counts()[0]) == (0, "done")
    assert [row[0] for row in catalogue()] == ([] if name is None else [name])


def test_what_changed_nothing_is_no_import_of_the_file(run_import: Import, dogs: Category) -> None:
    """Rows that were left out by the first import can be imported by the second, which is of the same bytes."""
    content = "name,category\nRex,Dogs\nTom,Cats\n"
    assert run_import(content.replace("Rex,Dogs\n", ""), "--on-error", "skip").status == 4
    Category.objects.create(name="Cats")
    assert run_import(content.replace("Rex,Dogs\n", "")).status == 0
    assert run_import(content.replace("Rex,Dogs\n", "")).status == 5
    assert [row[0] for row in catalogue()] == ["Tom"]


def test_what_was_not_written_or_was_undone_may_come_again(run_import: Import, dogs: Category) -> None:
    run_import(CONTENT, "--dry-run")
    assert run_import(CONTENT).status == 0
    command("undo_import", str(ImportRun.objects.latest("pk").pk))
    assert run_import(CONTENT).status == 0


def test_a_second_import_is_rejected_at_once(run_import: Import, dogs: Category, tmp_path: Path) -> None:
    def blocked() -> subprocess.CompletedProcess[str]:
        return manage("import_pets", str(file), "-v0")

    file = tmp_path / "second.csv"
    file.write_text(CONTENT)
    with only_import():
        result = blocked()
        assert (result.returncode, result.stderr) == (
            6,
            "Nothing changed. Another import or undo is running. Try again when it finishes.\n",
        )
        run = ImportRun.objects.create(who="anna", file_name="first.csv", options={})
        assert blocked().stderr == (
            f"Nothing changed. Import {run.pk} is running, started by anna at {run.started_at:%H:%M} UTC. "
            "Try again when it finishes.\n"
        )
        assert manage("undo_import", str(run.pk)).returncode == 6
        manage("list_imports")
        run.refresh_from_db()
        assert run.state == "running"
    assert blocked().returncode == 0
    run.refresh_from_db()
    assert run.state == "killed"


def lock_is_free() -> bool:
    """Whether nobody imports: PostgreSQL needs a moment to see that a process is dead."""
    if connection.vendor == "sqlite":
        return True
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s, %s)", ADVISORY_LOCK)
        return bool(cursor.fetchone() == (True,))


@pytest.mark.postgresql("a lock of PostgreSQL")
def test_the_lock_is_free_before_its_connection_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection keeps its locks for a moment after that, and the next import would be rejected."""
    wrapper, free = type(connections[DEFAULT_DB_ALIAS]), list[bool]()
    close = wrapper.close

    def look(closed: Any) -> None:
        free.append(lock_is_free())
        close(closed)

    with monkeypatch.context() as patch:
        patch.setattr(wrapper, "close", look)
        with only_import():
            pass
    assert free == [True]


def test_the_record_of_a_killed_import_is_put_right_when_someone_looks(dogs: Category) -> None:
    ImportRun.objects.create(who="anna", file_name="first.csv", options={})
    told = json.loads(command("list_imports", "--json").out)
    assert [(run["state"], run["outcome"]) for run in told] == [
        ("killed", "It was interrupted before it was saved. Nothing changed.")
    ]


def environment() -> dict[str, str]:
    """Return what leads a command to the database of the test."""
    settings = connection.settings_dict
    if connection.vendor == "sqlite":
        address = f"sqlite:///{settings['NAME']}"
    else:
        base, _, query = os.environ["DATABASE_URL"].partition("?")
        address = f"{base.rpartition('/')[0]}/{settings['NAME']}?{query}".rstrip("?")
    return os.environ | {"DATABASE_URL": address, "PETSTORE_SERVING": ""}


def manage(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "manage.py", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False, timeout=180
    )


def started(file: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "manage.py", "import_pets", str(file), "-v0"]
    return subprocess.Popen(
        command, cwd=ROOT, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )


def many(tmp_path: Path, rows: int) -> Path:
    file = tmp_path / "many.csv"
    lines = (f"Animal {number},Dogs,REF-{number}\n" for number in range(rows))
    file.write_text("name,category,external_reference\n" + "".join(lines))
    return file


def test_killed_at_any_moment_all_or_nothing_is_there(dogs: Category, tmp_path: Path) -> None:
    """At eight moments, or 200 at random: what the record says is true, and the next import works."""
    PetFactory(name="Old", category=dogs, external_reference="REF-7")
    nothing, rows = catalogue(), 5_000
    file = many(tmp_path, rows)
    seconds = whole_import(file, rows)
    for share in [random.random() for _ in range(200)] if EXPLORE else [0.1, 0.5, 0.9, 0.99] * 2:
        with started(file) as process:
            until(lambda: ImportRun.objects.filter(state="running").exists() or process.poll() is not None)
            time.sleep(seconds * share)
            process.kill()
        until(lock_is_free)
        assert command("list_imports").status == 0
        run = ImportRun.objects.latest("pk")
        if run.state == "done":
            assert Pet.objects.count() == rows
            command("undo_import", str(run.pk))
        else:
            assert counts() == ("killed", 0, 0, 0, 0, 0)
        assert catalogue() == nothing
        killed = [str(run) for run in ImportRun.objects.filter(state="killed")]
        assert Pet.history.filter(actor__in=killed).count() == 0
    whole_import(file, rows)


def whole_import(file: Path, rows: int) -> float:
    """Import and undo; return how long the import took."""
    with started(file) as process:
        assert process.wait(180) == 0
    run = ImportRun.objects.latest("pk")
    assert Pet.objects.count() == rows
    command("undo_import", str(run.pk))
    assert run.finished_at is not None
    return (run.finished_at - run.started_at).total_seconds()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_it_cleanly(dogs: Category, tmp_path: Path, number: signal.Signals) -> None:
    with started(many(tmp_path, 1_000_000)) as process:  # so that it cannot be over before the signal
        until(lambda: ImportRun.objects.filter(state="running").exists())
        process.send_signal(number)
        _, error = process.communicate(timeout=180)
    assert (process.returncode, error) == (130, "Stopped. Nothing changed.\n")
    assert counts() == ("stopped", 0, 0, 0, 0, 0)
    assert (catalogue(), history()) == ([], [])


def test_a_signal_while_the_database_writes_stops_it_too(
    dogs: Category, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A statement that takes forever instead of one that takes long."""
    forever = "SELECT count(*) FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n) x"

    def write(*_given: object, **_options: object) -> None:
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        sql.execute(forever)

    monkeypatch.setattr(staging, "write", write)
    result = command("import_pets", str(many(tmp_path, 3)), "-v0")
    assert (result.status, result.error) == (130, "Stopped. Nothing changed.")
    assert counts() == ("stopped", 0, 0, 0, 0, 0)
    assert catalogue() == []


def test_a_signal_whose_exception_is_lost_stops_it_too(
    dogs: Category, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Psycopg drops what is raised while it passes on a notice."""
    real = staging.write

    def write(*given: Any, **options: Any) -> object:
        with suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
        return real(*given, **options)

    monkeypatch.setattr(staging, "write", write)
    result = command("import_pets", str(many(tmp_path, 3)), "-v0")
    assert (result.status, result.error) == (130, "Stopped. Nothing changed.")
    assert counts() == ("stopped", 0, 0, 0, 0, 0)
    assert catalogue() == []


def test_a_failure_is_recorded(run_import: Import, dogs: Category, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(*_given: object, **_options: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(staging, "write", write)
    with pytest.raises(ZeroDivisionError):
        run_import(CONTENT)
    run = ImportRun.objects.get()
    assert (run.state, run.outcome) == ("failed", "It failed with ZeroDivisionError. Nothing changed.")
    assert run.finished_at is not None
    assert catalogue() == []


def test_list_imports_as_people_read_it(run_import: Import, dogs: Category) -> None:
    assert command("list_imports").out == "Nothing was imported yet.\n"
    run_import(CONTENT)
    run_import("name,category\n,Dogs\n", "--dry-run", name="wrong.csv")
    assert command("list_imports", "--limit", "1").out.splitlines()[1].split()[3:6] == ["dry", "run", "rejected"]
    run_import("name,category\n,Dogs\n", name="wrong.csv")
    lines = [" ".join(line.split()) for line in command("list_imports", "--limit", "1").out.splitlines()]
    run = ImportRun.objects.latest("pk")
    started_at = f"{run.started_at:%Y-%m-%d %H:%M}"
    assert lines == [
        "import started (UTC) state added changed unchanged rejected seconds who file",
        f"{run.pk} {started_at} rejected 0 0 0 1 {(run.finished_at - run.started_at).total_seconds():.1f} {run.who} wrong.csv"
        if run.finished_at
        else "",
        "1 of 1 row has an error.",
    ]
