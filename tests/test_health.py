"""`/livez` and `/readyz`."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client

from tests.conftest import error
from tests.test_database_errors import instead_of

READY = {"status": "ready", "checks": {"database": "ok", "migrations": "ok", "cache": "ok"}}


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


def test_a_missing_migration_is_not_ready(db: None, client: Client) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'pets' AND name = '0001_pets'")
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()) == (503, not_ready("migrations"))
    assert answer["Retry-After"] == "2"


def test_a_lost_cache_is_not_ready(db: None, client: Client, settings: Any) -> None:
    lost = {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": "redis://:hunter2@127.0.0.1:1/0"}
    settings.CACHES = {"default": lost}
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()) == (503, not_ready("cache"))


@pytest.mark.django_db(transaction=True)
def test_a_lost_database_is_not_ready(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    with instead_of("", "SELECT nonsense"):
        answer = client.get("/readyz")
    assert (answer.status_code, answer.json()) == (503, not_ready("database, migrations"))
    assert "nonsense" in caplog.text
    assert client.get("/readyz").json() == READY
