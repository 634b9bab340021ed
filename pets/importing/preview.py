"""What an import is about to write, row by row, for a person who decides whether it shall."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from categories.models import Category
from pets.columns import CATEGORY, COLUMNS, each
from pets.importing.sql import stream
from pets.models import ImportRun


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


Watch: TypeAlias = Callable[[ImportRun, Sequence[Planned]], None]
"""Sees what is about to be written, inside the transaction that writes it; what it raises ends the import."""


PLANNED = f"""
    SELECT r.line, p.id, COALESCE(k.by_id, FALSE), {each("p.{c}, COALESCE(r.{c}, p.{c}, {default})")}
    FROM import_rows r LEFT JOIN import_known k ON k.line = r.line LEFT JOIN pets_pet p ON p.id = k.id
    WHERE k.line IS NULL OR k.differs ORDER BY r.line
"""


def planned() -> list[Planned]:
    """Return all that is staged to be written, by line; for files of a few thousand rows."""
    rows = list(stream(PLANNED))
    categories = dict(Category.objects.values_list("pk", "name")) if rows else {}
    return [
        Planned(line, pet_id, bool(by_id), _cells(values, categories, is_new=pet_id is None))
        for line, pet_id, by_id, *values in rows
    ]


def _cells(values: list[Any], categories: dict[int, str], *, is_new: bool) -> dict[str, Cell]:
    cells = {}
    for column, before, after in zip(COLUMNS, values[::2], values[1::2], strict=True):
        words = [categories.get(value, "") if column is CATEGORY else value or "" for value in (before, after)]
        cells[column.header] = Cell(None if is_new else words[0], words[1])
    return cells


def digest(rows: Sequence[Planned]) -> str:
    """Return what identifies this plan, in hexadecimal."""
    return hashlib.sha256(repr([tuple(row) for row in rows]).encode()).hexdigest()
