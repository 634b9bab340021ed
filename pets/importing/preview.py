"""What an import is about to write, row by row, for a person who decides whether it shall."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from categories.models import Category
from pets.columns import CATEGORY, COLUMNS, each
from pets.sql import stream


class Cell(NamedTuple):
    """What a row does to one column, in words; `before` is None for an animal that is added."""

    before: str | None
    after: str

    @property
    def changes(self) -> bool:
        """Whether the animal is there and gets another value."""
        return self.before is not None and self.before != self.after


class Planned(NamedTuple):
    """One row that adds an animal, or changes one."""

    line: int
    pet_id: int | None
    """None for an animal that is added."""
    by_id: bool
    """Whether it was found by its id, or else by its reference."""
    cells: dict[str, Cell]
    """By the header of the column, in the order of an export."""

    @property
    def acts(self) -> bool:
        """Whether it adds an animal or changes one."""
        return self.pet_id is None or any(cell.changes for cell in self.cells.values())


PLANNED = f"""
    SELECT r.line, p.id, COALESCE(k.by_id, FALSE), {each("p.{c}, COALESCE(r.{c}, p.{c}, {default})")}
    FROM import_rows r LEFT JOIN import_known k ON k.line = r.line LEFT JOIN pets_pet p ON p.id = k.id
"""
ACTING = "(k.line IS NULL OR k.differs)"
"""Adds an animal, or changes one."""

MOST_SHOWN = 5_000
"""Rows that a page can show."""


def planned(most: int | None = None) -> Iterator[Planned]:
    """Yield what is staged to be written, by line; at most so many rows."""
    return _planned(f"WHERE {ACTING} ORDER BY r.line {'' if most is None else f'LIMIT {most}'}")


def planned_for_page(doubtful: Iterable[int]) -> Iterator[Planned]:
    """Yield `MOST_SHOWN` rows: those in these lines, then what is staged to be written, then what is as it was."""
    lines = ", ".join(map(str, doubtful)) or "NULL"
    order = f"CASE WHEN r.line IN ({lines}) THEN 0 WHEN {ACTING} THEN 1 ELSE 2 END"
    return _planned(f"ORDER BY {order}, r.line LIMIT {MOST_SHOWN}")


def _planned(which: str) -> Iterator[Planned]:
    categories = names_of_categories()
    for line, pet_id, by_id, *values in stream(f"{PLANNED} {which}"):
        yield Planned(line, pet_id, bool(by_id), cells_of(values, categories, is_new=pet_id is None))


def names_of_categories() -> dict[int, str]:
    """Return the names by id; those of deleted categories are the last they had."""
    past = Category.history.order_by("history_id").values_list("id", "name")
    deleted = past.exclude(id__in=Category.objects.values("pk"))
    return dict(deleted) | dict(Category.objects.values_list("pk", "name"))


def cells_of(values: list[Any], categories: dict[int, str], *, is_new: bool) -> dict[str, Cell]:
    """Return the cells by header for the value of each column before and after."""
    cells = {}
    for column, before, after in zip(COLUMNS, values[::2], values[1::2], strict=True):
        words = [categories.get(value, "") if column is CATEGORY else value or "" for value in (before, after)]
        cells[column.header] = Cell(None if is_new else words[0], words[1])
    return cells


def digest(tally: Sequence[int]) -> str:
    """Return what identifies a plan, in hexadecimal: how many rows do what, and all that the first of them do."""
    return hashlib.sha256(repr([*tally, *planned(MOST_SHOWN)]).encode()).hexdigest()
