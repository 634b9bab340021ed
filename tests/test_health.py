"""`/livez` and `/readyz`."""

from datetime import timedelta
from threading import Event
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from django.utils import timezone

from changes.models import Change
from files.lock import only_import
from pets.models import ImportUpload
from petstore_site.serving import health
from tests.conftest import error
from tests.factories import CategoryFactory
from tests.server import RELEASE, until

READY: dict[str, Any] = {
    "status": "ready",
    "release": RELEASE,
    "checks": {"database": "ok", "migrations": "ok", "cache": "ok", "work": "ok"},
}


def test_livez_touches_nothing(db: None, client: Client, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        answer = client.get("/livez")
    assert (answer.status_code, answer.json()) == (200, {"status": "alive"})
    assert "no-store" in answer["Cache-Control"]


def test_ready(db: None, client: Client) -> None:
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()) == (200, READY)
    assert client.head("/readyz").content == b""
    assert client.post("/readyz").status_code == 405


def not_ready(what: str) -> dict[str, Any]:
    return error("unavailable", f"Not ready: {what}.", 503)


@pytest.mark.django_db(transaction=True)
def test_a_missing_migration_is_not_ready(client: Client) -> None:
    last = MigrationRecorder.Migration.objects.get(app="pets", name="0002_squashed_0018_one_change")
    last.delete()
    try:
        answer = client.get("/readyz")
    finally:
        MigrationRecorder(connection).record_applied("pets", "0002_squashed_0018_one_change")
    assert (answer.status_code, answer.json()) == (503, not_ready("migrations"))
    assert answer["Retry-After"] == "2"


@pytest.mark.django_db(transaction=True)
def test_the_schema_of_the_next_release_is_ready(client: Client) -> None:
    """It is migrated first, and this release goes on beside it."""
    next_release = ("pets", "9999_of_the_next_release")
    MigrationRecorder(connection).record_applied(*next_release)
    try:
        answer = client.get("/readyz")
    finally:
        MigrationRecorder(connection).record_unapplied(*next_release)
    assert (answer.status_code, answer.json()) == (200, READY)


def test_requests_are_served_without_the_cache(db: None, client: Client, settings: Any) -> None:
    lost = {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": "redis://:hunter2@127.0.0.1:1/0"}
    settings.CACHES = {"default": lost}
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()) == (200, READY | {"checks": READY["checks"] | {"cache": "degraded"}})


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("seconds", "state"), [(5, "ok"), (11, "degraded")])
def test_work_that_no_process_does_is_reported(client: Client, seconds: int, state: str) -> None:
    """A change and a file; while an import runs, other files wait for it and not for a process."""
    since = timezone.now() - timedelta(seconds=seconds)
    anna = User.objects.create(username="anna")
    upload = ImportUpload.objects.create(
        uploaded_by=anna, file_name="a.csv", content=b"", options={}, waits_since=since
    )

    def checks() -> Any:
        return client.get("/readyz").json()["checks"]["work"]

    assert checks() == state
    with only_import():
        assert checks() == "ok"
    upload.delete()
    assert checks() == "ok"
    Change.objects.filter(pk=Change.objects.create(state="running", column="status").pk).update(made_at=since)
    assert checks() == state


def connect_otherwise(monkeypatch: pytest.MonkeyPatch, options: dict[str, str], **where: str) -> None:
    """Let the checks, and nothing else, connect with other settings."""
    other = connection.copy()
    other.settings_dict |= where
    other.settings_dict["OPTIONS"] |= options
    monkeypatch.setattr(health, "connection", other)


def test_a_lost_database_is_not_ready(
    db: None, client: Client, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = {"NAME": "/nowhere/at/all.sqlite3"} if connection.vendor == "sqlite" else {"HOST": "127.0.0.1", "PORT": "1"}
    connect_otherwise(monkeypatch, {}, **where)
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()) == (503, not_ready("database, migrations"))
    assert "The check of the database failed" in caplog.text


def test_a_database_that_cannot_be_written_is_not_ready(
    db: None, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    if connection.vendor == "sqlite":
        connect_otherwise(monkeypatch, {"init_command": "PRAGMA query_only = 1"})
    else:
        read_only = {"options": "-c default_transaction_read_only=on", "target_session_attrs": "any"}
        connect_otherwise(monkeypatch, read_only)
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()) == (503, not_ready("database"))


@pytest.mark.django_db(transaction=True)
def test_the_checks_never_lock_each_other_out(client: Client) -> None:
    """SQLite locks its file while it opens the first connection and closes the last one."""
    connection.close()
    assert {client.get("/readyz").status_code for _ in range(100)} == {200}


@pytest.mark.django_db(transaction=True)
def test_an_import_that_writes_is_no_reason_not_to_be_ready(client: Client) -> None:
    with transaction.atomic():
        CategoryFactory()
        assert client.get("/readyz").json() == READY


def test_a_check_that_hangs_keeps_one_thread_and_no_one_waiting(
    db: None, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs, over = [], Event()

    def hang() -> bool:
        runs.append(1)
        return over.wait(60)

    works = health.HealthCheck(lambda: True)
    monkeypatch.setattr(health, "CHECKS", {"database": health.HealthCheck(hang), "migrations": works, "cache": works})
    monkeypatch.setattr(health, "SECONDS", 1)
    for _ in range(2):
        assert client.get("/readyz").json() == not_ready("database")
    assert len(runs) == 1
    over.set()
    until(lambda: client.get("/readyz").status_code == 200)
