"""Who changed what, on the first page of the back office."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from categories.models import Category
from changes.acting import identify
from pets.bulk import Target, make
from pets.models import BulkChange, ImportRun, Pet
from petstore_site.apikeys.models import APIKey
from petstore_site.back_office.dashboard import activity
from tests.factories import APIKeyFactory, CategoryFactory, PetFactory
from tests.pets.office import PETS, form_of, member, seen

ANNA = ("view_pet", "change_pet", "delete_pet", "restore_pet", "view_importrun", "add_importrun", "view_category")


@pytest.fixture
def anna(db: None) -> Client:
    return member("anna", *ANNA)


@pytest.fixture
def flock(category: Category) -> list[Pet]:
    return PetFactory.create_batch(5, category=category)


def lines(client: Client) -> list[str]:
    events = client.get("/admin/").context["activity"]["events"]
    return [" ".join(filter(None, (event.actor, event.verb, event.what, event.rest))) for event in events]


def mark(client_name: str, pets: list[Pet], status: str) -> BulkChange:
    identify(f"staff {client_name}")
    user: Any = User.objects.get(username=client_name)
    return make({pet.pk: seen(pet) for pet in pets}, Target("status", status, status), user=user)


def undo_buttons(client: Client) -> list[str]:
    return re.findall(
        r'<form method="post" action="(/admin/pets/bulkchange/\d+/undo/)">', client.get("/admin/").content.decode()
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
        "added 5 animals",
        "added the category Dogs",
    ]


def test_deleting_and_restoring_are_told_with_the_way_back(anna: Client, flock: list[Pet]) -> None:
    rex = flock[0]
    anna.post(f"{PETS}{rex.pk}/delete/", {"post": "yes"})
    assert lines(anna)[0] == f"staff anna deleted {rex.name}"
    assert f'href="{PETS}deleted/?q={rex.pk}">Restore…' in anna.get("/admin/").content.decode()
    viewer = member("viewer", "view_pet")
    assert f'href="{PETS}{rex.pk}/history/"' in viewer.get("/admin/").content.decode()
    assert "Restore…" not in viewer.get("/admin/").content.decode()
    anna.post(f"{PETS}deleted/{rex.pk}/restore/")
    assert lines(anna)[0] == f"staff anna restored {rex.name}"


def test_a_bulk_change_is_undone_from_its_line_by_who_made_it(anna: Client, flock: list[Pet]) -> None:
    tomasz = member("tomasz", "view_pet", "change_pet")
    bulk = mark("anna", flock, "sold")
    address = f"/admin/pets/bulkchange/{bulk.pk}/undo/"
    assert (undo_buttons(anna), undo_buttons(tomasz)) == ([address], [])
    after = anna.post(address, {"back": "/admin/"}, follow=True)
    assert after.redirect_chain == [("/admin/", 302)]
    assert set(Pet.objects.values_list("status", flat=True)) == {"available"}
    assert lines(anna)[:2] == [
        "staff anna gave 5 animals the former value again",
        "staff anna marked 5 animals sold",
    ]
    assert address not in undo_buttons(anna)


def test_a_change_of_one_names_it(anna: Client, flock: list[Pet]) -> None:
    mark("anna", flock[:1], "pending")
    assert lines(anna)[0] == f"staff anna marked {flock[0].name} pending"
    assert f'<a href="{PETS}{flock[0].pk}/change/">{flock[0].name}</a>' in anna.get("/admin/").content.decode()


def imported(pets: list[Pet], name: str = "friday.csv") -> ImportRun:
    run = ImportRun.objects.create(who="staff rosa", file_name=name, options={}, state="done", created=len(pets))
    Pet.history.filter(id__in=[pet.pk for pet in pets]).update(import_run=run, actor=str(run))
    return run


def test_an_import_is_one_line_however_large(anna: Client, category: Category, monkeypatch: pytest.MonkeyPatch) -> None:
    PetFactory(name="Before", category=category)
    run = imported(PetFactory.create_batch(60, category=category))
    PetFactory(name="After", category=category)
    Pet.history.filter(name="Before").update(actor="key Ab3dE6gH")
    monkeypatch.setattr(activity, "WINDOW", 5)
    monkeypatch.setattr(activity, "READS", 3)
    expected = ["added After", "staff rosa imported friday.csv", "key Ab3dE6gH added Before"]
    assert [line for line in lines(anna) if "category" not in line] == expected
    page = anna.get("/admin/").content.decode()
    assert f'<a href="/admin/pets/importrun/{run.pk}/change/">friday.csv</a>' in page
    assert f'href="/admin/pets/importrun/{run.pk}/undo/">Undo…' in page
    assert "60 added" in page
    assert "/undo/" not in member("viewer", "view_pet").get("/admin/").content.decode()


def test_alike_changes_of_many_animals_are_listed_in_their_line(anna: Client, category: Category) -> None:
    identify("key Ab3dE6gH")
    pets = PetFactory.create_batch(3, category=category)
    Pet.history.filter(id=pets[0].pk).update(history_date=pets[0].created_at - timedelta(hours=2))
    assert [line for line in lines(anna) if "key" in line][:2] == [
        "key Ab3dE6gH added 2 animals",
        f"key Ab3dE6gH added {pets[0].name}",
    ]
    page = anna.get("/admin/").content.decode()
    for pet in pets:
        assert f'<a href="{PETS}{pet.pk}/change/">{pet.name}</a>' in page


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
    assert "<b>&lt;b&gt;Shop&lt;/b&gt;</b> added" in keeper.get("/admin/").content.decode()
    assert f"<b>key {key.key_id}</b> added" in viewer.get("/admin/").content.decode()
    assert "Shop" not in viewer.get("/admin/").content.decode()
