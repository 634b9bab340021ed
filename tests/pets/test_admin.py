"""Animals and categories in the back office."""

import html
import re
from itertools import count
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from categories.models import Category
from pets.models import ImportRun, Pet
from tests.factories import PetFactory
from tests.pets.office import click, member, seen


def test_add_an_animal(staff: Client, category: Category) -> None:
    answer = staff.post("/admin/pets/pet/add/", {"name": "Rex", "category": category.pk, "status": "pending"})
    assert answer["Location"] == "/admin/pets/pet/"
    assert list(Pet.objects.values_list("name", "category", "status", "external_reference")) == [
        ("Rex", category.pk, "pending", None)
    ]


def test_another_like_it_begins_with_the_same_values(staff: Client, category: Category) -> None:
    pet = PetFactory(name="Rex & <b>", category=category, status="pending", external_reference="A-1")
    page = html.unescape(staff.get(f"/admin/pets/pet/{pet.pk}/change/").content.decode())
    link = re.search('href="(/admin/pets/pet/add/[^"]+)"', page)
    assert link
    initial = staff.get(link[1]).context["adminform"].form.initial
    assert initial == {"name": "Rex & <b>", "category": str(category.pk), "status": "pending"}


def test_a_reference_belongs_to_one_animal(staff: Client, category: Category) -> None:
    PetFactory(external_reference="A-1")
    data = {"name": "Max", "category": category.pk, "status": "sold", "external_reference": "A-1"}
    answer = staff.post("/admin/pets/pet/add/", data)
    assert "Another animal has this external reference." in answer.content.decode()


@pytest.mark.parametrize("query", ["status__exact=%00", "q=%00", "category__id__exact=%00"])
def test_control_characters_in_filters_are_no_defect(staff: Client, query: str) -> None:
    staff.raise_request_exception = False
    assert staff.get(f"/admin/pets/pet/?{query}").status_code in {200, 302, 400}


def test_names_are_escaped(staff: Client) -> None:
    name = '<script>alert(1)</script>"><img src=x onerror=alert(1)>{{ 7*7 }}'
    pet = PetFactory(name=name, category__name=name)
    for path in ("/admin/pets/pet/", f"/admin/pets/pet/{pet.pk}/change/", "/admin/categories/category/"):
        shown = staff.get(path).content.decode()
        assert html.escape(name) in shown
        assert [part for part in ("<script>alert", "<img src=x") if part in shown] == []


@pytest.mark.parametrize("kept", [["+Rex", "-Rex"], ["+Rex", "~Max", "-Max"]])
def test_an_animal_is_deleted_once_and_as_it_is_by_then(staff: Client, category: Category, kept: list[str]) -> None:
    """Someone else deletes it, or renames it, while the form that deletes it is sent."""
    pet = PetFactory(name="Rex", category=category)
    number, reads = pet.pk, count(1)

    def meddle(execute: Any, sql: str, *rest: Any) -> Any:
        answer = execute(sql, *rest)
        if 'FROM "pets_pet"' in sql and next(reads) == 2:
            pet.name = "Max"
            pet.save() if "~Max" in kept else Pet.objects.get(pk=number).delete()
        return answer

    with connection.execute_wrapper(meddle):
        staff.post(f"/admin/pets/pet/{number}/delete/", {"post": "yes"})
    rows = Pet.history.filter(id=number).order_by("history_id")
    assert [f"{row.history_type}{row.name}" for row in rows] == kept
    assert not Pet.objects.filter(pk=number).exists()


def test_the_history_offers_only_what_can_be_undone(staff: Client, category: Category) -> None:
    pet = PetFactory(category=category, status="available")
    page = f"/admin/pets/pet/{pet.pk}/"
    click(staff, pet, "sold")
    undo = f"/admin/activity/r{seen(pet)}/undo/"
    assert f'action="{undo}"' in staff.get(f"{page}history/").content.decode()
    staff.post(undo)
    assert f'action="{undo}"' not in staff.get(f"{page}history/").content.decode()
    staff.post(f"{page}delete/", {"post": "yes"})
    restore = f'action="/admin/activity/r{Pet.history.latest("history_id").pk}/undo/"'
    assert restore in staff.get(f"{page}history/").content.decode()
    assert restore not in member("third", "view_pet").get(f"{page}history/").content.decode()


def test_imports_are_read_and_not_written(staff: Client) -> None:
    run = ImportRun.objects.create(who="root", file_name="<stock>.csv", options={}, state="done", created=5)
    assert "&lt;stock&gt;.csv" in staff.get("/admin/activity/?kind=import").content.decode()
    assert staff.post(f"/admin/activity/i{run.pk}/", {"state": "undone"}).status_code == 405
