"""Two people, one animal or category: the second sees what the first changed, and loses nothing typed."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db.models.signals import pre_save
from django.test import Client

from categories.models import Category
from history.admin import MEANWHILE
from pets.models import Pet
from tests.conftest import ApiClient
from tests.factories import CategoryFactory, PetFactory
from tests.pets.office import PETS, form_of, history_disagrees, member, rows_of, seen, told

FIRST = "Not saved. Someone else changed this after you opened it."


@pytest.fixture
def rex(category: Category) -> Pet:
    return PetFactory(name="Rex", category=category, status="available")


@pytest.fixture
def anna(db: None) -> Client:
    return member("anna", "change_pet", "view_pet", "change_category", "view_category")


def change(client: Client, pet: Pet, sent: dict[str, Any]) -> Any:
    return client.post(f"{PETS}{pet.pk}/change/", sent)


def errors(answer: Any) -> list[str]:
    return [str(error) for error in answer.context["adminform"].form.non_field_errors()]


def test_the_second_is_told_what_the_first_changed_and_keeps_what_was_typed(
    staff: Client, anna: Client, rex: Pet
) -> None:
    cats = CategoryFactory(name="<b>Cats</b>")
    mine = form_of(rex, name="Rex the second")
    assert change(anna, rex, form_of(rex, status="sold", category=cats.pk)).status_code == 302
    answer = change(staff, rex, mine)
    assert answer.status_code == 200
    at = f"{Pet.history.latest('history_id').history_date:%Y-%m-%d %H:%M}"
    head, *others = errors(answer)
    assert head.startswith(FIRST)
    assert sorted(others) == [
        f"Category: “Dogs” → “<b>Cats</b>” (staff anna, {at})",
        f"Status: “available” → “sold” (staff anna, {at})",
    ]
    page = answer.content.decode()
    assert 'value="Rex the second"' in page
    assert "<b>Cats" not in page
    rex.refresh_from_db()
    assert (rex.name, rex.status) == ("Rex", "sold")


def test_saved_again_it_is_a_decision(staff: Client, anna: Client, rex: Pet) -> None:
    mine = form_of(rex, name="Rex the second")
    change(anna, rex, form_of(rex, status="sold"))
    shown = change(staff, rex, mine).context["adminform"].form
    assert shown["seen"].value() == seen(rex)
    assert change(staff, rex, mine | {"seen": shown["seen"].value()}).status_code == 302
    rex.refresh_from_db()
    assert (rex.name, rex.status) == ("Rex the second", "available")
    assert history_disagrees() == []


def test_a_form_that_changes_nothing_saves_nothing(staff: Client, rex: Pet) -> None:
    before = seen(rex)
    assert change(staff, rex, form_of(rex)).status_code == 302
    assert seen(rex) == before


def test_a_change_through_another_door_counts_too(staff: Client, rex: Pet, api: ApiClient) -> None:
    mine = form_of(rex, name="Rex the second")
    rex.status = "pending"
    rex.save()
    assert errors(change(staff, rex, mine))[1].startswith("Status: “available” → “pending” (a program, ")


@pytest.mark.parametrize("seen_by_form", ["", "x", None])
def test_a_form_that_does_not_say_what_it_saw_saves_nothing(staff: Client, rex: Pet, seen_by_form: str | None) -> None:
    sent = form_of(rex, name="Other")
    del sent["seen"]
    answer = change(staff, rex, sent if seen_by_form is None else sent | {"seen": seen_by_form})
    assert errors(answer)
    assert Pet.objects.get().name == "Rex"


def test_a_deleted_animal_is_told(staff: Client, rex: Pet) -> None:
    mine, number = form_of(rex, name="Other"), rex.pk
    rex.delete()
    answer = staff.post(f"{PETS}{number}/change/", mine, follow=True)
    assert "exist. Perhaps it was deleted?" in answer.content.decode()


@pytest.fixture
def taken_at_the_same_moment(rex: Pet, category: Category) -> Iterator[None]:
    """After the form of Rex was found right, another animal gets the reference in it."""

    def take(**_signal: Any) -> None:
        pre_save.disconnect(take, sender=Pet)
        PetFactory(name="Tom", category=category, external_reference="A-1")

    pre_save.connect(take, sender=Pet, weak=False)
    yield
    pre_save.disconnect(take, sender=Pet)


def test_a_reference_that_is_taken_at_the_same_moment(staff: Client, rex: Pet, taken_at_the_same_moment: None) -> None:
    answer = staff.post(f"{PETS}{rex.pk}/change/", form_of(rex, external_reference="A-1"), follow=True)
    assert told(answer) == [MEANWHILE]
    rex.refresh_from_db()
    assert (rex.name, rex.external_reference) == ("Rex", None)
    assert history_disagrees() == []


def test_in_the_list_too(staff: Client, anna: Client, rex: Pet, category: Category) -> None:
    tom = PetFactory(name="Tom", category=category)
    mine = rows_of(tom, rex, Rex="sold", Tom="pending")
    anna.post(PETS, rows_of(rex, Rex="pending"))
    PetFactory(name="New at the top", category=category)
    answer = staff.post(PETS, mine)
    assert answer.status_code == 200
    listed = answer.context["cl"]
    assert [pet.name for pet in listed.result_list] == ["Tom", "Rex"], "each beside its own form"
    assert [form.instance.name for form in listed.formset.forms] == ["Tom", "Rex"]
    assert [form["status"].value() for form in listed.formset.forms] == ["pending", "sold"]
    assert "Status: “available” → “pending” (staff anna, " in answer.content.decode()
    assert dict(Pet.objects.values_list("name", "status")) == {
        "Rex": "pending",
        "Tom": "available",
        "New at the top": "available",
    }
    again = mine | {f"form-{n}-seen": form["seen"].value() for n, form in enumerate(listed.formset.forms)}
    assert staff.post(PETS, again).status_code == 302
    assert set(Pet.objects.exclude(name="New at the top").values_list("status", flat=True)) == {"sold", "pending"}
    assert history_disagrees() == []


def test_rows_of_the_list_that_were_not_edited_do_not_conflict(staff: Client, rex: Pet, category: Category) -> None:
    tom = PetFactory(name="Tom", category=category)
    mine = rows_of(tom, rex, Tom="pending")
    rex.name = "Rex II"
    rex.save()
    assert staff.post(PETS, mine).status_code == 302
    assert dict(Pet.objects.values_list("name", "status")) == {"Tom": "pending", "Rex II": "available"}


def test_what_others_changed_in_rows_that_were_not_edited_stays(
    staff: Client, anna: Client, rex: Pet, category: Category
) -> None:
    tom = PetFactory(name="Tom", category=category)
    mine = rows_of(tom, rex, Tom="pending")
    anna.post(PETS, rows_of(rex, Rex="sold"))
    assert staff.post(PETS, mine).status_code == 302
    assert dict(Pet.objects.values_list("name", "status")) == {"Tom": "pending", "Rex": "sold"}
    assert history_disagrees() == []


@pytest.mark.parametrize("seen_by_form", ["", "x", "9" * 5_000, "99999999999999999999", "٣"])
def test_a_row_of_the_list_that_does_not_say_what_it_saw_saves_nothing(
    staff: Client, rex: Pet, seen_by_form: str
) -> None:
    answer = staff.post(PETS, rows_of(rex, Rex="sold") | {"form-0-seen": seen_by_form})
    assert answer.status_code == 200
    assert Pet.objects.get().status == "available"


def test_an_animal_of_the_list_that_is_gone_stops_the_saving(staff: Client, rex: Pet, category: Category) -> None:
    tom = PetFactory(name="Tom", category=category)
    mine = rows_of(tom, rex, Tom="pending", Rex="sold")
    rex.delete()
    assert staff.post(PETS, mine).status_code == 200
    assert Pet.objects.get().status == "available"


def test_the_list_shows_what_it_saw(staff: Client, rex: Pet) -> None:
    assert f'<input type="hidden" name="form-0-seen" value="{seen(rex)}"' in staff.get(PETS).content.decode()


def test_categories_too(staff: Client, anna: Client, category: Category) -> None:
    page = f"/admin/categories/category/{category.pk}/change/"
    before = seen(category)
    assert anna.post(page, {"name": "Hounds", "seen": before}).status_code == 302
    answer = staff.post(page, {"name": "Doggies", "seen": before})
    assert errors(answer)[1].startswith("Name: “Dogs” → “Hounds” (staff anna, ")
    assert 'value="Doggies"' in answer.content.decode()
    assert Category.objects.get().name == "Hounds"
