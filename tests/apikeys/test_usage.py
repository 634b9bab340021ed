"""The use of keys is counted in memory and written down now and then."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from petstore_site.apikeys import usage
from petstore_site.apikeys.lookup import CachedKey
from petstore_site.apikeys.models import APIKey, KeyUsage
from petstore_site.serving.access import AccessRecord, observe
from rest.request import Request
from tests.conftest import ApiClient
from tests.factories import APIKeyFactory, PetFactory
from tests.serving.calling import scope


def cached(key: APIKey) -> CachedKey:
    return CachedKey(
        key.pk, key.key_id, key.name, key.scope, key.rate_limit, key.expires_at, key.revoked_at, caller_id=key.pk
    )


def written() -> list[tuple[Any, ...]]:
    return [
        *KeyUsage.objects.order_by("key", "route", "status_class").values_list("key", "route", "status_class", "count")
    ]


@pytest.mark.django_db
class TestRequests:
    def test_are_counted_by_route_and_status_class(self) -> None:
        key, animal = APIKeyFactory(scope="read"), PetFactory()
        api = ApiClient(key.secret)
        before = timezone.now()
        for path in ("/v1/pets", "/v1/pets", "/v1/pets?limit=0", f"/v1/pets/{animal.pk}", "/v1/pets/0", "/v1/nowhere"):
            api.get(path)
        for method in ("POST", "PATCH", "HEAD", "OPTIONS", "SHOUT"):
            api(method, "/v1/pets", {"name": "Rex", "categoryId": 1})
        usage.flush()
        assert written() == [
            (key.pk, "pet-detail", 2, 1),
            (key.pk, "pet-detail", 4, 1),
            (key.pk, "pet-list", 2, 3),
            (key.pk, "pet-list", 4, 1),
            (key.pk, "pet-list OTHER", 4, 1),
            (key.pk, "pet-list PATCH", 4, 1),
            (key.pk, "pet-list POST", 4, 1),
            (key.pk, "unknown-route", 4, 1),
        ]
        assert set(KeyUsage.objects.values_list("day", flat=True)) == {timezone.now().date()}
        last_used_at = APIKey.objects.get().last_used_at
        assert last_used_at is not None
        assert before <= last_used_at <= timezone.now()

    def test_with_an_unchanged_response_are_counted_as_good(self) -> None:
        key, animal = APIKeyFactory(scope="read"), PetFactory()
        api = ApiClient(key.secret)
        for path in (f"/v1/pets/{animal.pk}", "/v1/pets", "/v1/categories"):
            tag = api.get(path)["ETag"]
            assert api.get(path, If_None_Match=tag).status_code == 304
        usage.flush()
        assert written() == [(key.pk, route, 2, 2) for route in ("category-list", "pet-detail", "pet-list")]

    def test_without_an_accepted_key_are_not(self) -> None:
        revoked = APIKeyFactory(revoked_at=timezone.now())
        for key in (None, "nonsense", revoked.secret):
            ApiClient(key).get("/v1/pets")
        ApiClient(None).get("/livez")
        usage.flush()
        assert written() == []
        assert APIKey.objects.get().last_used_at is None

    def test_write_nothing_themselves(self, django_assert_num_queries: Any) -> None:
        api = ApiClient(APIKeyFactory().secret)
        api.get("/v1/categories")
        with django_assert_num_queries(1):
            api.get("/v1/categories")

    def test_that_fail_are_counted(self, caplog: pytest.LogCaptureFixture) -> None:
        key = APIKeyFactory()

        asked = Request(scope("/"))
        asked.key = cached(key)
        observe(AccessRecord(asked, 503, 0))
        usage.flush()
        assert written() == [(key.pk, "", 5, 1)]
        assert [record.name for record in caplog.records] == ["petstore.requests"]


@pytest.mark.django_db
class TestFlush:
    def test_adds_to_what_is_there(self) -> None:
        key = APIKeyFactory()
        for expected in (2, 4, 6):
            usage.count(cached(key), route="pet-list", status=200)
            usage.count(cached(key), route="pet-list", status=204)
            usage.flush()
            assert written() == [(key.pk, "pet-list", 2, expected)]

    def test_last_use_only_moves_forward(self) -> None:
        later = timezone.now() + timedelta(hours=1)
        key = APIKeyFactory(last_used_at=later)
        usage.count(cached(key), route="pet-list", status=200)
        usage.flush()
        assert APIKey.objects.get().last_used_at == later

    def test_days_are_utc(self, monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
        settings.TIME_ZONE = "Pacific/Auckland"
        monkeypatch.setattr(timezone, "now", lambda: datetime(2026, 11, 20, 23, 59, 59, tzinfo=UTC))
        usage.count(cached(APIKeyFactory()), route="pet-list", status=200)
        monkeypatch.setattr(timezone, "now", lambda: datetime(2026, 11, 21, 0, 0, 0, tzinfo=UTC))
        usage.count(cached(APIKey.objects.get()), route="pet-list", status=200)
        usage.flush()
        assert [f"{day}" for day in KeyUsage.objects.order_by("day").values_list("day", flat=True)] == [
            "2026-11-20",
            "2026-11-21",
        ]

    def test_a_key_deleted_meanwhile_does_not_stop_the_others(self, caplog: pytest.LogCaptureFixture) -> None:
        gone, key = APIKeyFactory(), APIKeyFactory()
        usage.count(cached(gone), route="pet-list", status=200)
        usage.count(cached(key), route="pet-list", status=200)
        gone.delete()
        usage.flush()
        assert written() == [(key.pk, "pet-list", 2, 1)]
        assert caplog.text == ""

    def test_a_use_while_a_flush_fails_is_counted_and_the_latest(self, monkeypatch: pytest.MonkeyPatch) -> None:
        key = cached(APIKeyFactory())
        first, meanwhile = (datetime(2026, 11, 21, 12, minute, tzinfo=UTC) for minute in (0, 1))

        def use_and_fail(*_args: Any) -> None:
            if timezone.now() == first:
                monkeypatch.setattr(timezone, "now", lambda: meanwhile)
                usage.count(key, route="pet-list", status=200)
            raise OperationalError

        monkeypatch.setattr(timezone, "now", lambda: first)
        usage.count(key, route="pet-list", status=200)
        with connection.execute_wrapper(use_and_fail):
            usage.flush()
        usage.flush()
        assert written() == [(key.pk, "pet-list", 2, 2)]
        assert APIKey.objects.get().last_used_at == meanwhile

    def test_queries(self, django_assert_num_queries: Any) -> None:
        for key in (APIKeyFactory(), APIKeyFactory()):
            for route in ("pet-list", "pet-detail", "category-list"):
                usage.count(cached(key), route=route, status=200)
        with django_assert_num_queries(6):  # savepoint, lock, all counts, two keys' last use, release
            usage.flush()
        assert len(written()) == 6
        with django_assert_num_queries(0):
            usage.flush()
