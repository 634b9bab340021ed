"""A read that the event loop gives up is tried again in a thread; on a real PostgreSQL."""

import asyncio
import json
import logging
from typing import Any

import psycopg
import pytest
import uvloop
from django.core.handlers.wsgi import WSGIHandler
from django.db import OperationalError, connection
from psycopg.pq import DiagnosticField

from database.errors import BROKEN, CLOSED, breaker, described, failure_of
from petstore_site.apikeys.models import APIKey
from petstore_site.configuration.database import REQUEST_DEADLINES
from petstore_site.serving.adapter import Adapter
from petstore_site.serving.door import Door
from petstore_site.serving.postgresql import OnPostgreSQL
from tests.conftest import error
from tests.factories import PetFactory
from tests.serving.calling import Got, ask, scope

pytestmark = pytest.mark.django_db(transaction=True)
postgresql_only = pytest.mark.postgresql("SQLite has no such connections")

UNAVAILABLE = error("unavailable", "The service is temporarily unavailable.", 503)


@pytest.fixture
def key(settings: Any) -> str:
    settings.ALLOWED_HOSTS = ["localhost"]
    return APIKey.objects.issue(name="Shop")[1]


def in_a_thread(environ: Any, start_response: Any) -> Any:
    """Respond as Django does, on a connection that no one needs afterwards."""
    response = WSGIHandler()(environ, start_response)
    connection.close()
    return response


def reading(path: str, key: str) -> dict[str, Any]:
    return scope(path, authorization=f"Bearer {key}")


@postgresql_only
def test_a_statement_that_reaches_its_deadline(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is wrong with the database: the thread may connect, and so may the requests after this one."""
    pet = PetFactory()
    patient = f"{connection.settings_dict['OPTIONS']['options']} -c lock_timeout=20s -c statement_timeout=20s"
    monkeypatch.setitem(connection.settings_dict["OPTIONS"], "options", patient)

    async def read_while_locked() -> list[Got]:
        driver = OnPostgreSQL(2)
        door = Door(in_a_thread, 2, Adapter(driver))
        await ask(door, reading("/v1/categories", key))
        driver._to_read._seconds = 0.3  # from now on: to connect may take longer
        with psycopg.connect(**connection.get_connection_params()) as other:
            other.execute("LOCK TABLE pets_pet IN ACCESS EXCLUSIVE MODE")
            waiting = asyncio.create_task(ask(door, reading(f"/v1/pets/{pet.pk}", key)))
            await asyncio.sleep(0.5)
            driver._to_read._seconds = 30
            beside = await ask(door, reading("/v1/categories", key))
        read = await waiting
        for each in (driver._for_keys, driver._to_read):
            for one in each._idle:
                await one.close()
        return [read, beside]

    read, beside = uvloop.run(read_while_locked())
    shown = {"id": pet.pk, "name": pet.name, "categoryId": pet.category_id, "status": pet.status}
    assert (read.status, json.loads(read.body)) == (200, shown)
    assert (beside.status, json.loads(beside.body)) == (
        200,
        [{"id": pet.category_id, "name": pet.category.name}],
    )
    assert not breaker._failed


@postgresql_only
def test_a_slow_statement_is_never_tried_again(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """PostgreSQL ends it before the event loop would: else chance decided which of equal reads had a second try."""
    patient = f"{REQUEST_DEADLINES} -c lock_timeout=20s"
    monkeypatch.setitem(connection.settings_dict["OPTIONS"], "options", patient)
    tried: list[str] = []

    def noted(environ: Any, start_response: Any) -> Any:
        tried.append(environ["PATH_INFO"])
        return in_a_thread(environ, start_response)

    async def read_while_locked() -> list[Got]:
        driver = OnPostgreSQL(2)
        door = Door(noted, 2, Adapter(driver))
        await asyncio.gather(*[ask(door, reading("/v1/categories", key)) for _ in range(3)])  # they connect
        with psycopg.connect(**connection.get_connection_params()) as other:
            other.execute("LOCK TABLE pets_pet IN ACCESS EXCLUSIVE MODE")
            got = await asyncio.gather(*[ask(door, reading("/v1/pets", key)) for _ in range(3)])
        for each in (driver._for_keys, driver._to_read):
            for one in each._idle:
                await one.close()
        return got

    got = uvloop.run(read_while_locked())
    assert [(each.status, each.headers["Retry-After"], json.loads(each.body)) for each in got] == [
        (503, "1", UNAVAILABLE)
    ] * 3
    assert tried == []


@postgresql_only
@pytest.mark.parametrize("path", ["/v1/pets", "/v1/categories"])
def test_the_log_says_why_no_connection_is_tried(
    key: str, path: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(breaker, "seconds", 60)
    breaker.fail()
    got = uvloop.run(ask(Door(in_a_thread, 2), reading(path, key)))
    assert (got.status, json.loads(got.body)) == (503, UNAVAILABLE)
    assert errors_in(caplog)[0] == f"Database error: {CLOSED}"


@pytest.mark.parametrize(
    ("cause", "text"),
    [
        (psycopg.errors.AdminShutdown("terminating\n connection"), "57P01 terminating connection"),
        (psycopg.OperationalError("consuming input failed: EOF"), "the connection broke: consuming input failed: EOF"),
        (psycopg.OperationalError(), "the connection broke: OperationalError"),
        (TimeoutError(), "the connection broke: TimeoutError"),
        (None, "the connection broke: OperationalError"),
    ],
    ids=["SQLSTATE", "none", "no text", "timeout", "no cause"],
)
def test_each_error_of_the_database_has_its_sqlstate_or_a_broken_connection(cause: Exception | None, text: str) -> None:
    failed = OperationalError()
    failed.__cause__ = cause
    assert described(failed) == text


@pytest.mark.parametrize("sqlstate", ["XX000", "57P04", "57P01"])
@pytest.mark.parametrize("severity", ["ERROR", "FATAL", "PANIC"])
def test_an_error_that_ends_the_connection_is_one_of_the_database(sqlstate: str, severity: str) -> None:
    failed = OperationalError()
    failed.__cause__ = psycopg.errors.lookup(sqlstate)(info={DiagnosticField.SEVERITY_NONLOCALIZED: severity.encode()})
    assert (failure_of(failed) is BROKEN) is ((sqlstate, severity) not in {("XX000", "ERROR"), ("57P04", "ERROR")})


def errors_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.levelno == logging.ERROR]
