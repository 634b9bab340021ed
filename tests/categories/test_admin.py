"""Categories in the back office: their history, and that none that animals belong to is deleted."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from categories import admin
from categories.models import Category, CategoryIcon
from pets.models import Pet
from tests.factories import CategoryFactory, PetFactory
from tests.pets.office import history_told, member, seen, text_of, told

CATEGORIES = "/admin/categories/category/"


def test_add_rename_delete_and_the_history_of_it(staff: Client) -> None:
    staff.post(f"{CATEGORIES}add/", {"name": "Dogs"})
    dogs = Category.objects.get()
    number = dogs.pk
    data = {"name": "Hounds", "seen": seen(dogs)}
    staff.post(f"{CATEGORIES}{number}/change/", data, headers={"X-Request-ID": "call-9"})
    [[renamed, added]] = history_told(staff, f"{CATEGORIES}{number}/").values()
    assert renamed == ["KE keeper", "Name Dogs becomes Hounds", "Back office Undo this change", "call-9"]
    assert added[:3] == ["KE keeper", "Added", "Back office"]
    staff.post(f"{CATEGORIES}{number}/delete/", {"post": "yes"})
    rows = Category.history.order_by("history_id").values_list("history_type", "name", "actor")
    assert list(rows) == [
        ("+", "Dogs", "staff keeper"),
        ("~", "Hounds", "staff keeper"),
        ("-", "Hounds", "staff keeper"),
    ]


def test_a_form_shows_when_a_category_was_added_and_changed(staff: Client) -> None:
    pages = [f"{CATEGORIES}add/", f"{CATEGORIES}{CategoryFactory().pk}/change/"]
    labels = [re.findall('<span class="label">(.*?)</span>', staff.get(page).content.decode()) for page in pages]
    assert labels == [[], ["Added", "Changed"]]


def test_an_undo_is_the_last_change(staff: Client) -> None:
    dogs, before = CategoryFactory(name="Dogs"), datetime(2026, 1, 2, tzinfo=UTC)
    page = f"{CATEGORIES}{dogs.pk}/"
    staff.post(f"{page}change/", {"name": "Hounds", "icon": "", "seen": seen(dogs)})
    Category.objects.update(updated_at=before)
    staff.post(f"{page}undo/{seen(dogs)}/")
    dogs.refresh_from_db()
    assert (dogs.name, dogs.updated_at > before) == ("Dogs", True)


def test_search(staff: Client) -> None:
    CategoryFactory(name="Hounds")
    CategoryFactory(name="Cats")
    answer = staff.get(CATEGORIES, {"q": "hou"})
    assert [category.name for category in answer.context["cl"].result_list] == ["Hounds"]


def test_one_in_use_is_not_deleted_and_says_why(staff: Client) -> None:
    dogs = CategoryFactory(name="<b>Dogs</b>")
    PetFactory(category=dogs)
    for sent in (None, {"post": "yes"}):
        answer = (
            staff.post(f"{CATEGORIES}{dogs.pk}/delete/", sent) if sent else staff.get(f"{CATEGORIES}{dogs.pk}/delete/")
        )
        page = answer.content.decode()
        assert "<p>Nothing can be deleted:</p>" in page
        assert (
            f'“&lt;b&gt;Dogs&lt;/b&gt;” has <a href="/admin/pets/pet/?category__id__exact={dogs.pk}">1 animal</a>. '
            "Move or delete them first."
        ) in page
        assert f'<a href="{CATEGORIES}{dogs.pk}/change/" class="btn">Back</a>' in page
    assert Category.objects.exists()


def test_the_bar_of_the_selected_has_a_button_for_the_action(staff: Client) -> None:
    CategoryFactory()
    page = staff.get(CATEGORIES).content.decode()
    assert '<button type="submit" class="btn btn-danger" name="action" value="delete_selected">' in page
    assert "<select" not in page


def test_several_of_which_one_is_in_use(staff: Client) -> None:
    dogs, cats = CategoryFactory(name="Dogs"), CategoryFactory(name="Cats")
    PetFactory.create_batch(2, category=dogs)
    data = {"action": "delete_selected", "_selected_action": [dogs.pk, cats.pk]}
    for sent in (data, data | {"post": "yes"}):
        page = staff.post(CATEGORIES, sent).content.decode()
        assert "<p>Nothing can be deleted:</p>" in page
        assert ">2 animals</a>" in page
        assert f'<a href="{CATEGORIES}" class="btn">Back</a>' in page
    assert Category.objects.count() == 2
    Pet.objects.all().delete()
    asked = text_of(staff.post(CATEGORIES, data).content.decode())
    assert "Delete these categories? These will be deleted. You can't undo it. Cats Dogs Cancel" in asked
    done = staff.post(CATEGORIES, data | {"post": "yes"}, follow=True)
    assert told(done) == ["2 categories were deleted. You can't undo it."]
    one = CategoryFactory(name="Rats")
    done = staff.post(f"{CATEGORIES}{one.pk}/delete/", {"post": "yes"}, follow=True)
    assert told(done) == ["“Rats” was deleted. You can't undo it."]
    assert not Category.objects.exists()
    assert Category.history.filter(history_type="-", actor="staff keeper").count() == 3


def test_the_reason_is_shown_without_reading_every_animal(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin, "COUNTED", 2)
    dogs = CategoryFactory(name="Dogs")
    PetFactory.create_batch(4, category=dogs)
    with CaptureQueriesContext(connection) as queries:
        page = staff.get(f"{CATEGORIES}{dogs.pk}/delete/").content.decode()
    assert ">more than 2 animals</a>" in page
    assert all("LIMIT 3" in query["sql"] for query in queries if "pets_pet" in query["sql"])


@pytest.mark.parametrize("several", [False, True])
def test_an_animal_added_at_the_same_moment_is_reported(staff: Client, several: bool) -> None:
    dogs = CategoryFactory(name="Dogs")
    added: list[object] = []

    def add_when_none_was_found(execute: Any, sql: str, *rest: Any) -> Any:
        found = execute(sql, *rest)
        if 'FROM "pets_pet"' in sql and not added:
            added.append(sql)
            PetFactory(category=dogs)
        return found

    with connection.execute_wrapper(add_when_none_was_found):
        if several:
            data = {"action": "delete_selected", "_selected_action": [dogs.pk], "post": "yes"}
            answer = staff.post(CATEGORIES, data, follow=True)
        else:
            answer = staff.post(f"{CATEGORIES}{dogs.pk}/delete/", {"post": "yes"}, follow=True)
    assert told(answer) == ["Nothing was deleted. Someone just added an animal to the category. Reload the page."]
    assert Category.objects.exists()
    assert not Category.history.filter(history_type="-").exists()


def test_an_icon_is_chosen_and_shown_wherever_the_category_is(staff: Client) -> None:
    cats = CategoryFactory(name="Cats")
    pet = PetFactory(category=cats)
    pages = ("/admin/", CATEGORIES, "/admin/pets/pet/", f"/admin/pets/pet/{pet.pk}/change/")
    for path in pages:
        page = staff.get(path).content.decode()
        assert "#i-paw-print" in page.split('id="content-start"')[1]
        assert "#i-cat" not in page
    form = staff.get(f"{CATEGORIES}{cats.pk}/change/").content.decode()
    assert form.count('type="radio" name="icon"') == len(CategoryIcon.choices) == 13
    data = {"name": "Cats", "icon": "cat", "seen": seen(cats)}
    assert staff.post(f"{CATEGORIES}{cats.pk}/change/", data).status_code == 302
    for path in pages:
        assert "#i-cat" in staff.get(path).content.decode()
    rows = Category.history.order_by("history_id").values_list("icon", "actor")
    assert list(rows) == [("", ""), ("cat", "staff keeper")]


def test_every_icon_is_drawn() -> None:
    drawn = Path(settings.BASE_DIR, "petstore_site/static/petstore/icons.svg").read_text(encoding="utf-8")
    for name in CategoryIcon.values:
        assert f'<symbol id="i-{name or "paw-print"}" viewBox="0 0 24 24">' in drawn


@pytest.mark.parametrize("icon", ["unicorn", '"><script>'])
def test_no_other_icon_is_taken(staff: Client, icon: str) -> None:
    answer = staff.post(f"{CATEGORIES}add/", {"name": "Dogs", "icon": icon})
    assert "icon" in answer.context["adminform"].form.errors
    assert not Category.objects.exists()


def test_the_list_has_the_animals_of_each_category_on_one_scale(
    staff: Client, django_assert_max_num_queries: Any
) -> None:
    dogs, cats, empty = (CategoryFactory(name=name) for name in ("Dogs", "Cats", "Empty"))
    for category, status, count in ((dogs, "sold", 1), (cats, "available", 3), (cats, "pending", 1)):
        PetFactory.create_batch(count, category=category, status=status)
    with django_assert_max_num_queries(12), CaptureQueriesContext(connection) as queries:
        page = staff.get(CATEGORIES).content.decode()
    assert not [query for query in queries if "pets_pet" in query["sql"]]
    assert "<h2>3 categories, 5 animals</h2>" in page
    assert re.findall(r'<svg class="bars" role="img" aria-label="([^"]*)">(.*?)</svg>', page) == [
        (
            "3 available, 1 pending, 0 sold",
            '<rect class="bar bar-available" x="0.00%" width="75.00%" height="12"/>'
            '<rect class="bar bar-pending" x="75.00%" width="25.00%" height="12"/>',
        ),
        ("0 available, 0 pending, 1 sold", '<rect class="bar bar-sold" x="0.00%" width="25.00%" height="12"/>'),
        ("0 available, 0 pending, 0 sold", ""),
    ]
    assert f'<a href="/admin/pets/pet/?category__id__exact={dogs.pk}&amp;status__exact=sold">1</a>' in page
    assert f"?category__id__exact={empty.pk}" in page


def test_who_sees_no_animals_sees_no_counts(db: None) -> None:
    PetFactory(category=CategoryFactory(name="Dogs"))
    page = member("clerk", "view_category").get(CATEGORIES).content.decode()
    assert "Dogs" in page
    assert '<svg class="bars"' not in page
    assert "1 animal" not in page


@pytest.mark.parametrize("name", ["cats", "Cats ", "Ctas", "CATS!"])
def test_a_name_like_another_is_asked_about_as_an_import_rejects_it(staff: Client, name: str) -> None:
    CategoryFactory(name="Cats")
    dogs = CategoryFactory(name="Dogs")
    for page, more in ((f"{CATEGORIES}add/", {}), (f"{CATEGORIES}{dogs.pk}/change/", {"seen": seen(dogs)})):
        answer = staff.post(page, {"name": name} | more)
        form = answer.context["adminform"].form
        assert form.errors == {"name": ["This is too similar to “Cats”. If it is another category, say so below."]}
        assert 'type="checkbox" name="different"' in answer.content.decode()
    assert [*Category.objects.values_list("name", flat=True)] == ["Cats", "Dogs"]
    answer = staff.post(f"{CATEGORIES}add/", {"name": name, "different": "on"})
    assert (answer.status_code, Category.objects.filter(name=name).count()) == (302, 1)


def test_a_name_that_only_changes_its_own_case_is_not_asked_about(staff: Client) -> None:
    cats = CategoryFactory(name="Cats")
    assert 'type="checkbox" name="different"' not in staff.get(f"{CATEGORIES}{cats.pk}/change/").content.decode()
    answer = staff.post(f"{CATEGORIES}{cats.pk}/change/", {"name": "cats", "seen": seen(cats)})
    assert (answer.status_code, Category.objects.get().name) == (302, "cats")


def test_who_chooses_an_icon_is_not_asked_about_the_name_again(staff: Client) -> None:
    CategoryFactory(name="Cats")
    other = CategoryFactory(name="Ctas")
    sent = {"name": "Ctas", "icon": "cat", "seen": seen(other)}
    assert staff.post(f"{CATEGORIES}{other.pk}/change/", sent).status_code == 302
    assert Category.objects.get(icon="cat") == other
