"""The stock, and what was added and sold on which day. Nothing here counts animals: `pets.stock` sums kept figures."""

from itertools import groupby
from typing import Any

from pets import stock
from pets.models import PetStatus
from petstore_site.back_office.charts import Chart, Figure, Row, Series
from petstore_site.back_office.dashboard.addresses import listed, sold_on, within
from petstore_site.back_office.dashboard.days import last_days, name

MOST = 20
"""Categories that are shown by themselves, the largest; the others are one row."""

STATUSES = [Series(status.label, f"bar-{status.value}") for status in PetStatus]


def in_stock() -> dict[str, Any]:
    """Return the chart of categories, and the totals of each status and of all."""
    rows = sorted(_categories(), key=lambda row: -row.total)
    shown = rows[:MOST] + ([_others(rows[MOST:])] if rows[MOST:] else [])
    totals = [Figure(value, listed("pets_pet", status__exact=status)) for status, value in _sums(rows)]
    return {
        "chart": Chart("stock", "Animals by category and status", STATUSES, shown, lying=True),
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


def per_day() -> dict[str, Any]:
    """Return the charts of the animals that were added and sold on each of the last days, newest first in the table."""
    days = last_days()
    added, sold = stock.added_since(days[0]), stock.sold_since(days[0])
    added_rows = [Row(name(day), [Figure(added.get(day, 0), listed("pets_pet", **within(day)))]) for day in days]
    sold_rows = [Row(name(day), [Figure(sold.get(day, 0), listed("pets_pet", **sold_on(day)))]) for day in days]
    return {
        "added": Chart("added", "Added on each day", [Series("Added", "bar-available")], added_rows),
        "sold": Chart("sold", "Sold on each day", [Series("Sold", "bar-sold")], sold_rows),
        "table": [
            (row.label, row.figures[0], gone.figures[0]) for row, gone in zip(added_rows, sold_rows, strict=True)
        ][::-1],
    }
