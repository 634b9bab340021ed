"""What an import is about to write, row by row, for a person who decides whether it shall."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from categories.models import Category
from pets.columns import CATEGORY, CATEGORY_ID, COLUMNS, NAME, REFERENCE, STATUS, each
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

    @property
    def acts(self) -> bool:
        """Whether it adds an animal or changes one."""
        return self.pet_id is None or any(cell.changes for cell in self.cells.values())


Watch: TypeAlias = Callable[[Sequence[Planned]], None]
"""Sees what is about to be written, inside the transaction that writes it; what it raises ends the import."""


PLANNED = f"""
    SELECT r.line, p.id, COALESCE(k.by_id, FALSE), {each("p.{c}, COALESCE(r.{c}, p.{c}, {default})")}
    FROM import_rows r LEFT JOIN import_known k ON k.line = r.line LEFT JOIN pets_pet p ON p.id = k.id
"""
ACTING = "WHERE k.line IS NULL OR k.differs"
"""Adds an animal, or changes one."""


def planned(most: int | None = None, *, unchanged: bool = False) -> Iterator[Planned]:
    """Yield what is staged to be written, by line; at most so many rows, and with `unchanged` also what is not."""
    categories = names_of_categories()
    limit = "" if most is None else f"LIMIT {most}"
    for line, pet_id, by_id, *values in stream(f"{PLANNED} {'' if unchanged else ACTING} ORDER BY r.line {limit}"):
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


class Shown(NamedTuple):
    """A cell of a row on the page that shows what a file would do."""

    header: str
    before: str
    """What the animal has now, if the row changes that; "none" for a reference that it lacks."""
    after: str
    wrong: bool = False


class Line(NamedTuple):
    """A row of the file that does something, or is rejected and says why."""

    number: int
    does: str
    """"added", "changed", "unchanged" or "rejected"."""
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
    shown = [Shown(header, (cell.before or "none") if cell.changes else "", cell.after) for header, cell in cells]
    does = "added" if row.pet_id is None else "changed" if row.acts else "unchanged"
    return Line(row.line, does, shown, row.pet_id, row.by_id)


def _rejected(row: Rejected) -> Line:
    wrong = {CATEGORY.header if error.field == CATEGORY_ID else error.field for error in row.errors}
    shown: list[Shown] = []
    if row.cells is not None:
        cells = {CATEGORY.header: row.cells.get(CATEGORY_ID, ""), **row.cells}
        said = [(column.header, cells.get(column.header, "")) for column in COLUMNS_SHOWN]
        shown = [Shown(header, "", text, header in wrong) for header, text in said]
    return Line(row.line, "rejected", shown, errors=[error.text for error in row.errors])


def digest(rows: Sequence[Planned]) -> str:
    """Return what identifies this plan, in hexadecimal. Rows that do nothing are no part of it."""
    return hashlib.sha256(repr([tuple(row) for row in rows if row.acts]).encode()).hexdigest()
