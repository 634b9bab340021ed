"""What keys add is one change for each key and clock hour, which can be undone and done again."""

import re
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from categories.models import Category
from changes import additions, log
from changes.models import Change
from pets import stock
from pets.models import Pet
from petstore_site.apikeys.models import APIKey
from petstore_site.back_office.request_desk.models import RequestRecord
from tests.conftest import ApiClient
from tests.factories import PetFactory
from tests.pets.office import history_disagrees, member, text_of, told

ACTIVITY = "/admin/activity/"
HOUR = timezone.now().replace(minute=0, second=0, microsecond=0).astimezone(UTC) - timedelta(hours=3)
CLOCK = f"{HOUR.hour}:00 to {HOUR.hour + 1}:00"


@pytest.fixture
def shop(db: None) -> ApiClient:
    return ApiClient(APIKey.objects.issue(name="Web shop", contact="")[1])


def add(api: ApiClient, count: int, at: datetime = HOUR + timedelta(minutes=20), category: Any = None) -> list[int]:
    """Add animals through the API, as if it had been then, and return their IDs."""
    to = category or Category.objects.get_or_create(name="Dogs")[0]
    numbers = []
    for _ in range(count):
        sent = api.post("/v1/pets", {"name": "Rex", "categoryId": to.pk})
        assert sent.status_code == 201
        numbers.append(sent.json()["id"])
        Pet.history.filter(id=numbers[-1]).update(history_date=at)
        at += timedelta(minutes=1)
    return numbers


def lines(client: Client, **query: str) -> list[tuple[str, str]]:
    """Return the lines of Activity: who and what."""
    return [(change.name, change.sentence) for change in client.get(ACTIVITY, query).context["changes"]]


def test_what_a_key_added_in_an_hour_is_one_line_and_what_is_alone_stays_one(staff: Client, shop: ApiClient) -> None:
    other = ApiClient(APIKey.objects.issue(name="Scanner")[1])
    add(shop, 3)
    add(shop, 1, HOUR + timedelta(hours=1))
    add(other, 2)
    add(shop, 2, HOUR - timedelta(days=2))
    PetFactory.create_batch(2)
    additions.gather()
    additions.gather()
    found = sorted(lines(staff, kind="added"))
    assert [line for line in found if line[1].startswith("added Rex")] == [("Web shop", "added Rex")] * 3
    assert [line for line in found if "animals" in line[1]] == [
        ("Scanner", f"added 2 animals, {CLOCK}"),
        ("Web shop", f"added 3 animals, {CLOCK}"),
    ]
    assert Pet.history.filter(change__kind="addition").count() == 5
    change = Change.objects.get(added=3)
    assert (change.made_at, change.ended_at) == (HOUR + timedelta(minutes=20), HOUR + timedelta(minutes=22))
    page = text_of(staff.get(f"{ACTIVITY}{change.pk}/").content.decode())
    assert f"Web shop added 3 animals, {CLOCK}" in page
    assert "Undo deletes 3 animals. You see each animal first." in page
    assert "Request ID" not in page


def test_later_additions_of_the_hour_join_it_until_it_is_undone(staff: Client, shop: ApiClient) -> None:
    for count in (2, 1):
        add(shop, count)
        additions.gather()
    change = Change.objects.get()
    assert (change.added, change.animals) == (3, 3)
    assert told(staff.post(f"{ACTIVITY}{change.pk}/undo/", follow=True)) == ["Deleted 3 animals."]
    add(shop, 2)
    additions.gather()
    assert lines(staff, kind="added") == [("Web shop", f"added {count} animals, {CLOCK}") for count in (2, 3)]
    assert Pet.objects.count() == 2


def test_a_line_stays_at_its_place_when_more_is_added(staff: Client, shop: ApiClient) -> None:
    other = ApiClient(APIKey.objects.issue(name="Scanner")[1])
    add(shop, 2)
    add(other, 2, HOUR + timedelta(minutes=30))
    additions.gather()
    first, older = log.changes(log.Filters(kind="added"), count=1)
    add(shop, 2, HOUR + timedelta(minutes=40))
    additions.gather()
    second, _ = log.changes(log.Filters(kind="added"), before=older, count=1)
    assert [[change.added for change in page] for page in (first, second)] == [[2], [4]]


def test_its_undo_leaves_what_was_changed_since_and_can_be_undone(staff: Client, shop: ApiClient) -> None:
    numbers = add(shop, 4)
    additions.gather()
    Pet.objects.get(pk=numbers[0]).delete()
    sold = Pet.objects.get(pk=numbers[1])
    sold.status = "sold"
    sold.save()
    address = f"{ACTIVITY}{Change.objects.get().pk}/"
    assert "2 animals were changed since." in text_of(staff.get(address).content.decode())
    assert "Undo: delete 2 animals? 2 stay." in text_of(staff.get(f"{address}undo/").content.decode())
    staff.post(f"{address}undo/")
    assert [*Pet.objects.values_list("pk", flat=True)] == [sold.pk]
    staff.post(f"{ACTIVITY}{Change.objects.latest('pk').pk}/undo/")
    assert {*Pet.objects.values_list("pk", flat=True)} == {*numbers[1:]}
    assert (history_disagrees(), stock.differences()) == ([], [])


def test_a_click_on_one_addition_undoes_one_although_it_was_gathered_meanwhile(staff: Client, shop: ApiClient) -> None:
    numbers = add(shop, 3)
    page = staff.get(ACTIVITY).content.decode()
    undo = re.findall(r'action="(/admin/activity/r\d+/undo/)"', page)[0]
    additions.gather()
    staff.post(undo)
    assert [*Pet.objects.order_by("pk").values_list("pk", flat=True)] == numbers[:2]


def test_an_undo_is_asked_again_if_more_was_added_since_its_page(staff: Client, shop: ApiClient) -> None:
    add(shop, 2)
    additions.gather()
    address = f"{ACTIVITY}{Change.objects.get().pk}/undo/"
    shown = re.findall(r'name="of" value="(\d+)"', staff.get(address).content.decode())
    add(shop, 1)
    additions.gather()
    again = staff.post(address, {"of": shown[0]}, follow=True)
    assert told(again) == ["Nothing changed. More animals were added to it meanwhile. Look at them first."]
    assert (Pet.objects.count(), shown) == (3, ["2"])
    assert "Undo: delete 3 animals?" in text_of(again.content.decode())


def test_few_blocks_are_gathered_at_once(shop: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(additions, "BLOCK", 2)
    monkeypatch.setattr(additions, "BLOCKS", 2)
    add(shop, 5)
    assert [additions.gather() for _ in range(2)] == [True, False]
    assert [*Change.objects.values_list("added", flat=True)] == [5]


def test_one_that_was_undone_stays_a_line_of_its_own(staff: Client, shop: ApiClient) -> None:
    numbers = add(shop, 3)
    row = Pet.history.get(id=numbers[0])
    staff.post(f"{ACTIVITY}r{row.pk}/undo/")
    additions.gather()
    assert Change.objects.get(kind="addition").added == 2
    single = log.find(f"r{row.pk}")
    assert single is not None
    assert single.is_undone


@pytest.mark.parametrize("permissions", [["view_pet", "change_pet"], ["view_pet", "delete_pet"]])
def test_its_undo_needs_the_right_to_delete(shop: ApiClient, permissions: list[str]) -> None:
    add(shop, 2)
    additions.gather()
    client, change = member("bert", *permissions), Change.objects.get()
    status = client.post(f"{ACTIVITY}{change.pk}/undo/").status_code
    assert (status, Pet.objects.count()) == ((302, 0) if "delete_pet" in permissions else (403, 2))


def test_the_request_desk_still_knows_the_animal_of_a_request(staff: Client, shop: ApiClient) -> None:
    at = HOUR + timedelta(minutes=21, seconds=2)  # the request was slow, and wrote in its beginning
    add(shop, 2)
    key = APIKey.objects.get()
    Pet.history.update(request_id="wanted")
    RequestRecord.objects.create(
        request_id="wanted", key=key, at=at, method="POST", route="pet-list", status=201, milliseconds=3_000
    )
    desk = "/admin/request_desk/requestrecord/desk/?request_id=wanted"
    before = text_of(staff.get(desk).content.decode())
    additions.gather()
    assert Change.objects.get().added == 2
    assert text_of(staff.get(desk).content.decode()) == before
    assert "It added Rex." in before


@pytest.mark.django_db(transaction=True)
def test_two_processes_gather_each_addition_once(shop: ApiClient) -> None:
    add(shop, 30)
    barrier = threading.Barrier(2)

    def gather() -> None:
        barrier.wait()
        additions.gather()
        connection.close()

    threads = [threading.Thread(target=gather) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [*Change.objects.values_list("added", flat=True)] == [30]
    assert Pet.history.filter(change=Change.objects.get()).count() == 30
