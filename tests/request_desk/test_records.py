"""Records of requests are kept in memory, saved every few seconds, and deleted when they are old."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db import OperationalError, connection
from django.utils import timezone
from psycopg.errors import QueryCanceled

from petstore_site.apikeys.models import APIKey
from petstore_site.back_office.request_desk import models, records
from petstore_site.back_office.request_desk.models import KEPT, RequestRecord
from petstore_site.back_office.request_desk.records import Record
from petstore_site.back_office.request_desk.story import recent_errors
from tests.conftest import ApiClient
from tests.factories import APIKeyFactory, CategoryFactory
from tests.server import until

DAY = timedelta(days=1)
AT = timezone.now() - DAY


def record(request_id: str = "id", **values: Any) -> Record:
    given: dict[str, Any] = {"key": None, "at": AT, "method": "GET", "route": "pet-list", "status": 401}
    given |= {"code": "api_key_missing", "message": "", "milliseconds": 1}
    return Record(request_id=request_id, **given | values)


def written(*columns: str) -> list[Any]:
    rows = RequestRecord.objects.order_by("pk")
    return [*rows.values_list(*columns, flat=len(columns) == 1)]


@pytest.mark.django_db
class TestWhatIsRecorded:
    def test_an_error_with_everything_recorded(self) -> None:
        key = APIKeyFactory()
        before = timezone.now()
        ApiClient(key.secret).post("/v1/pets", {"name": "x"}, X_Request_ID="complaint-1")
        records.flush()
        row: dict[str, Any] = dict(RequestRecord.objects.values().get())
        assert before <= row.pop("at") <= timezone.now()
        assert row.pop("milliseconds") < 60_000
        assert row == {
            "id": row["id"],
            "request_id": "complaint-1",
            "key_id": key.pk,
            "method": "POST",
            "route": "pet-list",
            "status": 400,
            "code": "validation_failed",
            "message": "categoryId is required.",
        }

    def test_by_status_and_method(self) -> None:
        key, category = APIKeyFactory(), CategoryFactory()
        api, pet = ApiClient(key.secret), {"name": "Rex", "categoryId": category.pk}
        assert api.post("/v1/pets", pet).status_code == 201
        assert api.get("/v1/pets").status_code == 200
        assert api("HEAD", "/v1/pets").status_code == 200
        assert ApiClient(None)("OPTIONS", "/v1/pets").status_code == 204
        assert api.get("/v1/pets", If_None_Match="*").status_code == 304
        assert api.get("/v1/pets/0").status_code == 404
        assert api.get("/v1/nowhere").status_code == 404
        assert api("DELETE", "/v1/pets").status_code == 405
        for elsewhere in ("/livez", "/nowhere", "/v10/pets", "/admin/nowhere/"):
            api.get(elsewhere)
        records.flush()
        assert written("method", "route", "status", "code", "key") == [
            ("POST", "pet-list", 201, "", key.pk),
            ("GET", "pet-detail", 404, "pet_not_found", key.pk),
            ("GET", "unknown-route", 404, "route_not_found", key.pk),
            ("DELETE", "pet-list", 405, "method_not_allowed", key.pk),
        ]

    @pytest.mark.parametrize(
        ("columns", "code"),
        [
            ({"revoked_at": timezone.now()}, "api_key_revoked"),
            ({"expires_at": timezone.now() - DAY}, "api_key_expired"),
        ],
    )
    def test_a_rejected_key_is_named(self, columns: dict[str, Any], code: str) -> None:
        key = APIKeyFactory(**columns)
        ApiClient(key.secret).get("/v1/pets")
        records.flush()
        assert written("key", "code") == [(key.pk, code)]

    def test_requests_without_a_valid_key(self) -> None:
        for key, header in ((None, {}), ("nonsense", {}), (None, {"Authorization": "Basic abc"})):
            ApiClient(key).get("/v1/pets", **header)
        records.flush()
        assert written("key", "code") == [
            (None, "api_key_missing"),
            (None, "api_key_invalid"),
            (None, "api_key_invalid"),
        ]

    def test_database_trouble(self) -> None:
        api = ApiClient(APIKeyFactory().secret)
        api.get("/v1/pets")

        def fail(*_args: Any) -> None:
            raise OperationalError from QueryCanceled("too slow")

        with connection.execute_wrapper(fail):
            assert api.get("/v1/pets", X_Request_ID="trouble").status_code == 503
        records.flush()
        assert written("request_id", "status", "code") == [("trouble", 503, "unavailable")]

    def test_nothing_of_header_query_or_body(self) -> None:
        key = APIKeyFactory()
        guess = key.secret[:-1] + ("y" if key.secret.endswith("x") else "x")
        api = ApiClient(key.secret)
        api.get(f"/v1/pets?limit=hidden-query&cursor={key.secret}")
        api.post("/v1/pets", {"name": "", "categoryId": "hidden-body", key.secret: "x"})
        api.post("/v1/pets", b'{"name": "hidden-body')
        api.get("/v1/pets/hidden-path")
        ApiClient(guess).get("/v1/pets")
        api.get("/v1/pets", Idempotency_Key="hidden-header", X_Request_ID="hidden header")
        records.flush()
        rows = str([*RequestRecord.objects.values()])
        assert RequestRecord.objects.count() == 5
        for hidden in ("hidden", key.secret[18:50], key.digest, guess[18:50]):
            assert hidden not in rows

    def test_whatever_the_caller_sends_can_be_stored(self) -> None:
        message = f"\x00\ud800\n\u202e pets_test_{'a' * 46} Bearer secret " + "x" * 1000
        records.note(record(method="M\x00" * 50, message=message))
        records.flush()
        [(method, stored)] = written("method", "message")
        assert method == "M\N{REPLACEMENT CHARACTER}" * 10
        start = "\N{REPLACEMENT CHARACTER}" * 4 + " pets_test_aaaaaaaa*** Bearer *** xxx"
        assert (stored[: len(start)], len(stored)) == (start, 300)

    def test_costs_no_query(self, django_assert_num_queries: Any) -> None:
        api = ApiClient(APIKeyFactory().secret)
        api.get("/v1/pets")
        with django_assert_num_queries(0):
            api.get("/v1/pets?limit=0")


@pytest.mark.django_db
class TestBounds:
    def test_callers_without_a_key_share_a_bound(self) -> None:
        for number in range(50):
            records.note(record(f"stranger-{number}"))
        records.flush()
        assert written("request_id") == [f"stranger-{number}" for number in range(20)]

    def test_each_key_has_its_own(self) -> None:
        flood, quiet = APIKeyFactory(), APIKeyFactory()
        for _ in range(150):
            records.note(record(key=flood.pk))
        records.note(record("complaint", key=quiet.pk))
        records.flush()
        assert [RequestRecord.objects.filter(key=key).count() for key in (flood, quiet)] == [100, 1]

    def test_all_together_have_a_bound(self) -> None:
        for number in range(1500):
            records.note(record(key=number))
        records.flush()
        assert RequestRecord.objects.count() == 1000

    def test_after_a_flush_there_is_room_again(self) -> None:
        for _ in range(2):
            for _ in range(30):
                records.note(record())
            records.flush()
        assert RequestRecord.objects.count() == 40

    def test_threads_lose_nothing(self) -> None:
        def requests(key: int) -> None:
            for _ in range(100):
                records.note(record(key=key))

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(requests, range(8)))
        records.flush()
        assert RequestRecord.objects.count() == 800


@pytest.mark.django_db
class TestFlush:
    def test_queries(self, django_assert_num_queries: Any) -> None:
        keys = [APIKeyFactory() for _ in range(3)]
        for key in keys:
            for _ in range(20):
                records.note(record(key=key.pk))
        with django_assert_num_queries(6):  # savepoint, lock, all records, last id, purge, release
            records.flush()
        with django_assert_num_queries(0):
            records.flush()

    def test_a_key_deleted_meanwhile_does_not_stop_the_others(self) -> None:
        gone, key = APIKeyFactory(), APIKeyFactory()
        pk = gone.pk
        records.note(record("one", key=pk))
        records.note(record("two", key=key.pk))
        gone.delete()
        records.flush()
        assert written("request_id", "key") == [("one", None), ("two", key.pk)]

    def test_a_failure_keeps_all_within_the_bounds_and_says_so(self, caplog: pytest.LogCaptureFixture) -> None:
        def fail(*_args: Any) -> None:
            message = "disk full"
            raise OperationalError(message)

        for number in range(25):
            records.note(record(f"before-{number}"))
        with connection.execute_wrapper(fail):
            records.flush()
        assert [(each.levelname, each.message) for each in caplog.records] == [
            ("WARNING", "The records of requests were not saved. The next flush tries again.")
        ]
        records.note(record("after"))
        records.flush()
        assert written("request_id") == [f"before-{number}" for number in range(20)]


@pytest.mark.django_db(transaction=True)
@pytest.mark.filterwarnings("ignore:unclosed database:ResourceWarning")  # Django closes none that is in memory
def test_the_writer_starts_with_the_first_record(settings: Any) -> None:
    settings.API_KEY_USE_FLUSH_SECONDS = 0.05
    ApiClient(None).get("/v1/pets")
    until(RequestRecord.objects.exists)
    settings.API_KEY_USE_FLUSH_SECONDS = None
    for thread in threading.enumerate():
        if thread.name == "api-key-use":
            thread.join(10)
    assert written("code") == ["api_key_missing"]


@pytest.mark.django_db
class TestPurge:
    def store(self, *ages: timedelta) -> None:
        for number, age in enumerate(ages):
            values = record(f"{number}", at=timezone.now() - age)._asdict()
            RequestRecord.objects.create(**values | {"key": None})

    def test_old_ones_go_with_the_next_flush(self) -> None:
        self.store(KEPT + DAY, KEPT, KEPT - DAY)
        records.note(record("new", at=timezone.now()))
        records.flush()
        assert written("request_id") == ["2", "new"]

    def test_at_a_bounded_number_a_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(models, "PURGED_AT_ONCE", 2)
        self.store(*[KEPT + DAY] * 5)
        assert [RequestRecord.objects.purge() for _ in range(4)] == [2, 2, 1, 0]

    def test_too_many_go_though_they_are_young(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(models, "MOST_RECORDS", 3)
        self.store(*[DAY] * 5)
        RequestRecord.objects.purge()
        assert written("request_id") == ["2", "3", "4"]

    def test_the_command_deletes_all_of_them(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(models, "PURGED_AT_ONCE", 2)
        self.store(*[KEPT + DAY] * 5, DAY)
        for option in ("--dry-run", "--yes"):
            call_command("purge_expired", "--json", option)
        assert capsys.readouterr().out == (
            '{"idempotency_keys": 0, "request_records": 5, "dry_run": true}\n'
            '{"idempotency_keys": 0, "request_records": 5, "dry_run": false}\n'
        )
        assert written("request_id") == ["5"]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("query", "index"),
    [
        (lambda: RequestRecord.objects.filter(request_id="x").order_by("-pk")[:50], "request_record_request_id"),
        (lambda: recent_errors(APIKey(pk=1))["records"], "request_record_errors"),
    ],
)
def test_an_index_finds_them(query: Any, index: str) -> None:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off")
            cursor.execute("SET LOCAL enable_bitmapscan = off")
    plan = query().explain()
    assert index in plan
    assert "sort" not in plan.lower()
    assert "temp b-tree" not in plan.lower()
