"""Undo for one edit, from its message, the history and the overview, and old versions that can be restored."""

import re
from datetime import date, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from categories.models import Category
from changes.models import Change, Kind
from pets.models import Pet
from petstore_site.apikeys.models import APIKey
from tests.factories import APIKeyFactory, CategoryFactory, PetFactory, set_days
from tests.pets.office import PETS, click, form_of, history_disagrees, member, seen, told
from tests.whole import CELLS

UNDO = re.compile('<form method="post" action="([^"]+/undo/(?:[0-9]+/)?)">')


@pytest.fixture
def rex(db: None) -> Pet:
    return PetFactory(name="Rex", category=CategoryFactory(name="Dogs"), status="available", external_reference="R-1")


def edit(client: Client, pet: Pet, **changed: Any) -> Any:
    pet.refresh_from_db()
    return client.post(f"{PETS}{pet.pk}/change/", form_of(pet, **changed), follow=True)


def undo(client: Client, page: Any) -> Any:
    """Click the first Undo of a page. Return the page that it leads to."""
    return client.post(UNDO.findall(page.content.decode())[0], follow=True)


def values(pet: Pet) -> tuple[Any, ...]:
    pet.refresh_from_db()
    return pet.name, pet.category.name, pet.status, pet.external_reference


def test_each_field_is_undone_from_the_message_and_the_undo_too(staff: Client, rex: Pet) -> None:
    cats = CategoryFactory(name="Cats")
    before = values(rex)
    saved = edit(staff, rex, name="Max", category=cats.pk, status="pending", external_reference="")
    after = ("Max", "Cats", "pending", None)
    assert told(saved) == ["“Max” was saved."]
    assert values(rex) == after
    undone = undo(staff, saved)
    assert told(undone) == ["Undid “changed Rex”."]
    assert values(rex) == before
    again = undo(staff, undone)
    assert values(rex) == after
    assert told(again) == ["Redid “changed Max”."]
    assert history_disagrees() == []


def test_fields_that_only_others_changed_stay_without_a_message(staff: Client, rex: Pet) -> None:
    sold = click(staff, rex, "sold")
    edit(staff, rex, name="Max")
    assert told(undo(staff, sold)) == ["Undid “marked Max sold”."]
    assert values(rex) == ("Max", "Dogs", "available", "R-1")


def test_an_animal_that_another_program_added_without_history_stays(staff: Client, rex: Pet) -> None:
    saved = edit(staff, rex, name="Max")
    Pet.history.filter(history_type="+").delete()
    assert told(undo(staff, saved)) == ["Nothing changed. Its animals are as before already."]


def test_an_undone_animal_last_changed_when_it_was_undone(staff: Client, rex: Pet) -> None:
    saved = edit(staff, rex, name="Max")
    Pet.objects.update(updated_at=timezone.now() - timedelta(days=1))
    undo(staff, saved)
    pet = Pet.objects.get()
    moment = Pet.history.latest("history_id").history_date
    assert (pet.name, abs(pet.updated_at - moment) < timedelta(minutes=1)) == ("Rex", True)
    click(staff, pet, "sold")
    Pet.objects.update(updated_at=timezone.now() - timedelta(days=1))
    staff.post(f"/admin/activity/r{seen(pet)}/undo/")
    pet = Pet.objects.get()
    assert (pet.status, pet.updated_at) == ("available", Pet.history.latest("history_id").history_date)


def test_of_two_sales_that_ended_the_one_that_the_edit_ended_comes_back(staff: Client, rex: Pet) -> None:
    ended = []
    for day in (date(2026, 1, 5), date(2026, 3, 9)):
        click(staff, rex, "sold")
        set_days(day)
        ended.append(edit(staff, rex, status="available"))
    undo(staff, ended[0])
    assert str(Pet.objects.get().sold_on) == "2026-01-05"


@pytest.mark.parametrize("lost", ["category", "reference"])
def test_what_is_not_possible_any_more_is_refused_in_words(staff: Client, rex: Pet, lost: str) -> None:
    if lost == "category":
        saved = edit(staff, rex, category=CategoryFactory(name="Cats").pk)
        Category.objects.filter(name="Dogs").delete()
        told_so = "category"
    else:
        saved = edit(staff, rex, external_reference="R-2")
        PetFactory(external_reference="R-1")
        told_so = "reference"
    before = values(rex)
    [said] = told(undo(staff, saved))
    assert said.startswith(f"Nothing changed. “Rex” ({rex.pk}): ")
    assert told_so in said
    assert values(rex) == before


def test_without_the_permission_nothing_is_undone(staff: Client, rex: Pet) -> None:
    edit(staff, rex, name="Max")
    address = f"/admin/activity/r{seen(rex)}/undo/"
    assert member("reader", "view_pet").post(address).status_code == 403
    assert staff.get(address).status_code == 200
    assert staff.post(f"/admin/activity/r{seen(rex) + 1}/undo/").status_code == 404
    assert values(rex)[0] == "Max"


def test_an_addition_is_undone_by_who_may_delete(rex: Pet) -> None:
    address = f"/admin/activity/r{seen(rex)}/undo/"
    assert member("editor", "view_pet", "change_pet").post(address).status_code == 403
    assert values(rex)[0] == "Rex"
    assert member("deleter", "view_pet", "delete_pet").post(address).status_code == 302
    assert (Pet.objects.count(), Change.objects.get().kind) == (0, Kind.DELETION)


def test_categories_and_keys_are_undone_alike(staff: Client) -> None:
    dogs = CategoryFactory(name="Dogs")
    page = f"/admin/categories/category/{dogs.pk}/change/"
    undo(staff, staff.post(page, {"name": "Hounds", "icon": "", "seen": seen(dogs)}, follow=True))
    assert Category.objects.get().name == "Dogs"
    key = APIKeyFactory(name="Shop")
    page = f"/admin/apikeys/apikey/{key.pk}/change/"
    undo(staff, staff.post(page, {"name": "Till", "seen": key.history.latest("history_id").pk}, follow=True))
    assert APIKey.objects.get().name == "Shop"
    for change in (lambda: key.rotate(grace=timedelta(hours=1)), key.revoke):
        change()
        key.refresh_from_db()
        address = f"/admin/apikeys/apikey/{key.pk}/undo/{key.history.latest('history_id').pk}/"
        told_so = told(staff.post(address, follow=True)) if key.is_active else staff.post(address).status_code
        assert told_so == (["There is nothing to undo."] if key.is_active else 403)
    assert UNDO.findall(staff.get(f"/admin/apikeys/apikey/{key.pk}/history/").content.decode()) == []


class TestOldVersions:
    @pytest.fixture
    def old(self, staff: Client, rex: Pet) -> str:
        """The address of Rex before he was renamed and sold."""
        address = f"{PETS}{rex.pk}/history/{seen(rex)}/"
        edit(staff, rex, name="Max", status="sold")
        return address

    def test_it_is_read_only_and_says_what_differs(self, staff: Client, old: str) -> None:
        page = staff.get(old)
        html = page.content.decode()
        assert re.search(r"<h1>As it was on [0-9]{1,2} [A-Z][a-z]+ [0-9]{4}, [0-9:]{5}</h1>", html)
        assert f"2 of {4 + len(CELLS)} fields are different now" in html
        assert [(*value.values(),)[:3] for value in page.context["values"]] == [
            ("Name", "Rex", "Max"),
            ("Status", "Available", "Sold"),
            ("Category", "Dogs", "Dogs"),
            ("External reference", "R-1", "R-1"),
            *((name.capitalize(), text, text) for name, text in CELLS.items()),
        ]
        assert not re.search('<input type="(text|radio|submit)|<select', html)
        assert re.findall(r"(?s)<button[^>]*default.*?>.*?(\w[\w ]+)</button>", html) == ["Restore these values"]

    def test_restoring_gives_the_values_back_and_can_be_undone(self, staff: Client, rex: Pet, old: str) -> None:
        restored = staff.post(old, {"seen": seen(rex)}, follow=True)
        assert values(rex) == ("Rex", "Dogs", "available", "R-1")
        assert re.fullmatch("“Rex” has the values of .* again.", told(restored)[0])
        undo(staff, restored)
        assert values(rex) == ("Max", "Dogs", "sold", "R-1")
        assert history_disagrees() == []

    def test_a_change_after_it_was_opened_is_a_conflict(self, staff: Client, rex: Pet, old: str) -> None:
        opened = seen(rex)
        edit(member("anna", "change_pet", "view_pet"), rex, name="Moritz")
        [message] = told(staff.post(old, {"seen": opened}, follow=True))
        assert message.startswith(
            "Not restored. Someone changed “Moritz” after you opened this version. Name: “Max” → “Moritz” (anna,"
        )
        assert values(rex)[0] == "Moritz"

    def test_a_reader_sees_it_and_cannot_restore(self, rex: Pet, old: str) -> None:
        reader = member("reader", "view_pet")
        assert "Restore these values" not in reader.get(old).content.decode()
        assert reader.post(old, {"seen": seen(rex)}).status_code == 403
        assert values(rex)[0] == "Max"

    @pytest.mark.usefixtures("old")
    def test_the_version_of_today_offers_nothing(self, staff: Client, rex: Pet) -> None:
        page = staff.get(f"{PETS}{rex.pk}/history/{seen(rex)}/").content.decode()
        assert "It is the same now" in page
        assert "Restore these values" not in page

    def test_that_of_a_deleted_animal_can_be_read(self, staff: Client, rex: Pet, old: str) -> None:
        rex.delete()
        page = staff.get(old).content.decode()
        assert "It was deleted since" in page
        assert "Restore these values" not in page


@pytest.mark.parametrize(
    ("permissions", "said"),
    [
        (["view_pet", "view_apikey"], "Saved by Web shop (shop@example.com)"),
        (["view_pet"], "Saved by key {}"),
    ],
)
def test_an_old_version_names_the_key_that_saved_it(db: None, permissions: list[str], said: str) -> None:
    key = APIKeyFactory(name="Web shop", contact="shop@example.com")
    pet = PetFactory()
    row = pet.history.first()
    type(row).objects.filter(pk=row.pk).update(actor=f"key {key.key_id}")
    page = member("someone", *permissions).get(f"{PETS}{pet.pk}/history/{row.pk}/").content.decode()
    assert said.format(key.key_id) in page
