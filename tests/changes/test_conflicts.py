"""Two people, one animal or category: the second sees what the first changed, and loses nothing typed."""

import re
from collections.abc import Iterator
from html import escape, unescape
from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import connection
from django.db.models.signals import pre_save
from django.test import Client

from categories.models import Category
from history.pages import NOT_SAVED
from pets.models import Pet
from tests.conftest import ApiClient
from tests.factories import CategoryFactory, PetFactory
from tests.pets.office import PETS, form_of, history_disagrees, member, seen, told
from tests.whole import CELLS

FIRST = "Not saved. anna changed this just now."


@pytest.fixture
def anna(db: None) -> Client:
    return member("anna", "change_pet", "view_pet", "change_category", "view_category")


def change(client: Client, pet: Pet, sent: dict[str, Any]) -> Any:
    return client.post(f"{PETS}{pet.pk}/change/", sent)


def conflict(answer: Any) -> list[str]:
    [notice] = re.findall(
        '(?s)<div class="notice notice-warn" role="alert">(.*?)<div class="actions">', answer.content.decode()
    )
    lines = re.findall("(?s)<(?:p|li)[ >].*?</(?:p|li)>", notice)
    return [" ".join(unescape(re.sub(r"<[^>]*>", " ", line)).split()).replace(" ,", ",") for line in lines]


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
    assert errors(answer) == [FIRST]
    assert conflict(answer) == [
        "Not saved. anna changed this just now. 3 fields differ from yours.",
        "Name theirs Rex yours Rex the second",
        "Status theirs Sold yours Available",
        "Category theirs <b>Cats</b> yours Dogs",
        "Just now, in the back office. What you typed is still in the form. Check it, then save again.",
    ]
    assert '<span class="badge badge-sold">Sold</span> <span class="quiet">yours</span>' in answer.content.decode()
    page = answer.content.decode()
    assert 'value="Rex the second"' in page
    assert "<b>Cats" not in page
    rex.refresh_from_db()
    assert (rex.name, rex.status) == ("Rex", "sold")


@pytest.mark.parametrize(("page", "read"), [("change", 1), ("change", 2), ("history/{}", 1)])
def test_what_is_changed_while_a_page_is_made_was_not_seen(staff: Client, rex: Pet, page: str, read: int) -> None:
    number, turns = seen(rex), iter([False] * (read - 1) + [True])

    def rename(execute: Any, sql: str, *rest: Any) -> Any:
        answer = execute(sql, *rest)
        if 'FROM "pets_pet"' in sql and next(turns, False):
            rex.name = "Max"
            rex.save()
        return answer

    with connection.execute_wrapper(rename):
        shown = staff.get(f"{PETS}{rex.pk}/{page.format(number)}/").context
    form = shown["adminform"].form.initial if page == "change" else shown
    assert (form["seen"], shown["newest"].history_id if read == 2 else number) == (number, number)


def test_only_what_differs_now_is_listed(staff: Client, anna: Client, rex: Pet) -> None:
    """What was changed and changed back is as if nothing had been, and what both typed is the same."""
    mine = form_of(rex, name="Max", external_reference="R-1")
    for others in ({"status": "sold"}, {"status": "available"}, {"name": "Max"}):
        rex.refresh_from_db()
        assert change(anna, rex, form_of(rex, **others)).status_code == 302
    assert conflict(change(staff, rex, mine))[:-1] == [
        "Not saved. anna changed this just now. 1 field differs from yours.",
        "External reference theirs \N{EN DASH} yours R-1",
    ]


def test_your_own_change_on_another_device_is_called_so(staff: Client, rex: Pet) -> None:
    mine = form_of(rex, name="Rex the second")
    change(staff, rex, form_of(rex, status="sold"))
    assert conflict(change(staff, rex, mine)) == [
        "Not saved. You changed this in another tab or on another device just now. 2 fields differ from what you have typed here.",
        "Name now Rex here Rex the second",
        "Status now Sold here Available",
        "Just now, in the back office. What you typed is still in the form. Check it, then save again.",
    ]


def test_several_people_are_counted(staff: Client, anna: Client, rex: Pet, api: ApiClient) -> None:
    mine = form_of(rex, name="Rex the second")
    change(member("tomasz", "change_pet", "view_pet"), rex, form_of(rex, status="pending"))
    rex.refresh_from_db()
    change(anna, rex, form_of(rex, status="sold"))
    assert errors(change(staff, rex, mine)) == ["Not saved. anna and 1 other changed this just now."]


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
    answer = change(staff, rex, mine)
    assert errors(answer) == ["Not saved. A program changed this just now."]
    assert "Status theirs Pending yours Available" in conflict(answer)


@pytest.mark.parametrize("seen_by_form", ["", "x", None, str(2**63 - 1), "9" * 30])
def test_a_form_that_does_not_say_what_it_saw_saves_nothing(staff: Client, rex: Pet, seen_by_form: str | None) -> None:
    sent = form_of(rex, name="Other")
    del sent["seen"]
    answer = change(staff, rex, sent if seen_by_form is None else sent | {"seen": seen_by_form})
    assert errors(answer)
    assert Pet.objects.get().name == "Rex"


def test_a_deleted_animal_is_named_and_what_was_typed_is_kept(staff: Client, rex: Pet) -> None:
    mine, number = form_of(rex, name="Other", status="sold"), rex.pk
    rex.delete()
    answer = staff.post(f"{PETS}{number}/change/", mine)
    page = answer.content.decode()
    assert answer.status_code == 404
    assert "“Rex” was deleted after you opened it." in page
    assert "Restore</button>" in page
    assert "<dt>Name</dt><dd>Other</dd>" in page
    typed = {"name": "Other", "status": "sold", "category": rex.category_id, "external_reference": "", **CELLS}
    assert f'href="{escape(f"{PETS}add/?{urlencode(typed)}")}"' in page


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
    assert told(answer) == [NOT_SAVED]
    rex.refresh_from_db()
    assert (rex.name, rex.external_reference) == ("Rex", None)
    assert history_disagrees() == []


def test_categories_too(staff: Client, anna: Client, category: Category) -> None:
    page = f"/admin/categories/category/{category.pk}/change/"
    before = seen(category)
    assert anna.post(page, {"name": "Hounds", "seen": before}).status_code == 302
    answer = staff.post(page, {"name": "Doggies", "seen": before})
    assert errors(answer) == [FIRST]
    assert conflict(answer)[1] == "Name theirs Hounds yours Doggies"
    assert 'value="Doggies"' in answer.content.decode()
    assert Category.objects.get().name == "Hounds"


@pytest.mark.parametrize("number", ["abc", "1.0", "٣", "9" * 30])
@pytest.mark.parametrize("page", ["history/", "history/1/"])
def test_the_history_of_what_has_no_number_is_not_there(staff: Client, number: str, page: str) -> None:
    assert staff.get(f"{PETS}{number}/{page}").status_code == 404
