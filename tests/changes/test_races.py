"""Two who change the same animals at the same moment: the second waits for the first, and sees what it did.

`test_race_matrix.py` lets each writer of animals meet each other one. Here is how such a race ends, and who else waits.
Each test stops both where they meet, by a lock that a connection of its own holds, and releases it once both wait.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from categories.models import Category
from changes.models import Change
from files.options import Options
from files.progress import Progress
from files.run import import_file
from files.undo import undo_import
from pets import stock
from pets.models import ImportRun, Pet
from tests.conftest import ApiClient
from tests.factories import PetFactory
from tests.pets.office import PETS, ask, confirm, form_of, history_disagrees, member, seen, told
from tests.racing import race

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.postgresql("SQLite has one writer at a time, and no row locks"),
]


def animal(pet: Pet) -> str:
    return f"SELECT 1 FROM pets_pet WHERE id = {pet.pk} FOR UPDATE"


def values(pet: Pet) -> tuple[str, str, str | None]:
    pet.refresh_from_db()
    return pet.name, pet.status, pet.external_reference


@pytest.fixture
def anna(db: None) -> Client:
    return member("anna", superuser=True)


@pytest.fixture
def rex(category: Category) -> Pet:
    return PetFactory(name="Rex", category=category, status="available", external_reference="A-1")


@pytest.fixture
def three(rex: Pet, category: Category) -> list[Pet]:
    return [rex, *(PetFactory(name=name, category=category, status="available") for name in ("Max", "Tom"))]


def editing(client: Client, pet: Pet, **changed: Any) -> Callable[[], Any]:
    """Open the form of the animal now, and return what saves it."""
    sent = form_of(pet, **changed)
    return lambda: client.post(f"{PETS}{pet.pk}/change/", sent)


def importing(folder: Path, *rows: str) -> Callable[[], ImportRun]:
    """Return what imports a file with these rows."""
    file = folder / "animals.csv"
    file.write_text("\n".join(["external_reference,name,category,status", *rows]))
    return lambda: import_file(str(file), Options(), Progress()).run


def rejected(answer: Any) -> bool:
    """Whether the form came back and said that someone else has changed the animal."""
    return answer.status_code == 200 and bool(answer.context["adminform"].form.non_field_errors())


def test_of_two_who_save_an_animal_the_second_is_shown_the_first(staff: Client, anna: Client, rex: Pet) -> None:
    first, second = race(animal(rex), editing(staff, rex, status="sold"), editing(anna, rex, name="Rexy"))
    assert (first.status_code, rejected(second)) == (302, True)
    assert values(rex) == ("Rex", "sold", "A-1")
    assert history_disagrees() == []


def test_an_import_is_written_over_what_was_just_saved_and_its_undo_restores_that(
    staff: Client, rex: Pet, tmp_path: Path
) -> None:
    _saved, run = race(animal(rex), editing(staff, rex, status="pending"), importing(tmp_path, "A-1,Rexy,Dogs,sold"))
    assert (run.updated, values(rex)) == (1, ("Rexy", "sold", "A-1"))
    assert undo_import(run.pk).changed == 1
    assert values(rex) == ("Rex", "pending", "A-1")
    assert history_disagrees() == []


def test_the_api_adds_animals_while_an_import_writes(api: ApiClient, category: Category, tmp_path: Path) -> None:
    """The import waits for someone who has just given its reference to an animal, and then does not; the API does not."""
    someone = (
        "INSERT INTO pets_pet (name, category_id, status, external_reference, created_at, updated_at)"
        f" VALUES ('Max', {category.pk}, 'sold', 'A-1', now(), now())"
    )
    new = {"name": "Tom", "categoryId": category.pk}
    added = []
    (run,) = race(
        someone,
        importing(tmp_path, "A-1,Rex,Dogs,sold", ",Ada,Dogs,"),
        meanwhile=lambda: added.append(api.post("/v1/pets", new).json()["id"]),
    )
    animals = set(Pet.objects.values_list("name", "external_reference"))
    assert (run.created, animals) == (2, {("Rex", "A-1"), ("Ada", None), ("Tom", None)})
    assert Pet.objects.get(name="Tom").pk == added[0]
    assert (history_disagrees(), stock.differences()) == ([], [])


def test_the_undo_of_a_name_of_a_category_leaves_the_one_that_is_being_saved(
    staff: Client, anna: Client, category: Category
) -> None:
    page = f"/admin/categories/category/{category.pk}/"

    def renaming(name: str) -> Callable[[], Any]:
        sent = {"name": name, "icon": "", "seen": seen(category)}
        return lambda: staff.post(f"{page}change/", sent)

    renaming("Hounds")()
    undo = f"{page}undo/{seen(category)}/"
    row = f"SELECT 1 FROM categories_category WHERE id = {category.pk} FOR UPDATE"
    _saved, undone = race(row, renaming("Puppies"), lambda: anna.post(undo, follow=True))
    category.refresh_from_db()
    assert category.name == "Puppies"
    assert told(undone)[0].startswith("Not undone. Someone changed name of “Puppies” since.")


def test_of_two_merges_in_opposite_directions_one_begins(anna: Client, three: list[Pet], category: Category) -> None:
    cats = Category.objects.create(name="Cats")
    PetFactory(category=cats)

    def merging_into(client: Client, kept: Category, other: Category) -> Callable[[], Any]:
        sent = {"keep": kept.pk, "merge": other.pk, "what": f"{other} into {kept}"}
        return lambda: client.post("/admin/categories/category/merge/", sent, follow=True)

    both = f"SELECT 1 FROM categories_category WHERE id IN ({category.pk}, {cats.pk}) FOR UPDATE"
    bert = member("bert", superuser=True)
    first, second = race(both, merging_into(anna, cats, category), merging_into(bert, category, cats))
    assert "Merged Dogs into Cats." in first.content.decode()
    assert "Nothing changed." in second.content.decode()
    assert Category.objects.count() == 1
    assert (history_disagrees(), stock.differences()) == ([], [])


A_MOVEMENT = "SELECT 1 FROM pets_stockmovement LIMIT 1 FOR UPDATE"


def test_of_two_recounts_each_is_right(three: list[Pet]) -> None:
    race(A_MOVEMENT, stock.recount, stock.recount)
    assert stock.differences() == []


def test_an_animal_that_is_added_during_a_recount_is_counted_once(three: list[Pet], category: Category) -> None:
    race(A_MOVEMENT, stock.recount, meanwhile=lambda: PetFactory(category=category))
    assert stock.differences() == []


def test_a_bulk_change_is_undone_once(anna: Client, three: list[Pet]) -> None:
    confirm(anna, ask(anna, "become_sold", *three))
    made = Change.objects.get()
    page = f"/admin/activity/{made.pk}/undo/"
    other = Client()
    other.force_login(User.objects.get(username="anna"))
    race(animal(three[0]), lambda: anna.post(page), lambda: other.post(page))
    assert told(anna.get(PETS))[0] == "Undid “marked 3 animals sold”."
    assert told(other.get(PETS))[0].startswith("Nothing changed. It ")
    assert [change.changed for change in made.undoings.all()] == [3]
    assert history_disagrees() == []
