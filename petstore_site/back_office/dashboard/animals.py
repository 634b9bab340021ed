"""The stock by category and status. Nothing here counts animals: `pets.stock` sums kept figures."""

from typing import Any

from pets.models import PetStatus
from petstore_site.back_office.categories import STATUSES, CategoryStock, kinds, row_of
from petstore_site.back_office.dashboard.addresses import listed
from petstore_site.charts import Figure, Row

MOST = 9
"""Categories that are shown by themselves, the largest; the others are one row."""


def in_stock() -> dict[str, Any]:
    """Return a row with its bar and icon for each of the largest categories, and the totals of each status."""
    found = sorted(kinds(), key=lambda kind: -sum(kind.counts))
    longest = sum(found[0].counts) if found else 0
    rows = [(row_of(kind.number, kind.name, kind.counts), kind.icon or "paw-print") for kind in found[:MOST]]
    totals = [
        Figure(value, listed("pets_pet", status__exact=status))
        for status, value in zip(PetStatus.values, _sums(found), strict=True)
    ]
    return {
        "statuses": STATUSES,
        "rows": [(row, list(row.bar(longest, STATUSES)), icon) for row, icon in rows],
        "others": _others(found[MOST:]) if found[MOST:] else None,
        "totals": totals,
        "all": Figure(sum(figure.value for figure in totals), listed("pets_pet")),
    }


def _sums(found: list[CategoryStock]) -> list[int]:
    return [sum(kind.counts[position] for kind in found) for position in range(len(STATUSES))]


def _others(found: list[CategoryStock]) -> Row:
    return Row(f"{len(found):,} other {'category' if len(found) == 1 else 'categories'}", [*map(Figure, _sums(found))])
