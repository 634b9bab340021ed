"""Deleting animals asks and records; an authorised person brings one back as it was."""

import re
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from categories.models import Category
from changes.admin import bulk
from changes.models import Change
from pets.models import Pet
from tests.factories import PetFactory, set_days
from tests.pets.office import PETS, ask, click, confirm, history_disagrees, member, text_of, told

ACTIVITY = "/admin/activity/"


def delete(client: Client, pet: Pet) -> int:
    number = pet.pk
    assert client.post(f"{PETS}{number}/delete/", {"post": "yes"}, follow=True).status_code == 200
    return number


def restore(client: Client, number: int, **given: Any) -> Any:
    """Undo the last deletion of the animal."""
    row = Pet.history.filter(id=number).latest("history_id")
    page = f"{ACTIVITY}{row.change_id or f'r{row.pk}'}/undo/"
    return client.post(page, {"animal": number} | given, follow=True)


def listed(client: Client, needle: str = "") -> list[str]:
    changes = client.get(ACTIVITY, {"q": needle, "kind": "deletion"}).context["changes"]
    return [change.animal.row.name for change in changes if not change.is_undone]


@pytest.fixture
def rex(category: Category) -> Pet:
    return PetFactory(name="Rex", category=category, status="pending", external_reference="A-1")


def test_what_is_deleted_is_named_so_that_names_are_told_apart(staff: Client, rex: Pet) -> None:
    twin = PetFactory(name="Rex", category__name="Geckos", status="sold")
    asked = ask(staff, "delete_selected", rex, twin).content.decode()
    text = text_of(asked.split('<div class="page-head">')[1])
    assert "Delete 2 animals? Nothing is deleted yet. You can restore them from Activity." in text
    assert "1 animal Pending 1 animal Sold" in text
    assert f"Rex Status Sold Category Geckos Reference \N{EN DASH} ID {twin.pk}" in text
    assert f"Rex Status Pending Category {rex.category.name} Reference A-1 ID {rex.pk}" in text
    one = text_of(staff.get(f"{PETS}{twin.pk}/delete/").content.decode())
    assert "Delete “Rex”?" in one
    assert f"Rex Status Sold Category Geckos Reference \N{EN DASH} ID {twin.pk}" in one
    done = confirm(staff, ask(staff, "delete_selected", rex, twin), post="yes")
    assert told(done) == ["Deleted 2 animals."]
    assert not Pet.objects.exists()
    change = text_of(staff.get(f"{ACTIVITY}{Change.objects.get().pk}/").content.decode())
    assert "You can restore 2 animals, with their IDs, references and histories. You see each animal first." in change


def test_what_changed_since_it_was_selected_is_not_deleted(staff: Client, rex: Pet) -> None:
    tom, gone = PetFactory(name="Tom", category=rex.category), PetFactory(category=rex.category)
    asked = ask(staff, "delete_selected", rex, tom, gone)
    rex.status = "sold"
    rex.save()
    gone.delete()
    shown = staff.get(asked.redirect_chain[-1][0])  # Back, or a reload
    assert [pet.name for pet in shown.context["animals"]] == ["Tom"]
    assert told(confirm(staff, asked, post="yes")) == [
        "Deleted Tom.",
        "2 animals are left as they are. Rex: changed since; an animal: deleted since",
    ]
    assert list(Pet.objects.all()) == [rex]
    back = staff.get(asked.redirect_chain[-1][0], follow=True)
    assert told(back) == ["Nothing was deleted. The selected animals were changed or deleted since."]


def test_it_comes_back_as_it_was_twice(staff: Client, rex: Pet) -> None:
    added = datetime(2020, 2, 29, 12, 30, 15, 123456, tzinfo=UTC)
    Pet.history.update(history_date=added)
    for _ in range(2):
        number = delete(staff, Pet.objects.get())
        assert listed(staff) == ["Rex"]
        assert told(restore(staff, number)) == ["Restored Rex."]
        assert listed(staff) == []
        back = Pet.objects.get()
        assert (back.pk, back.name, back.status, back.external_reference) == (number, "Rex", "pending", "A-1")
        assert back.created_at == added
        assert timedelta(0) < datetime.now(UTC) - back.updated_at < timedelta(minutes=1)
    rows = Pet.history.order_by("history_id").values_list("history_type", "actor")
    assert list(rows) == [("+", ""), *[("-", "staff keeper"), ("+", "staff keeper")] * 2]
    assert history_disagrees() == []


def test_a_sold_animal_that_was_sold_before_gets_the_day_of_its_last_sale(staff: Client, rex: Pet) -> None:
    for status, day in (("sold", date(2026, 1, 5)), ("available", None), ("sold", date(2026, 3, 9))):
        rex.status = status
        rex.save()
        set_days(day)
    number = delete(staff, rex)
    restore(staff, number)
    assert list(Pet.objects.values_list("pk", "sold_on")) == [(number, date(2026, 3, 9))]


def test_it_can_be_restored_into_another_category(staff: Client, rex: Pet, category: Category) -> None:
    number = delete(staff, rex)
    category.delete()
    cats = Category.objects.create(name="Cats")
    assert f'<option value="{cats.pk}">Cats</option>' in staff.get(f"{PETS}{number}/change/").content.decode()
    restore(staff, number, category=cats.pk)
    assert Pet.objects.get().category == cats
    assert history_disagrees() == []


@pytest.mark.parametrize(
    ("needle", "found"),
    [("", ["Max", "Rex"]), ("re", ["Rex"]), ("a-1", ["Rex"]), ("zzz", []), ("9" * 30, []), ("\0", ["Max", "Rex"])],
)
def test_the_page_lists_what_is_gone_newest_first(
    staff: Client, rex: Pet, category: Category, needle: str, found: list[str]
) -> None:
    PetFactory(name="Still here", category=category)
    number = delete(staff, rex)
    delete(staff, PetFactory(name="Max", category=category))
    assert listed(staff, needle) == found
    assert listed(staff, str(number)) == ["Rex"]


@pytest.mark.parametrize(
    ("permissions", "status"),
    [
        ((), 403),
        (("view_pet",), 403),
        (("change_pet", "delete_pet", "add_pet"), 403),
        (("restore_pet",), 403),
        (("view_pet", "restore_pet"), 200),
    ],
)
def test_who_may(staff: Client, rex: Pet, permissions: tuple[str, ...], status: int) -> None:
    number = delete(staff, rex)
    client = member("other", *permissions)
    restored = restore(client, number)
    assert restored.status_code == status
    assert Pet.objects.exists() == (status == 200)


def test_a_restoring_is_posted(staff: Client, rex: Pet) -> None:
    number = delete(staff, rex)
    page = f"{ACTIVITY}r{Pet.history.filter(id=number).latest('history_id').pk}/undo/"
    assert staff.get(page).status_code == 200
    unprotected = Client(enforce_csrf_checks=True)
    unprotected.cookies = staff.cookies
    assert unprotected.post(page).status_code == 403
    assert not Pet.objects.exists()


def test_a_number_is_never_given_twice(staff: Client, rex: Pet, category: Category) -> None:
    highest = PetFactory(name="Max", category=category)
    number = delete(staff, highest)
    assert PetFactory(category=category).pk == number + 1
    restore(staff, number)
    assert PetFactory(category=category).pk == number + 2


def test_as_many_as_can_be_named_are_deleted_at_once(
    staff: Client, category: Category, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(bulk.MOST, "delete", 2)
    pets = PetFactory.create_batch(3, category=category)
    assert told(ask(staff, "delete_selected", *pets)) == [
        "At most 2 animals can be deleted at once. Nothing changed. Filter or search for fewer."
    ]
    assert Pet.objects.count() == 3
    confirm(staff, ask(staff, "delete_selected", *pets[:2]), post="yes")
    assert list(Pet.objects.all()) == pets[2:]


def test_a_link_to_a_deleted_animal_says_who_deleted_it_and_restores_it(staff: Client, category: Category) -> None:
    pet = PetFactory(name="<b>Rex</b>", category=category, status="sold", external_reference="R-1")
    page = f"{PETS}{pet.pk}/change/"
    staff.post(f"{PETS}{pet.pk}/delete/", {"post": "yes"})
    shown = staff.get(page)
    text = text_of(shown.content.decode().split('<div class="page-head">')[1])
    assert shown.status_code == 200
    assert re.search("keeper deleted <b>Rex</b> just now. The API responds", text)
    for said in ("Status Sold", f"Category {category.name}", "Reference R-1", "keeper deleted it"):
        assert said in text
    [address] = {*re.findall(f'action="({ACTIVITY}r[0-9]+/undo/)"', shown.content.decode())}
    staff.post(address)
    assert Pet.objects.get(pk=pet.pk).external_reference == "R-1"
    assert "deleted" not in staff.get(page).context["title"]


def test_a_viewer_reads_a_deleted_animal_and_cannot_restore_it(staff: Client, category: Category) -> None:
    pet = PetFactory(category=category)
    pet.delete()
    page = member("viewer", "view_pet").get(f"{PETS}{pet.id or Pet.history.latest('history_id').id}/change/")
    assert page.status_code == 200
    assert "Ask a curator to restore it." in page.content.decode()
    assert "/undo/" not in page.content.decode()
    assert member("nobody").get(page.wsgi_request.path).status_code == 403
    assert staff.get(f"{PETS}999999/change/", follow=True).redirect_chain[0][0] == "/admin/"


def test_one_that_was_changed_and_set_back_meanwhile_comes_back_again(staff: Client, rex: Pet) -> None:
    confirm(staff, ask(staff, "delete_selected", rex, PetFactory(name="Tom")), post="yes")
    deletion = Change.objects.get()
    staff.post(f"{ACTIVITY}{deletion.pk}/undo/")
    restoring = Change.objects.get(undo_of=deletion)
    for status in ("sold", "pending"):
        click(staff, rex, status)
    staff.post(f"{ACTIVITY}{restoring.pk}/undo/")
    assert not Pet.objects.exists()
    staff.post(f"{ACTIVITY}{deletion.pk}/undo/")
    assert {*Pet.objects.values_list("name", "status")} == {("Rex", "pending"), ("Tom", "available")}
    assert history_disagrees() == []
