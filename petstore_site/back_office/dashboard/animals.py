"""The stock by category and status. Nothing here counts animals: `pets.stock` sums kept figures."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any, NamedTuple

from pets import stock
from pets.models import PetStatus
from petstore_site.back_office.categories import STATUSES, row_of
from petstore_site.back_office.dashboard.addresses import listed
from petstore_site.charts import Figure, Row

MOST = 9
"""Categories that are shown by themselves, the largest; the others are one row."""


class Kind(NamedTuple):
    """A category, and how many animals of each status it has, in the order of `STATUSES`."""

    number: int
    name: str
    icon: str
    counts: list[int]


def in_stock() -> dict[str, Any]:
    """Return a row with its bar and icon for each of the largest categories, and the totals of each status."""
    kinds = sorted(_kinds(), key=lambda kind: -sum(kind.counts))
    longest = sum(kinds[0].counts) if kinds else 0
    rows = [(row_of(kind.number, kind.name, kind.counts), kind.icon or "paw-print") for kind in kinds[:MOST]]
    totals = [
        Figure(value, listed("pets_pet", status__exact=status))
        for status, value in zip(PetStatus.values, _sums(kinds), strict=True)
    ]
    return {
        "statuses": STATUSES,
        "rows": [(row, list(row.bar(longest, STATUSES)), icon) for row, icon in rows],
        "others": _others(kinds[MOST:]) if kinds[MOST:] else None,
        "totals": totals,
        "all": Figure(sum(figure.value for figure in totals), listed("pets_pet")),
    }


def _kinds() -> Iterator[Kind]:
    rows = stock.in_stock()
    for (number, category, icon), group in groupby(rows, key=lambda row: (row.category_id, row.category, row.icon)):
        counts = {row.status: row.animals for row in group}
        yield Kind(number, category, icon, [counts.get(status, 0) for status in PetStatus.values])


def _sums(kinds: list[Kind]) -> list[int]:
    return [sum(kind.counts[position] for kind in kinds) for position in range(len(STATUSES))]


def _others(kinds: list[Kind]) -> Row:
    return Row(f"{len(kinds):,} other {'category' if len(kinds) == 1 else 'categories'}", [*map(Figure, _sums(kinds))])
