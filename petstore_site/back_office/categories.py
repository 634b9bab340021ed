"""The animals of each category beside it in the list of categories, from the kept stock: categories know no animals."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from django import template

from categories.models import Category
from categories.similar import Similar
from pets import stock
from pets.models import PetStatus
from petstore_site.back_office.addresses import listed
from petstore_site.charts import Figure, Row, Series

register = template.Library()

STATUSES = [Series(status.label, status.value) for status in PetStatus]


class CategoryStock(NamedTuple):
    """A category that has animals, and how many of each status, in the order of `STATUSES`."""

    number: int
    name: str
    icon: str
    counts: list[int]


def kinds() -> Iterator[CategoryStock]:
    """Yield the categories that have animals, from the kept stock."""
    for of, group in groupby(stock.in_stock(), key=lambda row: (row.category_id, row.category, row.icon)):
        counts = {row.status: row.animals for row in group}
        yield CategoryStock(*of, [counts.get(status, 0) for status in PetStatus.values])


@register.simple_tag
def with_animals(categories: Sequence[Category]) -> dict[str, Any]:
    """Return the categories with their animals, the largest first, by one statement that counts none.

    Each has its row, its bar (all have one scale), and its figures in words.
    """
    counts = {kind.number: kind.counts for kind in kinds()}
    rows = [(one, row_of(one.pk, one.name, counts.get(one.pk, [0] * len(STATUSES)))) for one in categories]
    rows.sort(key=lambda line: -line[1].total)
    longest = rows[0][1].total if rows else 0
    lines = [(category, row, list(row.bar(longest, STATUSES)), in_words(row)) for category, row in rows]
    return {"lines": lines, "animals": sum(map(sum, counts.values())), "statuses": STATUSES}


def row_of(number: int, name: str, counts: Sequence[int]) -> Row:
    """Return the figures of a category, each with the list behind it; `counts` are in the order of `STATUSES`."""
    behind = listed("pets_pet", category__id__exact=number)
    figures = [
        Figure(count, f"{behind}&status__exact={status}")
        for status, count in zip(PetStatus.values, counts, strict=True)
    ]
    return Row(name, figures, behind)


def in_words(row: Row) -> str:
    """Return "50 available, 12 pending, 12 sold"."""
    return ", ".join(f"{figure.value:,} {status}" for figure, status in zip(row.figures, PetStatus.values, strict=True))


@register.simple_tag
def alike(categories: Sequence[Category]) -> tuple[Category, Category] | None:
    """Return two categories, the older first, whose names an import would take for each other; None without such."""
    known = Similar(())
    by_name: dict[str, Category] = {}
    for category in sorted(categories, key=lambda category: category.pk):
        other = known.find(category.name)
        if other is not None:
            return by_name[other], category
        known.add(category.name)
        by_name[category.name] = category
    return None
