"""The demonstration catalogue: a pet store's animals, the same every time."""

import csv
from pathlib import Path

from django.db import connection, transaction
from simple_history.utils import bulk_create_with_history

from categories.models import Category
from commands.exits import ExitError
from pets.models import Pet

ANIMALS = Path(__file__).with_name("animals.csv")


def load_demo_catalogue() -> tuple[int, int]:
    """Fill an empty catalogue; returns how many categories and animals were made.

    All or nothing. Raises `ExitError`, and changes nothing, if there is any animal.
    """
    with ANIMALS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    with transaction.atomic():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:  # or two loads at once would both find it empty
                cursor.execute("LOCK TABLE pets_pet IN SHARE ROW EXCLUSIVE MODE")
        if Pet.objects.exists():
            raise ExitError(
                "The catalogue has animals already. Nothing was loaded; the demonstration is for an empty one."
            )
        icons = {row["category"]: row["icon"] for row in rows}
        categories = {
            name: Category.objects.get_or_create(name=name, defaults={"icon": icons[name]})[0] for name in sorted(icons)
        }
        bulk_create_with_history(
            [Pet(name=row["name"], category=categories[row["category"]], status=row["status"]) for row in rows],
            Pet,
            custom_historical_attrs={"actor": "command load_demo_data"},
        )
    return len(categories), len(rows)
