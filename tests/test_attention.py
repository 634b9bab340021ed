"""What needs attention, on the first page of the back office: each line is true of the list that it leads to."""

from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from changes.bulk import Target, begin, select
from changes.models import Change
from history.times import short_day
from pets.models import ImportRun, Pet
from petstore_site.apikeys.models import KeyUsage, Use
from tests.days import today
from tests.factories import APIKeyFactory, PetFactory
from tests.pets.office import member

SOLD = Target("status", "sold", "sold")


def days_ago(days: int) -> datetime:
    return datetime.combine(today() - timedelta(days=days), time(12), UTC)


def matters(client: Client) -> list[Any]:
    found: list[Any] = (client.get("/admin/").context["attention"] or {"matters": []})["matters"]
    return found


def run(name: str, state: str, *, rejected: int = 0, days: int = 0) -> None:
    made = ImportRun.objects.create(who="root", file_name=name, options={}, state=state, rejected=rejected)
    ImportRun.objects.filter(pk=made.pk).update(started_at=days_ago(days))


def test_nothing_needs_attention(staff: Client) -> None:
    for state, rejected, days in (
        ("done", 0, 0),
        ("dry run", 5, 0),
        ("undone", 5, 0),
        ("already imported", 0, 0),
        ("running", 0, 0),
        ("done", 5, 8),
    ):
        run("fine.csv", state, rejected=rejected, days=days)
    APIKeyFactory(expires_at=timezone.now() + timedelta(days=15))
    KeyUsage.objects.add_all([(Use(APIKeyFactory().pk, days_ago(30).date(), "pet-detail", 2), 5)])
    assert matters(staff) == []
    assert "Needs attention" not in staff.get("/admin/").content.decode()


def test_a_bulk_change_that_no_process_does_needs_attention(staff: Client) -> None:
    assert matters(member("viewer", "view_pet")) == []
    bulk = begin(select(Pet.objects.filter(pk=PetFactory().pk), user=User.objects.get(username="keeper")), SOLD)
    assert matters(staff) == []  # it is at work
    Change.objects.update(worked_at=timezone.now() - timedelta(seconds=21))
    [matter] = matters(staff)
    assert (matter.what, matter.why, matter.url) == (
        *("1 change", "waits for the worker"),
        f"/admin/activity/{bulk.pk}/",
    )
    assert matters(member("viewer 2", "view_pet")) == []
    staff.post(f"/admin/activity/{bulk.pk}/stop/")
    assert matters(staff) == []


def removed_in(days: int) -> dict[str, Any]:
    """Return that single animals are removed from the API in so many days."""
    return {"pet-detail": {"since": timezone.now(), "sunset": timezone.now() + timedelta(days=days, minutes=5)}}


@pytest.mark.parametrize(("days", "work"), [(366, []), (364, ["call GET /v1/pets/{petId}"])])
def test_a_removal_years_away_is_no_work_yet(staff: Client, settings: Any, days: int, work: list[str]) -> None:
    settings.API_DEPRECATIONS = removed_in(days)
    for _ in range(2):
        KeyUsage.objects.add_all([(Use(APIKeyFactory().pk, today(), "pet-detail", 2), 5)])
    assert [matter.why for matter in matters(staff)] == work


def test_each_line_leads_to_the_list_it_speaks_of(staff: Client, settings: Any) -> None:
    settings.API_DEPRECATIONS = removed_in(9)
    run("friday.csv", "done", rejected=3)
    run("frogs.xlsx", "failed", days=6)
    run("one.csv", "partly undone", rejected=1, days=7)
    ends = {}
    for days, name in ((2, "Shop"), (13, "Scanner"), (-1, "Old"), (20, "New")):
        ends[name] = timezone.now() + timedelta(days=days, minutes=5)
        APIKeyFactory(name=name, expires_at=ends[name])
    for day, route in ((0, "pet-detail"), (1, "pet-detail"), (0, "pet-list")):
        key = APIKeyFactory(name=f"{route} {day}")
        KeyUsage.objects.add_all([(Use(key.pk, days_ago(day).date(), route, 2), 5)])
    found = matters(staff)
    assert [(matter.what, matter.why) for matter in found] == [
        ("3 imports", "had errors this week"),
        ("2 keys", "expire within 14 days"),
        ("2 keys", "call GET /v1/pets/{petId}"),
    ]
    assert found[0].detail == "one.csv: 1 row rejected, frogs.xlsx: failed and others"
    assert sorted(found[1].detail.split(", ")) == [f"{name} on {short_day(ends[name])}" for name in ("Scanner", "Shop")]
    removed = short_day(settings.API_DEPRECATIONS["pet-detail"]["sunset"])
    assert found[2].detail == f"pet-detail 0, pet-detail 1. It will be removed on {removed}."
    assert found.pop(2).url == "/admin/apikeys/keyusage/"
    for matter in found:
        listed = staff.get(matter.url)
        assert listed.status_code == 200
        rows = listed.context["runs"] if "runs" in listed.context else listed.context["cl"].result_list
        assert len({getattr(row, "key_id", row.pk) for row in rows} - {None}) == int(matter.what.split()[0])


def test_one_is_one(staff: Client) -> None:
    APIKeyFactory(name="Shop", expires_at=timezone.now() + timedelta(days=2))
    assert [(matter.what, matter.why) for matter in matters(staff)] == [("1 key", "expires within 14 days")]


def test_many_are_not_counted(staff: Client) -> None:
    for _ in range(101):
        APIKeyFactory(expires_at=timezone.now() + timedelta(days=2))
    assert [matter.what for matter in matters(staff)] == ["More than 100 keys"]
