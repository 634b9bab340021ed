"""The stock by category and status. Nothing here counts animals: `pets.stock` sums kept figures."""

from itertools import groupby
from typing import Any

from categories.models import Category
from pets import stock
from pets.models import PetStatus
from petstore_site.back_office.charts import Figure, Row, Series
from petstore_site.back_office.dashboard.addresses import listed

MOST = 9
"""Categories that are shown by themselves, the largest; the others are one row."""

STATUSES = [Series(status.label, status.value) for status in PetStatus]


def in_stock() -> dict[str, Any]:
    """Return a row with its bar and icon for each category, and the totals of each status and of all."""
    rows = sorted(_categories(), key=lambda row: -row.total)
    icons = dict(Category.objects.exclude(icon="").values_list("name", "icon"))
    longest = rows[0].total if rows else 0
    totals = [Figure(value, listed("pets_pet", status__exact=status)) for status, value in _sums(rows)]
    return {
        "statuses": STATUSES,
        "rows": [(row, list(row.bar(longest, STATUSES)), icons.get(row.label, "paw-print")) for row in rows[:MOST]],
        "others": _others(rows[MOST:]) if rows[MOST:] else None,
        "totals": totals,
        "all": Figure(sum(figure.value for figure in totals), listed("pets_pet")),
    }


def _categories() -> list[Row]:
    rows = []
    for (number, category), group in groupby(stock.in_stock(), key=lambda row: row[:2]):
        counts = {row.status: row.animals for row in group}
        behind = {"category__id__exact": number}
        figures = [
            Figure(counts.get(status, 0), listed("pets_pet", status__exact=status, **behind))
            for status in PetStatus.values
        ]
        rows.append(Row(category, figures, listed("pets_pet", **behind)))
    return rows


def _sums(rows: list[Row]) -> list[tuple[str, int]]:
    return [
        (status, sum(row.figures[position].value for row in rows)) for position, status in enumerate(PetStatus.values)
    ]


def _others(rows: list[Row]) -> Row:
    figures = [Figure(value) for _, value in _sums(rows)]
    return Row(f"{len(rows):,} other {'category' if len(rows) == 1 else 'categories'}", figures)
