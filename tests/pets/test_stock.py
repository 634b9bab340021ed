"""The kept figures of the stock, held against a plain count after every way there is to change animals."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from django.db import OperationalError, connection, transaction
from django.utils import timezone

from categories.models import Category
from changes.plan import BLOCK
from files.options import Options
from files.progress import Progress
from files.run import import_file
from files.undo import undo_import
from pets import stock, triggers
from pets.models import Pet, PetStatus, StockMovement
from pets.sql import read
from tests.factories import CategoryFactory, PetFactory
from tests.racing import patient
from tests.running import run, run_json

EPOCH = date(1970, 1, 1)


@pytest.fixture
def animals(db: None) -> list[Pet]:
    """Five animals, added on three days."""
    made = [PetFactory(name=f"Animal {number}", status="available") for number in range(5)]
    for pet, days in zip(made, (0, 0, 1, 1, 40), strict=True):
        Pet.objects.filter(pk=pet.pk).update(created_at=timezone.now() - timedelta(days=days))
    return made


def assert_right() -> None:
    """Compare what is kept with animals counted one by one."""
    counted = Counter(
        (pet.category_id, pet.category.name, pet.status) for pet in Pet.objects.select_related("category")
    )
    added = Counter(pet.created_at.astimezone(UTC).date() for pet in Pet.objects.all())
    assert {row[:3]: row.animals for row in stock.in_stock()} == dict(counted)
    assert stock.added_and_sold_since(EPOCH)[0] == dict(added)
    assert stock.differences() == []


def change_two_columns() -> None:
    Pet.objects.filter(name="Animal 0").update(category=CategoryFactory(), status="sold")


def add_in_bulk() -> None:
    category = CategoryFactory()
    Pet.objects.bulk_create(Pet(name="Rex", category=category, status=status) for status in PetStatus.values)


def add_or_change_in_bulk() -> None:
    there = Pet.objects.all()[0]
    rows = [
        Pet(pk=there.pk, name="Rex", category=CategoryFactory(), status="sold"),
        PetFactory.build(category=there.category),
    ]
    Pet.objects.bulk_create(rows, update_conflicts=True, unique_fields=["id"], update_fields=["category", "status"])


def execute(sql: str) -> Callable[[], None]:
    def way() -> None:
        with connection.cursor() as cursor:
            cursor.execute(sql)

    return way


def be_rolled_back() -> None:
    with transaction.atomic():
        PetFactory()
        transaction.set_rollback(True)


WAYS: dict[str, Callable[[], object]] = {
    "change two columns": change_two_columns,
    "add in bulk": add_in_bulk,
    "add or change in bulk": add_or_change_in_bulk,
    "change": execute("UPDATE pets_pet SET status = 'pending'"),
    "change nothing": execute("UPDATE pets_pet SET status = status, name = 'Rex'"),
    "delete": execute("DELETE FROM pets_pet WHERE name IN ('Animal 0', 'Animal 4')"),
    "be rolled back": be_rolled_back,
    "recount": stock.recount,
    "compact": stock.compact,
    "create the triggers again": triggers.install,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("recounted", [False, True])
@pytest.mark.usefixtures("animals")
def test_every_way_in_counts(way: str, recounted: bool) -> None:
    if recounted:
        stock.recount()
    WAYS[way]()
    assert_right()
    PetFactory()
    assert_right()


@pytest.mark.django_db(transaction=True)
def test_an_import_and_its_undoing_count(tmp_path: Path, today: date) -> None:
    PetFactory(name="Rex", external_reference="A-1", status="available")
    file = tmp_path / "animals.csv"
    file.write_text("external_reference,name,category,status\nA-1,Rex,Cats,sold\nA-2,Tom,Cats,\nA-3,Ada,Dogs,sold\n")
    run = import_file(str(file), Options(create_categories=True), Progress()).run
    assert (Pet.objects.count(), stock.added_and_sold_since(EPOCH)[1]) == (3, {today: 1})
    assert_right()
    undo_import(run.pk)
    assert (Pet.objects.count(), stock.added_and_sold_since(EPOCH)[1]) == (1, {})
    assert_right()


def test_the_day_is_in_utc(db: None) -> None:
    pet = PetFactory()
    Pet.objects.filter(pk=pet.pk).update(created_at=datetime(2026, 3, 1, 23, 59, 59, 999999, tzinfo=UTC))
    assert stock.added_and_sold_since(EPOCH)[0] == {date(2026, 3, 1): 1}
    assert stock.added_and_sold_since(date(2026, 3, 2))[0] == {}
    assert_right()


def test_an_animal_is_sold_on_the_day_it_becomes_so(animals: list[Pet], today: date) -> None:
    rex, *_ = animals
    PetFactory(status="sold")  # nobody knows when
    assert stock.added_and_sold_since(EPOCH)[1] == {}
    rex.status = "sold"
    rex.save()
    assert list(Pet.objects.exclude(sold_on=None).values_list("pk", "sold_on")) == [(rex.pk, today)]
    Pet.objects.filter(pk=rex.pk).update(sold_on=date(2026, 1, 2))
    rex.name = "Rex II"
    rex.save()
    assert stock.added_and_sold_since(EPOCH)[1] == {date(2026, 1, 2): 1}
    assert stock.added_and_sold_since(date(2026, 1, 3))[1] == {}


@pytest.mark.parametrize("back", ["available", "pending"])
def test_what_comes_back_was_not_sold(animals: list[Pet], back: str, today: date) -> None:
    Pet.objects.update(status="sold")
    assert stock.added_and_sold_since(EPOCH)[1] == {today: 5}
    Pet.objects.filter(pk=animals[0].pk).update(status=back)
    animals[1].refresh_from_db()
    animals[1].delete()
    assert stock.added_and_sold_since(EPOCH)[1] == {today: 3}
    Pet.objects.update(status="sold")
    assert stock.added_and_sold_since(EPOCH)[1] == {today: 4}


def test_a_category_without_animals_can_be_deleted(animals: list[Pet]) -> None:
    category = animals[0].category
    animals[0].delete()
    category.delete()
    assert_right()


def test_a_writer_adds_and_changes_no_row_of_another(db: None, category: Category) -> None:
    """On PostgreSQL, where writers meet: none waits for another."""
    before = list(StockMovement.objects.values_list("pk", "animals"))
    for _ in range(3):
        PetFactory(category=category)
    after = list(StockMovement.objects.exclude(pk__in=[pk for pk, _ in before]).values_list("animals", flat=True))
    assert after == ([1, 1, 1] if connection.vendor == "postgresql" else [3])


@pytest.mark.parametrize(
    "make_few", [stock.recount, pytest.param(stock.compact, marks=pytest.mark.postgresql("SQLite keeps few of them"))]
)
def test_a_recount_makes_them_few(db: None, category: Category, today: date, make_few: Callable[[], object]) -> None:
    for status in ("available", "sold", "sold", "sold"):
        PetFactory(category=category, status=status)
    PetFactory(category=CategoryFactory()).delete()
    make_few()
    rows = set(StockMovement.objects.values_list("day", "category", "status", "animals"))
    assert rows == {(today, None, None, 4), (None, category.pk, "available", 1), (None, category.pk, "sold", 3)}


@pytest.mark.postgresql("SQLite has one writer at a time")
@pytest.mark.django_db(transaction=True)
def test_what_makes_them_few_waits_for_no_recount() -> None:
    with closing(connection.copy()) as other:
        other.cursor().execute("BEGIN; LOCK TABLE pets_stockmovement IN SHARE UPDATE EXCLUSIVE MODE")
        with pytest.raises(OperationalError, match="could not obtain lock"):
            stock.compact()


@pytest.mark.django_db(transaction=True)
def test_a_recount_beside_writers_misses_nothing() -> None:
    category = CategoryFactory()

    def write(_number: int) -> None:
        for status in ("available", "pending", "sold"):
            PetFactory(category=category, status=status)
        Pet.objects.filter(pk=PetFactory(category=category).pk).delete()
        connection.close()

    def count(number: int) -> None:
        if number % 8:
            stock.recount()
        else:
            with suppress(OperationalError):  # a recount is at work
                stock.compact()
        connection.close()

    with patient(), ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: (count if number % 4 == 0 else write)(number), range(60)))
    assert Pet.objects.count() == 3 * 45
    assert_right()


def test_many_are_changed_and_deleted_within_the_deadline_after_one_was(db: None, category: Category) -> None:
    """A session of PostgreSQL keeps the plans of its first change, here of one animal."""
    one = PetFactory(category=category)
    for status in ("sold", "pending", "sold"):
        Pet.objects.filter(pk=one.pk).update(status=status)
    Pet.objects.filter(pk=one.pk).delete()
    many = Pet.objects.bulk_create(Pet(name="Rex", category=category, status="pending") for _ in range(BLOCK))
    chosen, sold = Pet.objects.filter(pk__in=[pet.pk for pet in many]), Pet.objects.exclude(sold_on=None)
    chosen.update(status="sold")
    assert (chosen.count(), sold.count()) == (BLOCK, BLOCK)
    chosen.update(status="pending")
    assert sold.count() == 0
    chosen.update(status="sold")
    chosen._raw_delete(using="default")
    assert (stock.in_stock(), sold.count()) == ([], 0)


def test_no_migration_has_lost_the_triggers(db: None) -> None:
    """SQLite drops them with the table that a migration rebuilds: that begins with `remove` and ends with `install`."""
    statement = (
        "SELECT tgname FROM pg_trigger" if connection.vendor == "postgresql" else "SELECT name FROM sqlite_master"
    )
    assert {name for (name,) in read(statement)} >= triggers.TRIGGERS


def test_a_restore_of_the_history_keeps_its_days(animals: list[Pet]) -> None:
    """Rows come back with a day, whatever the animal is now."""
    Pet.objects.filter(pk=animals[0].pk).update(status="sold")
    row = Pet.history.filter(id=animals[0].pk).latest("history_id")
    row.pk, row.status, row.sold_on = None, "sold", date(2026, 1, 5)
    row.save()
    row.refresh_from_db()
    assert row.sold_on == date(2026, 1, 5)


@pytest.fixture
def written_past_the_triggers(animals: list[Pet]) -> Category:
    """Two sold animals that were not counted."""
    triggers.remove()
    category = CategoryFactory()
    PetFactory.create_batch(2, category=category, status="sold")
    triggers.install()
    return category


def test_what_was_written_past_the_triggers_is_found(written_past_the_triggers: Category, today: date) -> None:
    missing = [(str(today), None, None, 2), (None, written_past_the_triggers.pk, "sold", 2)]
    assert set(stock.differences()) == {*missing}
    assert {tuple(figure.values()) for figure in run_json("recount_stock")} == {*missing}
    assert stock.differences() == []


@pytest.mark.usefixtures("written_past_the_triggers")
def test_and_corrected() -> None:
    for arguments, said in (
        ([], "Corrected 2 of the stored figures.\n"),
        ([], "The stored figures are correct.\n"),
        (["--json"], "[]\n"),
    ):
        assert run("recount_stock", *arguments) == said
    assert_right()


@pytest.mark.postgresql("only PostgreSQL has TRUNCATE")
def test_an_emptied_table_counts(animals: list[Pet]) -> None:
    for status in ("sold", "pending"):
        Pet.objects.filter(pk=animals[0].pk).update(status=status)
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE pets_pet")
    assert (stock.in_stock(), stock.added_and_sold_since(EPOCH)[0], stock.differences()) == ([], {}, [])
