"""What an import is about to write, row by row, for a person who decides whether it shall."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from categories.models import Category
from pets.columns import CATEGORY, CATEGORY_ID, COLUMNS, NAME, REFERENCE, STATUS, each
from pets.importing.errors import printable
from pets.importing.readers.rows import Damaged
from pets.importing.rejects import Rejected
from pets.importing.sql import stream


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


Watch: TypeAlias = Callable[[Sequence[Planned]], None]
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


class Shown(NamedTuple):
    """A cell of a row on the page that shows what a file would do."""

    header: str
    before: str
    """What the animal has now, if the row changes that."""
    after: str
    wrong: bool = False


class Line(NamedTuple):
    """A row of the file that does something, or is rejected and says why."""

    number: int
    does: str
    """"added", "changed" or "rejected"."""
    cells: Sequence[Shown]
    """In the order of `COLUMNS_SHOWN`; empty if the row cannot be taken apart."""
    pet_id: int | None = None
    by_id: bool = False
    errors: Sequence[str] = ()


COLUMNS_SHOWN = (NAME, CATEGORY, STATUS, REFERENCE)


def lines(plan: Sequence[Planned], rejected: Sequence[Rejected]) -> list[Line]:
    """Return what is planned and what is rejected as one list, in the order of lines."""
    return sorted([*map(_plan, plan), *map(_rejected, rejected)], key=lambda line: line.number)


def _plan(row: Planned) -> Line:
    cells = [(column.header, row.cells[column.header]) for column in COLUMNS_SHOWN]
    shown = [Shown(header, (cell.before or "") if cell.changes else "", cell.after) for header, cell in cells]
    return Line(row.line, "added" if row.pet_id is None else "changed", shown, row.pet_id, row.by_id)


def _rejected(row: Rejected) -> Line:
    wrong = {CATEGORY.header if error.field == CATEGORY_ID else error.field for error in row.errors}
    shown: list[Shown] = []
    if not isinstance(row.cells, Damaged):
        cells = {CATEGORY.header: row.cells.get(CATEGORY_ID, "")} | row.cells
        said = [(column.header, printable(str(cells.get(column.header, "")))) for column in COLUMNS_SHOWN]
        shown = [Shown(header, "", text, header in wrong) for header, text in said]
    return Line(row.line, "rejected", shown, errors=[error.text for error in row.errors])


def digest(rows: Sequence[Planned]) -> str:
    """Return what identifies this plan, in hexadecimal."""
    return hashlib.sha256(repr([tuple(row) for row in rows]).encode()).hexdigest()
