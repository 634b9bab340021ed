"""Rate limits per key, off by default."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.utils import timezone
from django.utils.http import http_date

from petstore_site.apikeys.models import APIKey
from rest.limits import SECONDS_WITHOUT_LIMITS, build_limiter
from tests.conftest import ApiClient, error
from tests.defects import defect

LIMITED = error("rate_limited", "Too many requests.", 429)


def test_the_settings_limit_for_keys_without_one(api: ApiClient, settings: Any) -> None:
    settings.RATE_LIMIT = "3/h"
    answers = [api.get("/v1/pets") for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert [answer["RateLimit-Policy"] for answer in answers] == ['"default";q=3;w=3600'] * 4
    assert [answer["RateLimit"] for answer in answers] == [f'"default";r={left};t=3600' for left in (2, 1, 0, 0)]
    assert answers[3].json() == LIMITED
    assert answers[3]["Retry-After"] == "3600"


def test_a_keys_own_limit_wins(settings: Any, db: None) -> None:
    settings.RATE_LIMIT = "1/day"
    api = ApiClient(APIKey.objects.issue(name="Partner", rate_limit="2/min")[1])
    assert [api.get("/v1/pets").status_code for _ in range(3)] == [200, 200, 429]


def test_each_key_for_itself(api: ApiClient, reader: ApiClient, settings: Any) -> None:
    settings.RATE_LIMIT = "1/day"
    assert [client.get("/v1/pets").status_code for client in (api, api, reader, reader)] == [200, 429, 200, 429]


def test_errors_have_the_limit_too(api: ApiClient, settings: Any) -> None:
    settings.RATE_LIMIT = "5/day"
    answers = [
        api.get("/v1/pets?limit=0"),
        api.get("/v1/pets/999"),
        api.post("/v1/pets", b"{"),
        api("DELETE", "/v1/pets"),
        api.get("/v1/nowhere"),
    ]
    with defect():
        answers.append(api.get("/v1/pets"))
    assert [answer.status_code for answer in answers] == [400, 404, 400, 405, 404, 500]
    assert [answer["RateLimit"][:14] for answer in answers] == [f'"default";r={left};' for left in (4, 3, 2, 2, 2, 1)]
    assert {answer["RateLimit-Policy"] for answer in answers} == {'"default";q=5;w=86400'}


def test_a_key_that_expires_soon_and_has_a_limit_sees_both(settings: Any, db: None) -> None:
    expires_at = timezone.now() + timedelta(days=3)
    api = ApiClient(APIKey.objects.issue(name="Partner", rate_limit="2/day", expires_at=expires_at)[1])
    answers = [api.get("/v1/pets"), api.get("/v1/pets/999"), api.get("/v1/pets"), api("DELETE", "/v1/pets")]
    assert [answer.status_code for answer in answers] == [200, 404, 429, 405]
    assert {answer["API-Key-Expiration"] for answer in answers} == {http_date(expires_at.timestamp())}
    assert [answer["RateLimit"][:14] for answer in answers] == [f'"default";r={left};' for left in (1, 0, 0, 0)]
    assert {answer["RateLimit-Policy"] for answer in answers} == {'"default";q=2;w=86400'}


def test_a_read_key_that_may_not_write_sees_its_limit(reader: ApiClient, settings: Any) -> None:
    settings.RATE_LIMIT = "5/day"
    answer = reader.post("/v1/pets", {})
    assert (answer.status_code, answer["RateLimit"][:14]) == (403, '"default";r=5;')


@pytest.mark.parametrize("method", ["GET", "OPTIONS"])
def test_without_a_key_there_is_no_limit(stranger: ApiClient, settings: Any, method: str) -> None:
    settings.RATE_LIMIT = "5/day"
    answer = stranger(method, "/v1/pets")
    assert not {"RateLimit", "RateLimit-Policy"} & set(answer.headers)


def test_a_lost_cache_does_not_close_the_shop(api: ApiClient, settings: Any, caplog: pytest.LogCaptureFixture) -> None:
    settings.RATE_LIMIT = "1/day"
    settings.CACHE_URL = "redis://:hunter2@127.0.0.1:1/0"
    answers = [api.get("/v1/pets"), api.get("/v1/pets"), api.get("/v1/nowhere")]
    assert [answer.status_code for answer in answers] == [200, 200, 404]
    assert not any("RateLimit" in answer for answer in answers)
    assert caplog.text.count("Rate limits are not applied") == 1  # the others did not try
    assert "hunter2" not in caplog.text


def test_once_the_cache_is_back_every_request_is_counted(
    api: ApiClient, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr("database.breaker.time", SimpleNamespace(monotonic=lambda: now[0]))
    settings.RATE_LIMIT = "5/day"
    settings.CACHE_URL = "redis://127.0.0.1:1/0"
    assert "RateLimit" not in api.get("/v1/pets")
    settings.CACHE_URL = "memory://"
    build_limiter.cache_clear()
    now[0] += SECONDS_WITHOUT_LIMITS
    answers = [api.get("/v1/pets") for _ in range(3)]
    assert [answer["RateLimit"][:14] for answer in answers] == [f'"default";r={left};' for left in (4, 3, 2)]
