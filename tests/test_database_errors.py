"""What a client gets when the database fails: real errors of a real database, by SQLSTATE."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import DatabaseError, DataError, OperationalError, connection
from django.test import Client
from django.utils import timezone

from database.errors import rejected_data
from idempotency.models import IdempotentRequest
from pets.models import Pet
from petstore_site.apikeys.models import APIKey
from rest.errors import ErrorCode
from tests.conftest import ApiClient, error
from tests.factories import CategoryFactory
from tests.racing import patient
from tests.server import until

UNAVAILABLE = error("unavailable", ErrorCode.UNAVAILABLE.meaning, 503)

pytestmark = pytest.mark.django_db(transaction=True)
postgresql_only = pytest.mark.postgresql("SQLSTATEs are PostgreSQL's")
sqlite_only = pytest.mark.sqlite("locks of a whole file are SQLite's")


@contextmanager
def instead_of(wanted: str, sql: str, *, times: int = 1000) -> Iterator[list[str]]:
    """Let the database run `sql` instead of statements that contain `wanted`; yield those it replaced."""
    replaced: list[str] = []

    def wrapper(execute: Callable[..., Any], original: str, params: Any, many: bool, context: Any) -> Any:
        if wanted in original and len(replaced) < times:
            replaced.append(original)
            return execute(sql, None, many, context)
        return execute(original, params, many, context)

    with connection.execute_wrapper(wrapper):
        yield replaced


def raising(sqlstate: str) -> str:
    return f"DO $$ BEGIN RAISE EXCEPTION 'hunter2 SELECT secret' USING ERRCODE = '{sqlstate}'; END $$"


@postgresql_only
@pytest.mark.parametrize(
    ("sqlstate", "retry_after"),
    [
        *[(state, "2") for state in ("08000", "08003", "08006", "57P01", "57P02", "57P03", "57P05", "53300", "53200")],
        *[(state, "2") for state in ("25006", "25P03", "25P04")],
        *[(state, "1") for state in ("57014", "55P03", "40001", "40P01")],
        *[(state, "30") for state in ("53100", "58030")],
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_failing_database_is_503(
    api: ApiClient, method: str, sqlstate: str, retry_after: str, caplog: pytest.LogCaptureFixture
) -> None:
    category = CategoryFactory()
    statement = "INSERT INTO" if method == "POST" else 'FROM "pets_pet"'
    with instead_of(statement, raising(sqlstate)):
        answer = api(method, "/v1/pets", {"name": "x", "categoryId": category.pk} if method == "POST" else None)
    assert (answer.status_code, answer.json()) == (503, UNAVAILABLE)
    assert answer["Retry-After"] == retry_after
    assert answer["X-Request-ID"]
    assert f"Database error: {sqlstate} hunter2" in caplog.text
    assert not Pet.objects.exists()
    assert api.get("/v1/pets").status_code == 200


@postgresql_only
@pytest.mark.parametrize("sqlstate", ["22001", "22003", "22021", "23514"])
def test_a_value_that_only_the_database_rejects_is_400_and_a_defect(
    api: ApiClient, sqlstate: str, caplog: pytest.LogCaptureFixture
) -> None:
    category = CategoryFactory()
    with instead_of("INSERT INTO", raising(sqlstate)):
        answer = api.post("/v1/pets", {"name": "x", "categoryId": category.pk})
    assert answer.status_code == 400
    assert "hunter2" not in answer.content.decode()
    assert "our validation accepted" in caplog.text


@pytest.mark.parametrize(
    ("failure", "cause", "rejected"),
    [
        (DataError(), psycopg.DataError("PostgreSQL text fields cannot contain NUL (0x00) bytes"), True),
        (DataError(), None, True),
        (DataError(), sqlite3.DataError("string or blob too big"), False),
        (OperationalError(), None, False),
    ],
    ids=["psycopg", "no cause", "SQLite", "another error"],
)
def test_a_value_that_was_never_sent_is_a_defect_too(
    failure: DatabaseError, cause: Exception | None, *, rejected: bool
) -> None:
    failure.__cause__ = cause
    assert rejected_data(failure) is rejected


@postgresql_only
def test_any_other_error_is_500(api: ApiClient) -> None:
    with instead_of('FROM "pets_pet"', "SELECT nonsense"):
        answer = api.get("/v1/pets")
    assert (answer.status_code, answer.json()["code"]) == (500, "internal_error")


@postgresql_only
@pytest.mark.parametrize("sqlstate", ["40001", "40P01"])
def test_a_lost_race_is_tried_again_twice(api: ApiClient, sqlstate: str) -> None:
    category = CategoryFactory()
    body = {"name": "x", "categoryId": category.pk}
    with instead_of("INSERT INTO", raising(sqlstate), times=2):
        assert api.post("/v1/pets", body).status_code == 201
    assert Pet.objects.count() == 1
    with instead_of("INSERT INTO", raising(sqlstate)) as tries:
        assert api.post("/v1/pets", body).status_code == 503
    assert len(tries) == 3
    assert Pet.objects.count() == 1


@postgresql_only
@pytest.mark.parametrize("headers", [{}, {"Idempotency_Key": "order-1"}], ids=["POST", "POST with a key"])
def test_a_write_whose_connection_breaks_is_sent_once(api: ApiClient, headers: dict[str, str]) -> None:
    """It may be done."""
    category = CategoryFactory()
    ended = "SELECT pg_terminate_backend(pg_backend_pid())"
    with instead_of("INSERT INTO", ended, times=1) as writes:
        answer = api.post("/v1/pets", {"name": "x", "categoryId": category.pk}, **headers)
    assert (answer.status_code, answer.json(), answer["Retry-After"]) == (503, UNAVAILABLE, "2")
    assert len(writes) == 1
    assert not Pet.objects.exists()


@postgresql_only
def test_a_write_for_which_there_is_no_connection_is_not_done(api: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    body = {"name": "x", "categoryId": CategoryFactory().pk}
    api.get("/v1/pets")  # now the key is known
    connection.close()
    with monkeypatch.context() as unreachable:
        unreachable.setitem(connection.settings_dict, "HOST", "/nowhere")
        answer = api.post("/v1/pets", body)
    assert (answer.status_code, answer.json(), answer["Request-Outcome"]) == (503, UNAVAILABLE, "not-done")


@postgresql_only
def test_the_back_office_repeats_nothing(admin_client: Client) -> None:
    category = CategoryFactory()
    new = {"name": "Rex", "category": category.pk, "status": "available", "external_reference": ""}
    admin_client.raise_request_exception = False
    with instead_of('INSERT INTO "pets_pet"', raising("40001"), times=1) as tries:
        page = admin_client.post("/admin/pets/pet/add/", new)
    assert (page.status_code, page["Retry-After"], len(tries)) == (503, "1", 1)
    assert not Pet.objects.exists()


@postgresql_only
def test_a_read_only_server_is_left_for_good(api: ApiClient) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        before = cursor.fetchone()
    with instead_of('FROM "pets_pet"', raising("25006")):
        api.get("/v1/pets")
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        assert cursor.fetchone() != before


@postgresql_only
def test_a_commit_that_no_standby_confirmed_is_503(api: ApiClient) -> None:
    category = CategoryFactory()
    with connection.cursor() as cursor:
        # Only this session makes the server wait for a standby that does not exist.
        cursor.execute("SHOW synchronous_standby_names")
        assert cursor.fetchone() == ("nobody",)
        cursor.execute("SET synchronous_commit = on")
    operator = threading.Thread(target=cancel_wait_for_standby)
    operator.start()
    try:
        answer = api.post("/v1/pets", {"name": "x", "categoryId": category.pk})
        next_one = api.get("/v1/pets")
    finally:
        operator.join()
        connection.connection.close()  # not back to the pool, with its synchronous_commit
        connection.close()
    assert (answer.status_code, answer.json()) == (503, UNAVAILABLE)
    assert next_one.status_code == 200
    assert answer["Retry-After"] == "2"
    assert "Location" not in answer.headers


def cancel_wait_for_standby() -> None:
    """Do as an operator does whose standby is gone: cancel the COMMIT that waits for it."""
    cancel = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    with another_connection() as operator:
        until(lambda: operator.execute(cancel).fetchone())


def another_connection() -> psycopg.Connection[Any]:
    parameters = connection.get_connection_params() | {"cursor_factory": psycopg.Cursor, "context": None}
    return psycopg.connect(**parameters, autocommit=True)


@postgresql_only
@pytest.mark.parametrize("is_replaced", [False, True], ids=["the first", "one that replaces an expired one"])
def test_a_first_request_that_still_runs_is_409(api: ApiClient, is_replaced: bool) -> None:
    """It waits for its category. The second one waits for nothing."""
    body = {"name": "x", "categoryId": CategoryFactory().pk}
    if is_replaced:
        api.post("/v1/pets", body, Idempotency_Key="order-1")
        IdempotentRequest.objects.update(created_at=timezone.now() - timedelta(hours=24))
    with patient(), ThreadPoolExecutor(1) as pool:
        with another_connection() as holder, holder.transaction(force_rollback=True):
            holder.execute("SELECT 1 FROM categories_category FOR UPDATE")
            first = pool.submit(in_its_own_thread, lambda: api.post("/v1/pets", body, Idempotency_Key="order-1"))
            until_someone_waits()
            answer = api.post("/v1/pets", body, Idempotency_Key="order-1")
        added = first.result()
    running = error("idempotency_in_progress", "A request with this Idempotency-Key is still running.", 409)
    assert (answer.status_code, answer.json(), answer["Retry-After"]) == (409, running, "1")
    again = api.post("/v1/pets", body, Idempotency_Key="order-1")
    assert (added.status_code, again.status_code, again.content) == (201, 201, added.content)
    assert Pet.objects.count() == 1 + is_replaced


@postgresql_only
def test_the_same_idempotency_key_of_another_caller_is_another_one(api: ApiClient) -> None:
    body = {"name": "x", "categoryId": CategoryFactory().pk}
    with another_connection() as holder, holder.transaction():
        holder.execute(f"SELECT pg_advisory_xact_lock(hashtextextended('order-1', {APIKey.objects.get().pk}))")
        other = ApiClient(APIKey.objects.issue(name="Other")[1])
        answers = [each.post("/v1/pets", body, Idempotency_Key="order-1").status_code for each in (api, other)]
    assert answers == [409, 201]


@postgresql_only
def test_what_is_stored_meanwhile_is_replayed(api: ApiClient) -> None:
    """As if the first request committed between the snapshot of the second and its lock."""
    body = {"name": "x", "categoryId": CategoryFactory().pk}
    first = api.post("/v1/pets", body, Idempotency_Key="order-1")
    with patient(), ThreadPoolExecutor(1) as pool:
        with another_connection() as before, before.transaction():
            row = before.execute("DELETE FROM idempotency_idempotentrequest RETURNING *").fetchone()
            before.execute("COMMIT; BEGIN")
            before.execute("INSERT INTO idempotency_idempotentrequest VALUES (%s, %s, %s, %s, %s, %s, %s, %s)", row)
            adding = pool.submit(in_its_own_thread, lambda: api.post("/v1/pets", body, Idempotency_Key="order-1"))
            until_someone_waits()
        again = adding.result()
    assert (again.status_code, again.content, again["Idempotency-Replayed"]) == (201, first.content, "true")
    assert Pet.objects.count() == 1


def in_its_own_thread(work: Callable[[], Any]) -> Any:
    try:
        return work()
    finally:
        connection.close()


def until_someone_waits() -> None:
    waiting = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    with another_connection() as observer:
        until(lambda: observer.execute(waiting).fetchone())


def test_an_unmigrated_database_is_503(api: ApiClient) -> None:
    with instead_of('FROM "pets_pet"', "SELECT 1 FROM nowhere"):
        answer = api.get("/v1/pets")
    assert (answer.status_code, answer.json(), answer["Retry-After"]) == (503, UNAVAILABLE, "30")
    assert (answer["Cache-Control"], answer["Vary"]) == ("private, no-cache", "Authorization")


@postgresql_only
def test_a_locked_category_is_no_conflict_of_idempotency_keys(api: ApiClient) -> None:
    category = CategoryFactory()
    with another_connection() as holder, holder.transaction(force_rollback=True):
        holder.execute("SELECT 1 FROM categories_category FOR UPDATE")
        answer = api.post("/v1/pets", {"name": "x", "categoryId": category.pk}, Idempotency_Key="order-1")
    assert (answer.status_code, answer.json()) == (503, UNAVAILABLE)


@sqlite_only
def test_a_locked_file_is_503(api: ApiClient, tmp_path: Path) -> None:
    category = CategoryFactory()
    holder = sqlite3.connect(tmp_path / "other.sqlite3", isolation_level=None)
    holder.execute("CREATE TABLE t (n)")
    with connection.cursor() as cursor:
        cursor.execute(f"ATTACH DATABASE '{tmp_path / 'other.sqlite3'}' AS other")
        cursor.execute("PRAGMA busy_timeout = 10")
    holder.execute("BEGIN EXCLUSIVE")
    try:
        with instead_of("INSERT INTO", "INSERT INTO other.t VALUES (1)"):
            answer = api.post("/v1/pets", {"name": "x", "categoryId": category.pk})
    finally:
        holder.close()
        with connection.cursor() as cursor:
            cursor.execute("DETACH DATABASE other")
            cursor.execute("PRAGMA busy_timeout = 5000")
    assert (answer.status_code, answer.json(), answer["Retry-After"]) == (503, UNAVAILABLE, "1")
    assert not Pet.objects.exists()


def test_staff_get_a_page_and_programs_an_error(db: None, caplog: pytest.LogCaptureFixture) -> None:
    broken = raising("57P03") if connection.vendor == "postgresql" else "SELECT nonsense"
    with instead_of("FROM", broken):
        client = Client(raise_request_exception=False)
        client.cookies["sessionid"] = "x" * 32
        page = client.get("/admin/")
    assert page["Content-Type"].startswith("text/html")
    assert page.status_code == (503 if connection.vendor == "postgresql" else 500)
