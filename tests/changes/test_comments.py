"""Why a change was made, in the words of who made it."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from categories.models import Category
from changes.models import Change
from pets.models import Pet
from tests.factories import CategoryFactory, PetFactory
from tests.pets.office import ask, confirm, text_of

pytestmark = pytest.mark.django_db(transaction=True)

ACTIVITY = "/admin/activity/"
WHY = "<b>They</b> were sold on the fair"


@pytest.fixture
def pets(category: Category) -> list[Pet]:
    return [PetFactory(name=name, category=category) for name in ("Rex", "Tom")]


def mark(staff: Client, pets: list[Pet], **more: str) -> Any:
    return confirm(staff, ask(staff, "become_sold", *pets), **more)


def move(staff: Client, pets: list[Pet], **more: str) -> Any:
    return confirm(staff, ask(staff, "become_category", *pets), category=CategoryFactory().pk, **more)


def delete(staff: Client, pets: list[Pet], **more: str) -> Any:
    return confirm(staff, ask(staff, "delete_selected", *pets), post="yes", **more)


def merge(staff: Client, pets: list[Pet], **more: str) -> Any:
    one, into = pets[0].category, CategoryFactory()
    sent = {"keep": into.pk, "merge": one.pk, "what": f"{one} into {into}"}
    return staff.post("/admin/categories/category/merge/", sent | more)


def undo(staff: Client, pets: list[Pet], **more: str) -> Any:
    mark(staff, pets)
    return staff.post(f"{ACTIVITY}{Change.objects.get().pk}/undo/", more)


@pytest.mark.parametrize("act", [mark, move, delete, merge, undo])
def test_it_is_kept_and_shown(staff: Client, pets: list[Pet], act: Callable[..., Any]) -> None:
    act(staff, pets, comment=f" {WHY} ")
    change = Change.objects.latest("pk")
    assert change.comment == WHY
    listed = staff.get(ACTIVITY).content.decode()
    assert f"“{WHY}”" in text_of(listed)
    assert WHY not in listed
    assert f"Why {WHY}" in text_of(staff.get(f"{ACTIVITY}{change.pk}/").content.decode())
    exported = b"".join(staff.get(f"{ACTIVITY}csv/").streaming_content).decode().splitlines()  # type: ignore[attr-defined]  # it is a stream
    assert (exported[0].split(",")[-1], exported[1].split(",")[-1]) == ("comment", WHY)


@pytest.mark.parametrize("comment", ["", "  ", "\0"], ids=ascii)
def test_a_change_needs_none(staff: Client, pets: list[Pet], comment: str) -> None:
    mark(staff, pets[:1], comment=WHY)
    mark(staff, pets[1:], comment=comment)
    assert [change.comment for change in Change.objects.order_by("pk")] == [WHY, ""]
    assert {pet.status for pet in Pet.objects.all()} == {"sold"}


@pytest.mark.parametrize("pages", ["become_sold", "delete_selected"])
def test_the_page_that_asks_has_the_field(staff: Client, pets: list[Pet], pages: str) -> None:
    assert 'name="comment"' in ask(staff, pages, *pets).content.decode()
