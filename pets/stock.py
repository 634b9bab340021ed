"""How many animals there are, by category and status, and how many were added and sold on which day.

All of it is summed from what triggers of the database keep (`pets.triggers`), and none of it counts animals, except
`recount`, which compacts what is kept and corrects it, and `differences`, which compares.
"""

from datetime import date
from typing import NamedTuple

from django.db import connection, transaction
from django.db.models import Count, F, Sum, Value

from pets.models import Pet, StockMovement
from pets.sql import read


class Stock(NamedTuple):
    """So many animals of one category with one status."""

    category_id: int
    category: str
    status: str
    icon: str
    """Of the category; empty if it has none."""
    animals: int


class Difference(NamedTuple):
    """Where what is kept is wrong: by so many too few, for a day or for a category and a status."""

    day: str | None
    """As 2026-11-21."""
    category_id: int | None
    status: str | None
    animals: int


def in_stock() -> list[Stock]:
    """Return the animals of each category and status that has any, by the name of the category."""
    sums = (
        StockMovement.objects.exclude(category=None)
        .values_list("category_id", "category__name", "status", "category__icon")
        .annotate(sum=Sum("animals"))
        .exclude(sum=0)
        .order_by("category__name", "status")
    )
    return [Stock(*row) for row in sums]


def by_status(*, category: int | None = None) -> dict[str, int]:
    """Return the animals of each status that has any, of all categories or of one."""
    movements = StockMovement.objects.exclude(status=None)
    if category is not None:
        movements = movements.filter(category=category)
    return dict(movements.values_list("status").annotate(Sum("animals")).order_by())


def added_and_sold_since(day: date) -> tuple[dict[date, int], dict[date, int]]:
    """Return how many animals of the catalogue were added on each day (UTC) that has any, from `day` on.

    And how many of those that are sold became so. Both are of one moment: they are one statement.
    """
    movements = StockMovement.objects.filter(day__gte=day).order_by().values("day")
    sales = Pet.objects.filter(sold_on__gte=day).order_by().values(day=F("sold_on"))
    added = movements.annotate(kind=Value("added"), sum=Sum("animals")).exclude(sum=0)
    sold = sales.annotate(kind=Value("sold"), sum=Count("pk"))
    columns = ("kind", "day", "sum")
    rows = list(added.values_list(*columns).union(sold.values_list(*columns), all=True))
    of_added, of_sold = ({day: sum_ for kind, day, sum_ in rows if kind == wanted} for wanted in ("added", "sold"))
    return of_added, of_sold


COUNTED = """
SELECT {day} AS day, CAST(NULL AS bigint) AS category_id, CAST(NULL AS varchar(9)) AS status, count(*) AS animals
FROM pets_pet GROUP BY 1
UNION ALL
SELECT NULL, category_id, status, count(*) FROM pets_pet GROUP BY category_id, status
"""
DAY = {"postgresql": "(created_at AT TIME ZONE 'UTC')::date", "sqlite": "date(created_at)"}
INSERT = "INSERT INTO pets_stockmovement (day, category_id, status, animals)"

DIFFERENCES = """
SELECT CAST(day AS varchar(10)), category_id, status, CAST(sum(animals) AS bigint) FROM (
    {counted}
    UNION ALL
    SELECT day, NULL, NULL, -animals FROM pets_stockmovement WHERE day IS NOT NULL
    UNION ALL
    SELECT NULL, category_id, status, -animals FROM pets_stockmovement WHERE category_id IS NOT NULL
) both_ways GROUP BY day, category_id, status HAVING sum(animals) <> 0 ORDER BY day, category_id, status
"""


def differences() -> list[Difference]:
    """Count all animals and return where what is kept differs; nothing, unless rows were written without triggers."""
    return [Difference(*row) for row in read(DIFFERENCES.format(counted=_counted()))]


def recount() -> list[Difference]:
    """Replace what is kept with a count of all animals, while others write; return what was wrong."""
    found = differences()
    with transaction.atomic(), connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # Against a second recount. Then one statement, so that what it forgets and what it counts are of one
            # moment: what others commit meanwhile is in neither, and their own movements stay.
            cursor.execute("LOCK TABLE pets_stockmovement IN SHARE UPDATE EXCLUSIVE MODE")
            cursor.execute(f"WITH forgotten AS (DELETE FROM pets_stockmovement) {INSERT} {_counted()}")  # noqa: S608 - constants
        else:
            cursor.execute("DELETE FROM pets_stockmovement")
            cursor.execute(f"{INSERT} {_counted()}")
    return found


COMPACT = f"""
WITH forgotten AS (DELETE FROM pets_stockmovement RETURNING day, category_id, status, animals)
{INSERT}
SELECT day, CAST(NULL AS bigint), CAST(NULL AS varchar(9)), sum(animals) FROM forgotten
WHERE day IS NOT NULL GROUP BY day HAVING sum(animals) <> 0
UNION ALL
SELECT NULL, category_id, status, sum(animals) FROM forgotten
WHERE category_id IS NOT NULL GROUP BY category_id, status HAVING sum(animals) <> 0
"""  # noqa: S608 - constants


def compact() -> None:
    """Add up what is kept, without counting animals, while others write. SQLite keeps it so.

    Raises `OperationalError` if a recount is at work: then this need not be done.
    """
    if connection.vendor == "postgresql":
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("LOCK TABLE pets_stockmovement IN SHARE UPDATE EXCLUSIVE MODE NOWAIT")
            cursor.execute(COMPACT)


def _counted() -> str:
    return COUNTED.format(day=DAY[connection.vendor])
