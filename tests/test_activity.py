"""Who changed what, on the first page of the back office."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from categories.models import Category
from changes import undo as undoing
from changes.bulk import Target, begin, select
from changes.models import Change
from history.acting import identify
from pets.models import Pet
from petstore_site.apikeys.models import APIKey
from tests.factories import APIKeyFactory, CategoryFactory, PetFactory
from tests.pets.office import PETS, form_of, member

ANNA = ("view_pet", "change_pet", "delete_pet", "restore_pet", "view_importrun", "add_importrun", "view_category")


@pytest.fixture
def anna(db: None) -> Client:
    return member("anna", *ANNA)


@pytest.fixture
def flock(category: Category) -> list[Pet]:
    return PetFactory.create_batch(5, category=category)


def lines(client: Client) -> list[str]:
    events = client.get("/admin/").context["activity"]["events"]
    return [
        f"{event.change.actor} {event.change.sentence}".strip()
        if event.change
        else " ".join(filter(None, (event.actor, event.verb, event.what)))
        for event in events
    ]


def mark(client_name: str, pets: list[Pet], status: str) -> Change:
    identify(f"staff {client_name}")
    user: Any = User.objects.get(username=client_name)
    selection = select(Pet.objects.filter(pk__in=[pet.pk for pet in pets]), user=user)
    change = begin(selection, Target("status", status, status))
    undoing.advance(change.pk)
    return change


def undo_buttons(client: Client) -> list[str]:
    return re.findall(
        r'class="btn btn-small" href="(/admin/activity/\d+/undo/)">', client.get("/admin/").content.decode()
    )


def test_what_belongs_together_is_one_line(anna: Client, flock: list[Pet]) -> None:
    mark("anna", flock, "sold")
    rex = flock[0]
    rex.refresh_from_db()
    anna.post(f"{PETS}{rex.pk}/change/", form_of(rex, status="pending"))
    Pet.history.filter(history_type="~", change=None).update(actor="staff tomasz")
    rex.refresh_from_db()
    anna.post(f"{PETS}{rex.pk}/change/", form_of(rex, category=CategoryFactory(name="Cats").pk))
    assert lines(anna) == [
        f"staff anna moved {rex.name} to Cats",
        "added the category Cats",
        f"staff tomasz marked {rex.name} pending",
        "staff anna marked 5 animals sold",
        f"added {flock[4].name}",
        f"added {flock[3].name}",
    ]


def test_deleting_and_restoring_are_told_with_the_way_back(anna: Client, flock: list[Pet]) -> None:
    rex = flock[0]
    anna.post(f"{PETS}{rex.pk}/delete/", {"post": "yes"})
    assert lines(anna)[0] == f"staff anna deleted {rex.name}"
    [undo] = re.findall(r'action="(/admin/activity/r\d+/undo/)"', anna.get("/admin/").content.decode())[:1]
    assert "/undo/" not in member("viewer", "view_pet").get("/admin/").content.decode()
    anna.post(undo)
    assert lines(anna)[0] == f"staff anna restored {rex.name}"


def test_a_bulk_change_is_undone_from_its_line_by_who_may_edit(anna: Client, flock: list[Pet]) -> None:
    tomasz = member("tomasz", "view_pet", "change_pet")
    bulk = mark("anna", flock, "sold")
    address = f"/admin/activity/{bulk.pk}/undo/"
    assert (undo_buttons(anna), undo_buttons(tomasz)) == ([address], [address])
    after = tomasz.post(address, {"back": "/admin/"}, follow=True)
    assert after.redirect_chain == [("/admin/", 302)]
    assert set(Pet.objects.values_list("status", flat=True)) == {"available"}
    assert lines(anna)[:2] == [
        "staff tomasz undid “marked 5 animals sold”",
        "staff anna marked 5 animals sold",
    ]
    assert address not in undo_buttons(anna)


def test_a_change_of_one_names_it(anna: Client, flock: list[Pet]) -> None:
    mark("anna", flock[:1], "pending")
    assert lines(anna)[0] == f"staff anna marked {flock[0].name} pending"


def test_keys_are_named_to_those_who_may_see_them(db: None, category: Category) -> None:
    key = APIKeyFactory(name="<b>Shop</b>")
    identify(f"key {key.key_id}")
    PetFactory(name="Rex", category=category)
    identify("staff kim")
    key.rotate(grace=timedelta(hours=1))
    APIKey.objects.get(pk=key.pk).revoke()
    keeper, viewer = member("keeper", superuser=True), member("viewer", "view_pet")
    assert [line for line in lines(keeper) if "the key" in line] == [
        "staff kim revoked the key <b>Shop</b>",
        "staff kim rotated the key <b>Shop</b>",
        "staff kim issued the key <b>Shop</b>",
        "issued the key <b>Shop</b>",
    ]
    assert "<b>&lt;b&gt;Shop&lt;/b&gt;</b>" in keeper.get("/admin/").content.decode()
    assert f"<b>Key {key.key_id}</b>" in viewer.get("/admin/").content.decode()
    assert "Shop" not in viewer.get("/admin/").content.decode()
