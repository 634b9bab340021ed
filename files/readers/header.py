"""The columns of a table: their names in the header, and the cells of a row under them."""

import re
from collections.abc import Sequence
from difflib import get_close_matches

from files.doubts.encodings import misread
from files.errors import HeaderError, quoted
from files.readers.rows import BLANK, Cells, DamagedRow, Reading
from files.spreadsheets import unguarded
from pets.columns import CATEGORY, CATEGORY_ID, HEADERS, ID, NAME, REFERENCE, STATUS

REMARKS = ("_line", "_code", "_message")  # what a file of rejects has in front of each row; an import passes over it
NUMBERS = (ID, CATEGORY_ID)
WORDS = (CATEGORY.header, STATUS.header)  # whose values a supplier can have other words for
LONGEST_WORD = 255  # characters of a value that a person is asked about, as a category can have
DIGITS = re.compile("0|[1-9][0-9]{0,19}")  # and no `2.000`, which is 2 or two thousand
NAMED = 5  # unknown columns that a message names


def plain(title: str) -> str:
    """Return what columns are found by: neither case matters nor how blanks, `_` and line ends part its words.

    A program that reads the byte order mark as letters saves it as a part of the first title. PostgreSQL keeps no NUL.
    """
    title = title if title.isascii() else (misread(title) or title).lstrip("\ufeff")
    return re.sub(r"(?<!^)[\s_]+", " ", title.strip()).replace("\0", "").strip().lower()


COLUMNS = {plain(column): column for column in HEADERS}
KNOWN = COLUMNS | dict(zip(REMARKS, REMARKS, strict=True))  # the columns by what they are found by


def columns_of(header: Sequence[str], how: Reading) -> list[str]:
    """Return the header's columns under their own names, "" for one to ignore; raises `HeaderError` for all mistakes.

    Without a name or a category, a file can still change animals, which its rows must say.
    """
    names = names_of_columns(how)
    titles = [plain(title) for title in header]
    columns = [names.get(title, "") for title in titles] if how.columns is None else list(how.columns)
    may_ignore = how.ignore_unknown or how.columns is not None
    unknown = [] if may_ignore else [at for at, column in enumerate(columns) if not column]
    mistakes = [f"Column {at + 1} has no title." for at in unknown if not titles[at]][:1]
    mistakes += [unknown_columns(wrong)] if (wrong := [header[at] for at in unknown if titles[at]]) else []
    mistakes += [f"There is no column {named([each])} to map." for each in how.mapping if plain(each) not in titles]
    mistakes += [f"{column} is there twice." for column in KNOWN.values() if columns.count(column) > 1]
    finds = ID in columns or REFERENCE.header in columns
    if NAME.header not in columns and not finds:
        mistakes.append("name is missing.")
    if CATEGORY.header in columns and CATEGORY_ID in columns:
        mistakes.append("category and categoryId are both there. Keep one.")
    elif not {CATEGORY.header, CATEGORY_ID}.intersection(columns) and not finds and CATEGORY.header not in how.defaults:
        mistakes.append("category (by name) or categoryId (by ID) is missing.")
    if mistakes:
        message = f"The header cannot be used. {' '.join(mistakes)} Columns: {', '.join(HEADERS)}."
        raise HeaderError(message)
    return columns


def names_of_columns(how: Reading) -> dict[str, str]:
    """Return the columns by the `plain` names that a file can have for them."""
    return KNOWN | {plain(title): column for title, column in how.mapping.items()}


def unknown_columns(names: Sequence[str]) -> str:
    """Return the sentence about columns that an import does not have, with the names that may be meant."""
    hints = [near[0] for name in names[:NAMED] if (near := get_close_matches(plain(name), COLUMNS, n=1))]
    hint = f" Did you mean {', '.join(COLUMNS[each] for each in dict.fromkeys(hints))}?" if hints else ""
    return f"Unknown {'column' if len(names) == 1 else 'columns'}: {named(names)}.{hint}"


def named(names: Sequence[str], most: int = NAMED) -> str:
    """Return the first of the names in quotes, as they can be printed."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(map(quoted, names[:most])) + more


def fewest(columns: Sequence[str]) -> int:
    """Return how many cells a row has at least: spreadsheet programs leave out blank ones at its end."""
    return columns.index(NAME.header) + 1 if NAME.header in columns else 1


def cells_of(columns: Sequence[str], row: Sequence[str], *, formula_safe: bool) -> Cells | DamagedRow:
    """Return the cells of one row of text under the names of their columns."""
    if not fewest(columns) <= len(row) <= len(columns):
        count = f"1 cell ({quoted(row[0])})" if len(row) == 1 else f"{len(row)} cells"
        return DamagedRow(f"The row has {count}, the header has {len(columns)}.", row)
    if formula_safe:
        row = [unguarded(cell) for cell in row]
    cells: Cells = dict(zip(columns, row, strict=False))
    cells.pop("", None)  # columns to ignore
    if "" in row or BLANK in row:
        cells = {column: cell for column, cell in cells.items() if cell and (cell != BLANK or column == NAME.header)}
    return cells | {column: number(cells[column]) for column in NUMBERS if column in cells}


def number(cell: str) -> int | str:
    """Return the number that is written in a cell, or its text."""
    return int(cell) if DIGITS.fullmatch(cell) else cell
