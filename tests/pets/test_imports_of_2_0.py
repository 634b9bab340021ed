"""Rows of history that release 2.0 wrote for its imports get their change, also while it goes on beside this one."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from categories.models import Category
from changes import log, undo
from changes.models import Change
from pets.models import ImportRun, Pet
from tests.factories import CategoryFactory

pytestmark = pytest.mark.django_db(transaction=True)

ADD = """
INSERT INTO pets_pet (id, name, category_id, status, created_at, updated_at) VALUES (%s, 'Rex', %s, 'available', %s, %s)
"""
RECORD = """
INSERT INTO pets_petchange (id, name, category_id, status, history_type, history_date, actor, request_id, import_run_id)
VALUES (%s, 'Rex', %s, 'available', '+', %s, %s, '', %s)
"""


class Release20:
    """Writes an import as release 2.0 does: the animals and their history, then the change, then the record."""

    def __init__(self, category: Category) -> None:
        self.category, self.last = category, 1_000

    def adds(self, actor: str = "", run: int | None = None) -> int:
        """Add an animal, with SQL: an example adds a column that the schema of 2.0 does not have."""
        self.last += 1
        at = connection.ops.adapt_datetimefield_value(timezone.now())
        with connection.cursor() as cursor:
            cursor.execute(ADD, [self.last, self.category.pk, at, at])
            cursor.execute(RECORD, [self.last, self.category.pk, at, actor, run])
        return self.last

    def imports(self, animals: int) -> Any:
        run: Any = ImportRun.objects.create(who="root", file_name="a.csv", options={}, created=animals)
        for _ in range(animals):
            self.adds(str(run), run.pk)
        run.state = "done"
        run.change = Change.objects.create(kind="import", who="root", what="a.csv", added=animals)
        run.save()
        return run


@pytest.fixture
def beside() -> Release20:
    return Release20(CategoryFactory())


@pytest.fixture
def before(beside: Release20) -> Iterator[Release20]:
    """The database of release 2.0."""
    call_command("migrate", "pets", "0029", verbosity=0)
    yield beside
    call_command("migrate", verbosity=0)


def changes_of_rows() -> list[Any]:
    return [*Pet.history.order_by("history_id").values_list("change", flat=True)]


def test_rows_of_imports_get_their_change(before: Release20) -> None:
    first, second = before.imports(3), before.imports(2)
    alone = before.adds()
    assert changes_of_rows() == [None] * 6
    for _ in range(2):  # again after it was stopped
        call_command("migrate", "pets", "0029", verbosity=0)
        call_command("migrate", verbosity=0)
    assert changes_of_rows() == [first.change_id] * 3 + [second.change_id] * 2 + [None]
    listed, _ = log.changes(log.Filters())
    assert [change.animals for change in listed] == [1, 2, 3]
    undo.undo(Change.objects.get(pk=first.change_id))
    assert Pet.objects.count() == 3
    assert Pet.objects.filter(pk=alone).exists()


def test_what_release_2_0_imports_beside_this_one_has_its_change(beside: Release20) -> None:
    first, second = beside.imports(3), beside.imports(2)
    assert changes_of_rows() == [first.change_id] * 3 + [second.change_id] * 2
    assert [change.animals for change in log.changes(log.Filters())[0]] == [2, 3]
    undo.undo(Change.objects.get(pk=second.change_id))
    assert Pet.objects.count() == 3


@pytest.mark.postgresql("SQLite has no rights")
def test_a_service_that_cannot_set_a_change_imports_beside_this_one(beside: Release20) -> None:
    """As that of 1.5 and 1.6, until roles.sql of this release was run."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT prosecdef FROM pg_proc WHERE proname = 'import_by_2_0'")
        assert cursor.fetchall() == [(True,)]
