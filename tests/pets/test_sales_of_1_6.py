"""The days of sales that release 1.6 kept in tables of its own come along, also while it goes on beside this one."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from changes.models import UnrecordedChange
from changes.undo import undo
from pets.models import Pet
from tests.factories import PetFactory

pytestmark = pytest.mark.django_db(transaction=True)

FIRST, LATER = date(2026, 1, 5), date(2026, 3, 9)
BEGAN = datetime(2026, 1, 1, 12, tzinfo=UTC)

CHANGE = "UPDATE pets_pet SET status = %s, updated_at = %s WHERE id = %s"
RECORD = """
INSERT INTO pets_petchange (id, name, category_id, status, history_type, history_date, actor, request_id)
SELECT id, name, category_id, status, %s, %s, '', '' FROM pets_pet WHERE id = %s
"""


def execute(statement: str, *values: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)


def sales() -> set[tuple[int, str]]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pet_id, day FROM pets_sale")
        return {(number, str(day)) for number, day in cursor.fetchall()}


def days() -> set[tuple[int, str]]:
    return {(pet.pk, str(pet.sold_on)) for pet in Pet.objects.exclude(sold_on=None)}


class Release16:
    """Writes what release 1.6 does, a change each day."""

    def __init__(self) -> None:
        self.now = BEGAN

    def change(self, pet: Pet, status: str, day: date | None = None) -> None:
        """Change an animal; if it is sold, on this day."""
        at = self._tick()
        execute(CHANGE, status, at, pet.pk)
        execute(RECORD, "~", at, pet.pk)
        if day:
            self.restore_sale(pet, day)

    def restore_sale(self, pet: Pet, day: date) -> None:
        """Do what an undo does."""
        execute("DELETE FROM pets_sale WHERE pet_id = %s", pet.pk)
        execute("INSERT INTO pets_sale (pet_id, day) VALUES (%s, %s)", pet.pk, day)

    def delete(self, pet: Pet) -> None:
        execute(RECORD, "-", self._tick(), pet.pk)
        execute("DELETE FROM pets_pet WHERE id = %s", pet.pk)

    def _tick(self) -> Any:
        self.now += timedelta(days=1)
        return connection.ops.adapt_datetimefield_value(self.now)


@pytest.fixture
def pets() -> list[Pet]:
    """Of these the last two were sold when they came."""
    pets = [PetFactory(status="available") for _ in range(4)] + [PetFactory(status="sold") for _ in range(2)]
    Pet.history.update(history_date=BEGAN)
    return pets


@pytest.fixture
def before(pets: list[Pet]) -> Iterator[Release16]:
    """The database of release 1.6."""
    call_command("migrate", "pets", "0025", verbosity=0)
    yield Release16()
    call_command("migrate", verbosity=0)


def undo_last(pet: Pet) -> None:
    undo(UnrecordedChange.of_row(Pet.history.filter(id=pet.pk).latest("history_id")))


def test_the_days_of_all_sales_come_along(before: Release16, pets: list[Pet]) -> None:
    goes_on, ended, twice, deleted, came_so, stays = pets
    before.change(goes_on, "sold", FIRST)
    before.change(goes_on, "sold")
    before.change(ended, "sold", FIRST)
    before.change(ended, "pending")
    for status, day in (("sold", FIRST), ("available", None), ("sold", LATER), ("pending", None)):
        before.change(twice, status, day)
    before.change(deleted, "sold", FIRST)
    before.change(deleted, "available")
    before.change(deleted, "sold", LATER)
    before.delete(deleted)
    before.change(came_so, "available")
    for _ in range(2):  # again after it was stopped
        call_command("migrate", "pets", "0027", verbosity=0)
        call_command("migrate", verbosity=0)
    assert days() == sales() == {(goes_on.pk, str(FIRST))}
    for pet in (ended, twice, deleted, came_so):
        undo_last(pet)
    known = {(goes_on.pk, str(FIRST)), (ended.pk, str(FIRST)), (twice.pk, str(LATER)), (deleted.pk, str(LATER))}
    assert days() == sales() == known
    assert {*Pet.objects.filter(status="sold", sold_on=None)} == {came_so, stays}
    Pet.objects.filter(pk=goes_on.pk).update(status="pending")
    assert days() == sales() == known - {(goes_on.pk, str(FIRST))}


@pytest.mark.parametrize("undone_by", ["1.6", "2.0"])
def test_release_1_6_beside_this_one_or_after_a_rollback_knows_the_same_days(pets: list[Pet], undone_by: str) -> None:
    pet, other, came_so = pets[0], pets[1], pets[5]
    beside = Release16()
    Pet.objects.filter(pk=other.pk).update(status="sold")
    assert days() == sales() != set()
    beside.change(pet, "sold", FIRST)
    other.delete()
    assert days() == sales() == {(pet.pk, str(FIRST))}
    for animal in (pet, came_so):
        beside.change(animal, "available")
    assert days() == sales() == set()
    if undone_by == "1.6":
        beside.change(pet, "sold", FIRST)
        beside.change(came_so, "sold")
        execute("DELETE FROM pets_sale WHERE pet_id = %s", came_so.pk)
    else:
        undo_last(pet)
        undo_last(came_so)
    assert days() == sales() == {(pet.pk, str(FIRST))}
    for animal in (pet, came_so):
        Pet.objects.get(pk=animal.pk).delete()
        undo_last(animal)
    assert days() == sales() == {(pet.pk, str(FIRST))}


def test_a_restore_of_the_history_keeps_its_days(pets: list[Pet]) -> None:
    """Rows come back with a day, whatever the animal is now."""
    Pet.objects.filter(pk=pets[0].pk).update(status="sold")
    execute(
        RECORD.replace("history_type", "sold_on, history_type").replace("%s, %s,", "%s, '~', %s,"),
        FIRST,
        BEGAN,
        pets[0].pk,
    )
    assert Pet.history.latest("history_id").sold_on == FIRST


@pytest.mark.postgresql("SQLite has no roles")
def test_who_writes_as_1_6_cannot_choose_the_tables_of_its_trigger() -> None:
    """A temporary table comes first in a path that does not name `pg_temp`."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_schema(), array_agg(DISTINCT proconfig) FROM pg_proc WHERE prosecdef")
        schema, paths = cursor.fetchone()
    assert paths == [[f"search_path={schema}, pg_temp"]]
