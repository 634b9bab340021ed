"""What every reader yields: `(line, cells)`, or a `Block` of many rows.

`line` is where the row begins, from 1; in a JSON array, which may have no lines, it is the number of the animal.
`cells` maps the name of a column to its value and leaves out what is blank. A row that cannot be taken apart comes as
a `DamagedRow` instead of its cells. The header is read, and rejected, before any row.
"""

from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from files.errors import VALIDATION_FAILED

Cells = dict[str, Any]
BLANK = "\\N"  # a blank cell of a dump of PostgreSQL or MySQL. As a name it is kept, so that each export comes back
AHEAD = 30  # rows among which the header is looked for


@dataclass(frozen=True, slots=True)
class DamagedRow:
    """A row that is no row: what is wrong with it, and its text."""

    message: str
    cells: Sequence[Any]
    code: str = VALIDATION_FAILED
    unread: bool = False  # `cells` is the text of the whole row


Row = tuple[int, Cells | DamagedRow]


@dataclass(frozen=True, slots=True)
class Block:
    """Rows of text in consecutive lines, none of them damaged or blank, which can be checked column by column."""

    first: int  # the line of the first one
    columns: Sequence[str]  # their names, "" for one that is ignored
    cells: Sequence[Sequence[str]]  # of each row, in the order of `columns`; "" is blank
    one_by_one: Iterable[Row]  # the same rows


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How to read a file; None is found out from it."""

    encoding: str | None = None
    delimiter: str | None = None
    sheet: str | None = None  # of a workbook; None is the first
    largest_workbook: int = 1024 * 1024 * 1024  # bytes that are unpacked of a workbook, all its parts together
    formula_safe: bool = False
    header_row: int = 1  # the line from which on the header is looked for: what is above it is left out
    mapping: Mapping[str, str] = field(default_factory=dict)  # our columns by other names in the file
    columns: Sequence[str] | None = None  # what each column is, "" for one that is ignored, whatever the header says
    defaults: Mapping[str, str] = field(default_factory=dict)  # of new animals, by the header of the column
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By the header of a column, what its values become: "" leaves out their rows, and itself is a new category."""
    fill_merged: bool | None = None  # merged cells below each other have the value of the first; None if nobody said
    ignore_unknown: bool = False  # columns that an import does not have are ignored


class FirstRows(NamedTuple):
    """The first rows of a table as they are, of which one is likely its header."""

    rows: Sequence[tuple[int, list[str]]]  # line and cells, without blank ones at the end; no blank rows
    delimiter: str | None  # as `Reading` has it; None for a workbook


class Sheet(NamedTuple):
    """A sheet of a workbook."""

    name: str
    is_hidden: bool
    rows: Sequence[tuple[int, list[str]]]  # the first ones, as `FirstRows` has them


class CoveredCells(NamedTuple):
    """Cells of a column that a merged one covers."""

    top: int  # their first and last row
    bottom: int
    cell: str  # the one that is shown instead
    goes_down: bool  # whether that is the one above them


def covering(groups: Sequence[CoveredCells], row: int) -> CoveredCells | None:
    """Return which of the groups, in their order, has the cell of a row."""
    before = bisect(groups, (row + 1,)) - 1
    return groups[before] if before >= 0 and groups[before].bottom >= row else None


@dataclass(frozen=True)
class Table:
    """An opened table: its rows, some in blocks, and what a file of its rejects needs to look the same."""

    parts: Iterator[Row | Block]
    header: Sequence[str] | None = None  # the columns, "" for one that is ignored; None for JSON
    delimiter: str = ","
    encoding: str = "utf-8"
    titles: Mapping[str, str] = field(default_factory=dict)  # other names in the file, by our columns
    place: str = "line"  # what the number that comes with a row counts; each row has a number of its own
    merged: Mapping[int, Sequence[CoveredCells]] = field(default_factory=dict)  # of our columns, by their place
