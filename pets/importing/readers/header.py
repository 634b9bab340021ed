"""The columns of a table: their names in the header, and the cells of a row under them."""

from collections.abc import Sequence

from pets.columns import CATEGORY_ID, HEADERS, ID
from pets.importing.errors import FileError, quoted
from pets.importing.readers.numbers import number
from pets.importing.readers.rows import Cells, Damaged
from pets.importing.similar import Similar

REMARKS = ("_line", "_code", "_message")
"""What a file of rejects has in front of each row; an import passes over it."""

KNOWN = {column.lower(): column for column in (*HEADERS, *REMARKS)}
"""The columns by what they are found by: case does not matter."""

NUMBERS = (ID, CATEGORY_ID)
NAMED = 5
"""Unknown columns that a message names."""


def columns_of(header: Sequence[str]) -> list[str]:
    """Return the header's columns under their own names; raises `FileError` naming every mistake."""
    columns = [KNOWN.get(cell.strip().lower(), "") for cell in header]
    unknown = [cell for cell, column in zip(header, columns, strict=True) if not column]
    mistakes = [f"{named(unknown)}: no column of an import{did_you_mean(unknown)}"] if unknown else []
    mistakes += [f"{column} is there twice" for column in KNOWN.values() if columns.count(column) > 1]
    if "name" not in columns:
        mistakes.append("name is missing")
    if "category" in columns and "categoryId" in columns:
        mistakes.append("category and categoryId are both there: keep one")
    elif "category" not in columns and "categoryId" not in columns:
        mistakes.append("category (by name) or categoryId (by number) is missing")
    if mistakes:
        message = f"The header cannot be used: {'; '.join(mistakes)}. Columns: {', '.join(HEADERS)}."
        raise FileError(message)
    return columns


def named(names: Sequence[str]) -> str:
    """Return the first of the names in quotes, as they can be printed."""
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return ", ".join(map(quoted, names[:NAMED])) + more


def did_you_mean(unknown: Sequence[str]) -> str:
    """Return the columns that the first of the unknown ones are likely typos of, in brackets; "" if there is none."""
    found = dict.fromkeys(filter(None, map(Similar(HEADERS).find, unknown[:NAMED])))
    return f" (did you mean {', '.join(found)}?)" if found else ""


def cells_of(columns: Sequence[str], row: Sequence[str], *, formula_safe: bool) -> Cells | Damaged:
    """Return the cells of one row of text under the names of their columns."""
    if len(row) != len(columns):
        return Damaged(f"The row has {len(row)} cells, the header has {len(columns)}.", row)
    if formula_safe:
        row = [cell.removeprefix("'") for cell in row]
    cells: Cells = dict(zip(columns, row, strict=True))
    if "" in row:
        cells = {column: cell for column, cell in cells.items() if cell}
    for column in NUMBERS:
        if column in cells:
            cells[column] = number(cells[column])
    return cells
