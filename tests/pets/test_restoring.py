"""Deleting animals asks and records; an authorised person brings one back as it was."""

import re
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from categories.models import Category
from pets import restoring
from pets.admin import deleted, deleting
from pets.models import Pet, Sale
from tests.factories import PetFactory
from tests.pets.office import PETS, ask, confirm, history_disagrees, history_told, member, text_of, told

DELETED = f"{PETS}deleted/"


def delete(client: Client, pet: Pet) -> int:
    number = pet.pk
    assert client.post(f"{PETS}{number}/delete/", {"post": "yes"}, follow=True).status_code == 200
    return number


def restore(client: Client, number: int) -> Any:
    return client.post(f"{DELETED}{number}/restore/", follow=True)


def listed(client: Client, needle: str = "") -> list[str]:
    return [row.name for row in client.get(DELETED, {"q": needle}).context["deletions"]]


@pytest.fixture
def rex(category: Category) -> Pet:
    return PetFactory(name="Rex", category=category, status="pending", external_reference="A-1")


def test_deleting_asks_first(staff: Client, rex: Pet) -> None:
    assert "Delete “Rex”?" in staff.get(f"{PETS}{rex.pk}/delete/").content.decode()
    assert "Rex" in ask(staff, "delete_selected", rex).content.decode()
    assert Pet.objects.exists()


def test_what_is_deleted_is_named_so_that_names_are_told_apart(staff: Client, rex: Pet) -> None:
    twin = PetFactory(name="Rex", category__name="Geckos", status="sold")
    asked = ask(staff, "delete_selected", rex, twin).content.decode()
    text = text_of(asked.split('<div class="page-head">')[1])
    assert "Delete 2 animals? Nothing is deleted yet. You can restore them from Deleted." in text
    assert "1 animal Pending 1 animal Sold" in text
    assert f"Rex Status Sold Category Geckos Reference \N{EN DASH} ID {twin.pk}" in text
    assert f"Rex Status Pending Category {rex.category.name} Reference A-1 ID {rex.pk}" in text
    one = text_of(staff.get(f"{PETS}{twin.pk}/delete/").content.decode())
    assert f"Rex Status Sold Category Geckos Reference \N{EN DASH} ID {twin.pk}" in one
    done = confirm(staff, ask(staff, "delete_selected", rex, twin), post="yes")
    assert told(done) == [f'2 animals were deleted. <a href="{DELETED}">Deleted animals</a>']
    assert not Pet.objects.exists()


def test_what_changed_since_it_was_selected_is_not_deleted(staff: Client, rex: Pet) -> None:
    tom, gone = PetFactory(name="Tom", category=rex.category), PetFactory(category=rex.category)
    asked = ask(staff, "delete_selected", rex, tom, gone)
    rex.status = "sold"
    rex.save()
    number = gone.pk
    gone.delete()
    shown = staff.get(asked.redirect_chain[-1][0])  # Back, or a reload
    assert [pet.name for pet in shown.context["queryset"]] == ["Tom"]
    assert told(confirm(staff, asked, post="yes")) == [
        f'1 animal was deleted. <a href="{DELETED}">Deleted animals</a>',
        f"Not deleted, because someone changed or deleted them after you selected them: {rex.pk}, {number}.",
    ]
    assert list(Pet.objects.all()) == [rex]
    back = staff.get(asked.redirect_chain[-1][0], follow=True)
    assert told(back) == ["Nothing was deleted. The selected animals were changed or deleted since."]


def test_it_comes_back_as_it_was(staff: Client, rex: Pet) -> None:
    added = datetime(2020, 2, 29, 12, 30, 15, 123456, tzinfo=UTC)
    Pet.history.update(history_date=added)
    number = delete(staff, rex)
    answer = restore(staff, number)
    assert told(answer) == [f"“Rex” is in the catalogue again, as animal {number}."]
    assert answer.redirect_chain[-1][0] == f"{PETS}{number}/change/"
    back = Pet.objects.get()
    assert (back.pk, back.name, back.status, back.external_reference) == (number, "Rex", "pending", "A-1")
    assert back.created_at == added
    assert timedelta(0) < datetime.now(UTC) - back.updated_at < timedelta(minutes=1)
    rows = Pet.history.order_by("history_id").values_list("history_type", "actor", "history_change_reason")
    assert list(rows) == [("+", "", None), ("-", "staff keeper", None), ("+", "staff keeper", "Restored")]
    assert history_disagrees() == []
    rows = [row for rows in history_told(staff, f"{PETS}{number}/").values() for row in rows]
    assert [row[1] for row in rows] == ["Restored", "Deleted", "Added"]


def test_deleted_and_restored_twice(staff: Client, rex: Pet) -> None:
    created = Pet.history.get().history_date
    number = delete(staff, rex)
    restore(staff, number)
    delete(staff, Pet.objects.get())
    assert listed(staff) == ["Rex"]
    restore(staff, number)
    assert Pet.objects.get().created_at == created
    assert listed(staff) == []


def test_a_sold_animal_keeps_the_day_of_its_sale(staff: Client, rex: Pet) -> None:
    rex.status = "sold"
    rex.save()
    Sale.objects.update(day=date(2026, 1, 5))
    for _ in range(2):
        number = delete(staff, Pet.objects.get())
        assert not Sale.objects.exists()
        restore(staff, number)
        assert list(Sale.objects.values_list("pet", "day")) == [(number, date(2026, 1, 5))]


def test_a_sold_animal_that_was_sold_before_gets_the_day_of_its_last_sale(staff: Client, rex: Pet) -> None:
    for status, day in (("sold", date(2026, 1, 5)), ("available", None), ("sold", date(2026, 3, 9))):
        rex.status = status
        rex.save()
        Sale.objects.update(day=day)
    number = delete(staff, rex)
    restore(staff, number)
    assert list(Sale.objects.values_list("pet", "day")) == [(number, date(2026, 3, 9))]


def test_only_what_is_deleted_can_be_restored(staff: Client, rex: Pet) -> None:
    for number in (rex.pk, rex.pk + 1, 2**63 - 1):
        assert told(restore(staff, number)) == [
            f"There is no deleted animal {number}. Perhaps someone else has restored it."
        ]
    assert Pet.objects.count() == 1


def test_a_reference_that_was_given_away_is_told(staff: Client, rex: Pet, category: Category) -> None:
    number = delete(staff, rex)
    other = PetFactory(name="Max", external_reference="A-1", category=category)
    assert told(restore(staff, number)) == [
        f"“Rex” had the external reference A-1, which “Max” ({other.pk}) has now. Change that one's reference first."
    ]
    assert [pet.name for pet in Pet.objects.all()] == ["Max"]
    Pet.objects.update(external_reference=None)
    assert told(restore(staff, number)) == [f"“Rex” is in the catalogue again, as animal {number}."]


def test_a_category_that_is_gone_is_told(staff: Client, rex: Pet, category: Category) -> None:
    number = delete(staff, rex)
    category.delete()
    assert told(restore(staff, number)) == [
        "“Rex” belonged to the category “Dogs”, which was deleted. Choose another category for it."
    ]
    assert not Pet.objects.exists()
    assert '<td class="not-phone">deleted</td>' in staff.get(DELETED).content.decode()


def test_it_can_be_restored_into_another_category(staff: Client, rex: Pet, category: Category) -> None:
    number = delete(staff, rex)
    category.delete()
    cats = Category.objects.create(name="Cats")
    assert f'<option value="{cats.pk}">Cats</option>' in staff.get(DELETED).content.decode()
    staff.post(f"{DELETED}{number}/restore/", {"category": cats.pk})
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


def test_the_page_is_bounded(staff: Client, category: Category, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deleted, "LISTED", 2)
    for pet in PetFactory.create_batch(3, category=category):
        delete(staff, pet)
    page = staff.get(DELETED)
    assert len(page.context["deletions"]) == 2
    assert "There are more. Search to see others." in page.content.decode()
    monkeypatch.setattr(restoring, "SEARCHED", 2)
    assert len(listed(staff, "pet")) == 2


@pytest.mark.skipif(connection.vendor != "postgresql", reason="the plan of PostgreSQL")
def test_the_page_reads_the_deletions_by_an_index(staff: Client, category: Category) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO pets_petchange (id, name, category_id, status, history_date, history_type, actor, request_id)"
            " SELECT n, 'Rex', %s, 'sold', now(), CASE WHEN n %% 100 = 0 THEN '-' ELSE '+' END, '', ''"
            " FROM generate_series(1, 50000) n",
            [category.pk],
        )
        cursor.execute("ANALYZE pets_petchange")
    with CaptureQueriesContext(connection) as queries:
        listed(staff)
    statement = next(query["sql"] for query in queries if "history_type" in query["sql"])
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {statement}")
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "pet_change_deletion" in plan
    assert "Seq Scan on pets_petchange" not in plan


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
    assert client.get(DELETED).status_code == status
    restored = restore(client, number)
    assert restored.status_code == status
    assert Pet.objects.exists() == (status == 200)


def test_a_restoring_is_posted(staff: Client, rex: Pet) -> None:
    number = delete(staff, rex)
    assert staff.get(f"{DELETED}{number}/restore/").status_code == 405
    assert staff.post(DELETED).status_code == 405
    unprotected = Client(enforce_csrf_checks=True)
    unprotected.cookies = staff.cookies
    assert unprotected.post(f"{DELETED}{number}/restore/").status_code == 403
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
    monkeypatch.setattr(deleting, "AT_ONCE", 2)
    pets = PetFactory.create_batch(3, category=category)
    assert told(ask(staff, "delete_selected", *pets)) == [
        "At most 2 animals can be deleted at once. Nothing changed. Filter or search for fewer."
    ]
    assert Pet.objects.count() == 3
    confirm(staff, ask(staff, "delete_selected", *pets[:2]), post="yes")
    assert list(Pet.objects.all()) == pets[2:]


def test_hostile_names_are_only_text(staff: Client) -> None:
    pet = PetFactory(name="<script>alert(1)</script>", external_reference="<b>", category__name="<i>")
    number = delete(staff, pet)
    page = staff.get(DELETED).content.decode()
    for raw in ("<script>alert", "<b>", "<i>"):
        assert raw not in page
    assert "<script>alert" not in restore(staff, number).content.decode()


def test_a_link_to_a_deleted_animal_says_who_deleted_it_and_restores_it(staff: Client, category: Category) -> None:
    pet = PetFactory(name="<b>Rex</b>", category=category, status="sold", external_reference="R-1")
    page = f"{PETS}{pet.pk}/change/"
    staff.post(f"{PETS}{pet.pk}/delete/", {"post": "yes"})
    shown = staff.get(page)
    text = text_of(shown.content.decode().split('<div class="page-head">')[1])
    assert shown.status_code == 200
    assert re.search("Keeper deleted <b>Rex</b> just now. The API responds", text)
    for said in ("Status Sold", f"Category {category.name}", "Reference R-1", "Keeper deleted it"):
        assert said in text
    [address] = re.findall(f'action="({PETS}deleted/[0-9]+/restore/)"', shown.content.decode())
    staff.post(address)
    assert Pet.objects.get(pk=pet.pk).external_reference == "R-1"
    assert "deleted" not in staff.get(page).context["title"]


def test_a_viewer_reads_a_deleted_animal_and_cannot_restore_it(staff: Client, category: Category) -> None:
    pet = PetFactory(category=category)
    pet.delete()
    page = member("viewer", "view_pet").get(f"{PETS}{pet.id or Pet.history.latest('history_id').id}/change/")
    assert page.status_code == 200
    assert "Ask a curator to restore it." in page.content.decode()
    assert "/restore/" not in page.content.decode()
    assert member("nobody").get(page.wsgi_request.path).status_code == 403
    assert staff.get(f"{PETS}999999/change/", follow=True).redirect_chain[0][0] == "/admin/"
