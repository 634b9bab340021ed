"""A key manager lets the request desk record each request of one key, for an hour and up to a number of reads."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django.utils.html import strip_tags

from history.times import in_sentence
from petstore_site.apikeys import lookup, models
from petstore_site.apikeys.models import MOST_READS_RECORDED, RECORDED, APIKey
from petstore_site.request_desk import records
from petstore_site.request_desk.models import RecordGap, RequestRecord
from petstore_site.wsgi import application
from tests.conftest import ApiClient
from tests.factories import APIKeyFactory
from tests.in_loop import AdapterFirst
from tests.pets.office import history_told, member, told
from tests.recorded.wsgi import exchange

pytestmark = pytest.mark.django_db


@pytest.fixture
def key() -> APIKey:
    return APIKeyFactory(name="Shop")


@pytest.fixture
def manager(db: None) -> Client:
    return member("anna", "view_apikey", "change_apikey", "view_requestrecord")


def switch(client: Client, key: APIKey, wanted: str) -> Any:
    lookup.clear()  # what a second does
    return client.post(f"/admin/apikeys/apikey/{key.pk}/record/", {"record": wanted}, follow=True)


def read(key: APIKey, times: int = 1) -> None:
    for _ in range(times):
        assert ApiClient(key.secret).get("/v1/pets").status_code == 200


def written() -> list[tuple[Any, ...]]:
    records.flush()
    rows = list(RequestRecord.objects.order_by("pk").values_list("key", "method", "route", "status"))
    RequestRecord.objects.all().delete()
    return rows


def test_each_request_with_the_key_is_recorded_and_no_other(manager: Client, key: APIKey) -> None:
    other = APIKeyFactory()
    read(key)
    switch(manager, key, "on")
    api = ApiClient(key.secret)
    read(key)
    read(other)
    assert api.get("/v1/pets", If_None_Match="*").status_code == 304
    assert api("HEAD", "/v1/categories").status_code == 200
    assert api.get("/v1/pets/0").status_code == 404
    assert written() == [
        (key.pk, "GET", "pet-list", 200),
        (key.pk, "GET", "pet-list", 304),
        (key.pk, "HEAD", "category-list", 200),
        (key.pk, "GET", "pet-detail", 404),
    ]
    switch(manager, key, "off")
    read(key)
    assert written() == []


def test_in_the_event_loop_too_and_none_writes_in_its_request(manager: Client, key: APIKey) -> None:
    switch(manager, key, "on")
    headers = {"Authorization": f"Bearer {key.secret}", "Host": "testserver"}
    service = AdapterFirst(application)
    assert exchange(service, "GET", "/v1/pets", headers)[0] == 200
    with CaptureQueriesContext(connection) as asked:
        assert exchange(service, "GET", "/v1/pets", headers)[0] == 200
    assert not {"INSERT", "UPDATE", "DELETE"} & {query["sql"].split()[0] for query in asked.captured_queries}
    assert written() == [(key.pk, "GET", "pet-list", 200)] * 2


def test_every_process_knows_within_a_second(manager: Client, key: APIKey) -> None:
    """Through the look-up of the key, which each repeats every second."""
    assert lookup.LIFETIME <= 1
    switch(manager, key, "on")
    found = lookup.find(key.digest)
    key.refresh_from_db()
    assert found is not None
    assert found.recorded_until == key.recorded_until


def test_it_ends_after_an_hour(manager: Client, key: APIKey) -> None:
    before = timezone.now()
    switch(manager, key, "on")
    key.refresh_from_db()
    assert key.recorded_until is not None
    assert timedelta(hours=1) == RECORDED
    assert before + RECORDED <= key.recorded_until <= timezone.now() + RECORDED
    APIKey.objects.update(recorded_until=timezone.now())
    lookup.clear()
    read(key)
    assert written() == []
    assert "Stop recording" not in manager.get(f"/admin/apikeys/apikey/{key.pk}/change/").content.decode()


def test_it_ends_after_so_many_reads(manager: Client, key: APIKey, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "MOST_READS_RECORDED", 3)
    switch(manager, key, "on")
    read(key, 2)
    assert ApiClient(key.secret).get("/v1/pets/0").status_code == 404
    assert len(written()) == 3
    key.refresh_from_db()
    assert (key.reads_left, key.is_recorded) == (1, True)
    read(key, 2)
    assert ApiClient(key.secret).get("/v1/pets/0").status_code == 404
    assert [status for *_, status in written()] == [200, 404]
    key.refresh_from_db()
    assert (key.reads_left, key.is_recorded) == (0, False)


def test_what_was_noted_before_the_end_is_saved(manager: Client, key: APIKey) -> None:
    switch(manager, key, "on")
    read(key)
    switch(manager, key, "off")
    assert len(written()) == 1


def test_reads_leave_room_for_the_errors_of_others(
    manager: Client, key: APIKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "MOST_READS", 2)
    monkeypatch.setattr(records, "MOST", 4)
    switch(manager, key, "on")
    read(key, 3)
    for each in (key, APIKeyFactory()):
        assert ApiClient(each.secret).get("/v1/pets/0").status_code == 404
    assert [status for *_, status in written()] == [200, 200, 404, 404]
    assert sum(RecordGap.objects.values_list("count", flat=True)) == 1


def test_the_key_and_the_list_show_it_and_the_history_says_who(manager: Client, key: APIKey) -> None:
    page = f"/admin/apikeys/apikey/{key.pk}/"
    assert "Record each request for an hour" in manager.get(f"{page}change/").content.decode()
    assert told(switch(manager, key, "on")) == [f"Each request with {key} is recorded for an hour."]
    key.refresh_from_db()
    until = in_sentence(key.recorded_until)
    shown = strip_tags(manager.get(f"{page}change/").content.decode())
    assert f"Each request with this key is recorded until {until}, at most {MOST_READS_RECORDED:,} more" in shown
    assert "Stop recording" in shown
    assert f"recorded until {until}" in strip_tags(manager.get("/admin/apikeys/apikey/").content.decode())
    change = key.history.latest("history_id")
    assert (change.actor, change.recorded_until) == ("staff anna", key.recorded_until)
    [[newest, *_]] = history_told(manager, page).values()
    assert newest[0].removeprefix("AN ") == "anna"
    assert told(switch(manager, key, "off")) == [f"The recording of {key} has ended."]
    assert "recorded until" not in manager.get("/admin/apikeys/apikey/").content.decode()


def test_the_switch_does_not_undo_a_revocation_a_moment_ago(key: APIKey) -> None:
    loaded = APIKey.objects.get(pk=key.pk)
    key.revoke()
    loaded.record_reads()
    loaded.stop_recording()
    assert APIKey.objects.get(pk=key.pk).revoked_at == key.revoked_at


@pytest.mark.parametrize("wanted", ["", "maybe"])
def test_a_forged_switch(manager: Client, key: APIKey, wanted: str) -> None:
    assert switch(manager, key, wanted).status_code == 400


def test_a_revoked_key_is_not_recorded(manager: Client, key: APIKey) -> None:
    key.revoke()
    assert switch(manager, key, "on").status_code == 400
    assert "Record each request" not in manager.get(f"/admin/apikeys/apikey/{key.pk}/change/").content.decode()


def test_who_only_sees_keys_cannot_switch(key: APIKey) -> None:
    viewer = member("viewer", "view_apikey")
    assert switch(viewer, key, "on").status_code == 403
    assert "Record each request" not in viewer.get(f"/admin/apikeys/apikey/{key.pk}/change/").content.decode()


def test_recording_again_has_room_for_as_many_reads_again(manager: Client, key: APIKey) -> None:
    switch(manager, key, "on")
    APIKey.objects.update(reads_left=7)
    switch(manager, key, "off")
    switch(manager, key, "on")
    assert APIKey.objects.get().reads_left == MOST_READS_RECORDED
