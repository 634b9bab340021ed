"""Who changed what, on the first page of the back office."""

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
        f"{event.change.who} {event.change.sentence}".strip()
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
