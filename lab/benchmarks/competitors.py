"""The other ways to import a file of animals, each run as its own program.

`python -m lab.benchmarks.competitors HOW FILE`: HOW is a key of `WAYS`. DATABASE_URL names a catalogue without animals.
None of them validates rows.
"""

import csv
import os
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pets.models import Pet

BATCH = 5000


def main(how: str, file: str) -> None:
    """Import the animals of `file`."""
    WAYS[how](Path(file))


def floor(file: Path) -> None:
    """Write with sqlite3 alone, in one transaction, on a connection set up like the service's."""
    with closing(sqlite3.connect(os.environ["DATABASE_URL"].removeprefix("sqlite:///"))) as connection:
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}")
        rows = _numbered_rows(file, dict(connection.execute("SELECT name, id FROM categories_category")))
        with connection:
            while batch := list(islice(rows, BATCH)):
                connection.executemany(
                    "INSERT INTO pets_pet (id, external_reference, name, category_id, status, created_at, updated_at)"
                    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)",
                    batch,
                )
                connection.executemany(
                    "INSERT INTO pets_petchange (id, external_reference, name, category_id, status, history_date,"
                    " history_type, actor, request_id) VALUES (?1, ?2, ?3, ?4, ?5, ?6, '+', '', '')",
                    batch,
                )


def _numbered_rows(file: Path, categories: dict[str, int]) -> Iterator[tuple[int, str, str, int, str, str]]:
    now = datetime.now(tz=UTC).replace(tzinfo=None).isoformat(" ")
    with file.open(encoding="utf-8", newline="") as lines:
        rows = csv.reader(lines)
        next(rows)
        for number, (reference, name, category, status) in enumerate(rows, 1):
            yield number, reference, name, categories[category], status, now


def bulk(file: Path) -> None:
    """Write with Django's `bulk_create`, in one transaction and without history."""
    _set_up()
    from django.db import transaction
    from pets.models import Pet

    with transaction.atomic():
        for pets in _batches(file):
            Pet.objects.bulk_create(pets)


def bulk_with_history(file: Path) -> None:
    """Write with django-simple-history's `bulk_create_with_history`, in one transaction."""
    _set_up()
    from django.db import transaction
    from pets.models import Pet
    from simple_history.utils import bulk_create_with_history

    with transaction.atomic():
        for pets in _batches(file):
            bulk_create_with_history(pets, Pet, batch_size=BATCH)


def _batches(file: Path) -> Iterator[list["Pet"]]:
    from categories.models import Category
    from pets.models import Pet

    categories = dict(Category.objects.values_list("name", "pk"))
    with file.open(encoding="utf-8", newline="") as lines:
        pets = (
            Pet(
                external_reference=row["external_reference"],
                name=row["name"],
                category_id=categories[row["category"]],
                status=row["status"],
            )
            for row in csv.DictReader(lines)
        )
        while batch := list(islice(pets, BATCH)):
            yield batch


def import_export(file: Path) -> None:
    """Write with django-import-export and its fastest options, without history."""
    _set_up()
    from categories.models import Category
    from import_export.fields import Field
    from import_export.instance_loaders import CachedInstanceLoader
    from import_export.resources import ModelResource
    from import_export.widgets import CachedForeignKeyWidget
    from pets.models import Pet
    from tablib import Dataset

    class PetResource(ModelResource):  # type: ignore[misc]  # it has no types
        category = Field(column_name="category", attribute="category", widget=CachedForeignKeyWidget(Category, "name"))

        class Meta:
            model = Pet
            fields = ("external_reference", "name", "category", "status")
            import_id_fields = ("external_reference",)
            instance_loader_class = CachedInstanceLoader
            use_bulk = True
            batch_size = BATCH
            skip_diff = True
            use_transactions = True

    with file.open(encoding="utf-8", newline="") as lines:
        PetResource().import_data(Dataset().load(lines, format="csv"), raise_errors=True)


def _set_up() -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "petstore_site.settings"
    import django

    django.setup()


WAYS: dict[str, Callable[[Path], None]] = {
    "floor": floor,
    "bulk": bulk,
    "bulk-with-history": bulk_with_history,
    "import-export": import_export,
}

if __name__ == "__main__":
    main(*sys.argv[1:])
