"""The stock by category and status. Nothing here counts animals: `pets.stock` sums kept figures."""

from typing import Any

from pets.models import PetStatus
from petstore_site.back_office.addresses import listed
from petstore_site.back_office.categories import STATUSES, CategoryStock, kinds, row_of
from petstore_site.charts import Figure, Row

MOST = 9
"""Categories that are shown by themselves, the largest; the others are one row."""


def in_stock() -> dict[str, Any]:
    """Return a row with its bar and icon for each of the largest categories, and the totals of each status."""
    stocks = sorted(kinds(), key=lambda stock: -sum(stock.counts))
    longest = sum(stocks[0].counts) if stocks else 0
    rows = [(row_of(stock.number, stock.name, stock.counts), stock.icon or "paw-print") for stock in stocks[:MOST]]
    totals = [
        Figure(value, listed("pets_pet", status__exact=status))
        for status, value in zip(PetStatus.values, _sums(stocks), strict=True)
    ]
    others = None
    if rest := stocks[MOST:]:
        label = f"{len(rest):,} other {'category' if len(rest) == 1 else 'categories'}"
        others = Row(label, [*map(Figure, _sums(rest))])
    return {
        "statuses": STATUSES,
        "rows": [(row, list(row.bar(longest, STATUSES)), icon) for row, icon in rows],
        "others": others,
        "totals": totals,
        "all": Figure(sum(figure.value for figure in totals), listed("pets_pet")),
    }


def _sums(stocks: list[CategoryStock]) -> list[int]:
    return [sum(stock.counts[position] for stock in stocks) for position in range(len(STATUSES))]
