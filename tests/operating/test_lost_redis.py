"""A Redis that is frozen or gone: requests pass, and at most one in 5 s waits for it."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import redis
from django.test import Client

from petstore_site.apikeys.models import APIKey
from petstore_site.serving import health
from rest.limits import breaker, build_limiter
from tests.conftest import ApiClient
from tests.server import RELEASE, running_redis, until

REPORT = "Rate limits are not applied for 5 s"
DEGRADED = {
    "status": "ready",
    "release": RELEASE,
    "checks": {"database": "ok", "migrations": "ok", "cache": "degraded", "work": "ok"},
}


@pytest.fixture
def frozen(tmp_path: Path, settings: Any) -> Iterator[int]:
    """The process ID of a Redis that counts the limits and can be frozen."""
    with running_redis(tmp_path) as url:
        client: Any = redis.from_url(url)
        pid = int(client.info()["process_id"])
        settings.CACHE_URL = url
        settings.CACHES = {
            "default": {
                "BACKEND": "django.core.cache.backends.redis.RedisCache",
                "LOCATION": url,
                "OPTIONS": {"socket_timeout": 1},
            }
        }
        build_limiter.cache_clear()
        try:
            yield pid
        finally:
            os.kill(pid, signal.SIGCONT)
            build_limiter.cache_clear()


def seconds(api: ApiClient) -> float:
    started = time.perf_counter()
    assert api.get("/v1/pets").status_code == 200
    return time.perf_counter() - started


def test_only_one_request_in_five_seconds_waits(
    db: None, frozen: int, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who waits is in the log."""
    assert breaker.seconds == 5
    now = [100.0]
    monkeypatch.setattr("database.breaker.time", SimpleNamespace(monotonic=lambda: now[0]))
    api = ApiClient(APIKey.objects.issue(name="Partner", rate_limit="1000/h")[1])
    os.kill(frozen, signal.SIGSTOP)
    for times, passed in ((1, 4.9), (1, 0.2), (2, 0)):
        assert [api.get("/v1/pets").status_code for _ in range(20)] == [200] * 20
        assert caplog.text.count(REPORT) == times
        now[0] += passed


def test_the_one_that_waits_waits_a_tenth_of_a_second(db: None, frozen: int) -> None:
    """The shortest of them, since a busy machine makes some longer."""
    api = ApiClient(APIKey.objects.issue(name="Partner", rate_limit="1000/h")[1])
    usual = min(seconds(api) for _ in range(9))
    os.kill(frozen, signal.SIGSTOP)
    waits = []
    for _ in range(9):
        breaker.succeed()
        waits.append(seconds(api) - usual)
    assert 0.03 <= min(waits) <= 0.3


def test_limits_are_back_with_the_cache(db: None, frozen: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rest.limits.breaker.seconds", 0.3)
    api = ApiClient(APIKey.objects.issue(name="Partner", rate_limit="2/h")[1])
    os.kill(frozen, signal.SIGSTOP)
    assert [api.get("/v1/pets").status_code for _ in range(4)] == [200] * 4
    os.kill(frozen, signal.SIGCONT)
    until(lambda: api.get("/v1/pets").status_code == 429)


def test_ready_while_the_cache_is_frozen(transactional_db: None, client: Client, frozen: int) -> None:
    os.kill(frozen, signal.SIGSTOP)
    started = time.perf_counter()
    answer = client.get("/readyz")
    assert time.perf_counter() - started < health.SECONDS / 2
    assert (answer.status_code, answer.json()) == (200, DEGRADED)
