"""A status is changed in its row of the list, by one click, and undone by one."""

import re
from html import unescape
from typing import Any

import pytest
from django.test import Client

from categories.models import Category
from changes.models import Change
from pets.admin import views
from pets.admin.animals import PetAdmin
from pets.models import Pet, SavedView
from tests.factories import PetFactory
from tests.pets.office import PETS, click, history_disagrees, member, seen, told


def status() -> str:
    return Pet.objects.get().status


def test_one_click_saves_and_one_undoes(staff: Client, rex: Pet) -> None:
    page = click(staff, rex, "sold", query="?status__exact=available")
    assert page.redirect_chain == [(f"{PETS}?status__exact=available", 302)]
    assert (status(), told(page)) == ("sold", ["Marked Rex sold."])
    assert not Change.objects.exists(), "its row of history is the change"
    undo = f"/admin/activity/r{Pet.history.latest('history_id').pk}/undo/"
    assert f'<form method="post" action="{undo}">' in page.content.decode()
    assert told(staff.post(undo, follow=True)) == ["Undid “marked Rex sold”."]
    assert status() == "available"
    assert history_disagrees() == []


def test_a_click_leads_back_to_the_page_of_the_list(staff: Client, rex: Pet, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or to the first one, if it had no other animal."""
    monkeypatch.setattr(PetAdmin, "list_per_page", 2)
    for name in ("Ben", "Cleo", "Dora"):
        PetFactory(name=name, category=rex.category)
    shown = staff.get(f"{PETS}?status__exact=available&p=2").content.decode()
    back = unescape(re.findall(r'name="back" value="([^"]+)"', shown)[0])
    for pet, names in ((Pet.objects.get(name="Ben"), ["Rex"]), (rex, ["Dora", "Cleo"])):
        page = staff.post(f"{PETS}{pet.pk}/status/", {"becomes": f"sold:{seen(pet)}", "back": back}, follow=True)
        assert page.redirect_chain == [(f"{PETS}?status__exact=available&p=2", 302)]
        assert [each.name for each in page.context["cl"].result_list] == names


def test_a_conflict_is_told_and_changes_nothing(staff: Client, rex: Pet) -> None:
    since = seen(rex)
    click(member("anna", "view_pet", "change_pet"), rex, "pending")
    page = click(staff, rex, "sold", since=since)
    assert status() == "pending"
    (said,) = told(page)
    assert "“Rex” was not changed. It was changed after you opened the page." in said
    assert "Status: “available” → “pending” (anna, " in said
    assert [row.status for row in rex.history.all()] == ["pending", "available"], "what changed nothing leaves no row"


def test_a_change_in_another_tab_is_yours(staff: Client, rex: Pet) -> None:
    since = seen(rex)
    click(staff, rex, "pending")
    (said,) = told(click(staff, rex, "sold", since=since))
    assert "“Rex” was not changed. It was changed after you opened the page." in said
    assert "Status: “available” → “pending” (you, " in said


def test_what_is_so_already_is_told(staff: Client, rex: Pet) -> None:
    assert told(click(staff, rex, "available")) == ["Nothing changed. It is available already."]
    assert not Change.objects.exists()


@pytest.mark.parametrize("becomes", ["", "sold", "sold:", "gone:1", "sold:x", "sold:" + "9" * 30])
def test_what_no_form_sends_is_a_bad_request(staff: Client, rex: Pet, becomes: str) -> None:
    assert staff.post(f"{PETS}{rex.pk}/status/", {"becomes": becomes}).status_code == 400
    assert status() == "available"


def test_the_tabs_count_from_the_stock(staff: Client, category: Category) -> None:
    for name in ("available", "available", "sold"):
        PetFactory(category=category, status=name)

    def tabs(query: str) -> list[Any]:
        return [
            (tab["label"], tab["count"], tab["is_here"]) for tab in staff.get(f"{PETS}{query}").context["cl"].tabs()
        ]

    assert tabs("") == [("All", 3, True), ("Available", 2, False), ("Pending", 0, False), ("Sold", 1, False)]
    assert [count for _, count, _ in tabs("?q=rex")] == [None] * 4
    assert [here for _, _, here in tabs("?status__exact=sold")] == [False, False, False, True]


def shown_views(client: Client, query: str = "") -> list[tuple[str, str, str, bool]]:
    saved = client.get(f"{PETS}{query}").context["saved_views"]()
    return [(each["view"].name, each["view"].query, each["owner"], each["is_here"]) for each in saved]


def test_views_are_saved_for_oneself(staff: Client, category: Category) -> None:
    query = f"status__exact=sold&category__id__exact={category.pk}"
    page = staff.post(f"{PETS}views/", {"name": "Sold dogs", "query": f"{query}&p=3"}, follow=True)
    assert page.redirect_chain == [(f"{PETS}?{query}", 302)]
    assert told(page) == ["View “Sold dogs” saved."]
    assert shown_views(staff, f"?{query}") == [("Sold dogs", query, "", True)]
    assert shown_views(member("anna", "view_pet")) == []
    staff.post(f"{PETS}views/{SavedView.objects.get().pk}/delete/")
    assert not SavedView.objects.exists()


def test_views_are_shared_and_only_their_owner_deletes_them(staff: Client) -> None:
    anna = member("anna", "view_pet")
    anna.post(f"{PETS}views/", {"name": "Sold", "query": "status__exact=pending"})
    page = staff.post(f"{PETS}views/", {"name": "Sold", "query": "status__exact=sold", "is_shared": "on"}, follow=True)
    assert told(page) == ["View “Sold” saved for everyone."]
    assert shown_views(staff) == [("Sold", "status__exact=sold", "", False)]
    assert shown_views(anna) == [
        ("Sold", "status__exact=pending", "", False),
        ("Sold", "status__exact=sold", "keeper", False),
    ]
    shared = SavedView.objects.get(is_shared=True)
    assert f"views/{shared.pk}/delete/" not in anna.get(PETS).content.decode()
    assert anna.post(f"{PETS}views/{shared.pk}/delete/").status_code == 404
    staff.post(f"{PETS}views/", {"name": "Sold", "query": "status__exact=sold"})
    assert len(shown_views(anna)) == 1, "saved again, for oneself"


NAMELESS, LONG = (
    "Give the view a name of 1 to 60 characters.",
    "The search and filters have more than 2,000 characters.",
)


@pytest.mark.parametrize(
    ("name", "query", "advice"), [("", "", NAMELESS), ("x" * 61, "q=rex", NAMELESS), ("Long", f"q={'x' * 1_999}", LONG)]
)
def test_what_cannot_be_a_view_is_said(staff: Client, name: str, query: str, advice: str) -> None:
    page = staff.post(f"{PETS}views/", {"name": name, "query": query}, follow=True)
    assert told(page) == [f"Not saved. {advice}"]
    assert page.redirect_chain == [(f"{PETS}?{query}" if query and advice == NAMELESS else PETS, 302)]


def test_the_last_view_that_fits_can_be_saved_again_and_no_other(
    staff: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "MOST", 1)
    for query in ("status__exact=sold", "status__exact=pending"):
        staff.post(f"{PETS}views/", {"name": "Mine", "query": query})
    page = staff.post(f"{PETS}views/", {"name": "Another", "query": ""}, follow=True)
    assert told(page)[-1] == "Not saved. You have 1 views. Delete one first."
    assert list(SavedView.objects.values_list("name", "query")) == [("Mine", "status__exact=pending")]
