"""What is read of the parts of a workbook (ECMA-376 part 1, chapter 18): each takes elements from a `Package`."""

import functools
import os
import posixpath
import re
from array import array
from collections.abc import Sized
from typing import IO, NamedTuple

from pets.importing.errors import FileError
from pets.importing.readers.number_formats import BUILT_IN, NumberFormat
from pets.importing.readers.package import TOO_LARGE, Attributes, Package, Part, attribute, is_true, whole

MOST_ROWS, MOST_COLUMNS = 2**20, 2**14
"""Of a sheet (Microsoft, "Excel specifications and limits")."""

LONGEST_TEXT = 32_767 * len("_x0000_")
"""Characters of a cell (the same source), of which each can be escaped."""

LONGEST_ROW = 1024 * 1024
"""Characters of all cells of a row."""

MOST_STRINGS, MOST_STYLES, MOST_ENTRIES, LONGEST_ENTRY = 2**22, 2**16, 10_000, 255
"""What is held in memory: the places of shared strings, styles, and what a workbook has names for."""


class Relations(Part):
    """The parts that a part refers to: kind and name, by the ID of the reference."""

    def __init__(self, package: Package, part: str) -> None:
        super().__init__({"Relationship": self._relationship})
        self.targets: dict[str, tuple[str, str]] = {}
        self._folder, name = posixpath.split(part)
        package.read(posixpath.join(self._folder, "_rels", f"{name}.rels"), self)

    def first(self, kind: str) -> str | None:
        return next((name for each, name in self.targets.values() if each == kind), None)

    def _relationship(self, attributes: Attributes) -> None:
        if attributes.get("TargetMode") != "External":
            name = posixpath.join("/", self._folder, attributes["Target"].replace("\\", "/"))
            target = attributes["Type"].rpartition("/")[2], posixpath.normpath(name)
            _reject_too_many(self.targets, attributes["Id"], *target)
            self.targets[attributes["Id"]] = target


class Book(Part):
    """The workbook itself: its sheets in their order, and which parts it has."""

    def __init__(self, package: Package) -> None:
        super().__init__({"sheet": self._sheet, "workbookPr": self._properties})
        self.sheets: dict[str, tuple[str, bool]] = {}
        """By its name: the part that a sheet is, and whether it is hidden."""
        self.from_1904 = False
        name = Relations(package, "").first("officeDocument") or ""
        self.relations = Relations(package, name)
        package.read(name, self)

    def _sheet(self, attributes: Attributes) -> None:
        kind, part = self.relations.targets[attribute(attributes, "id")]
        if kind == "worksheet":  # and no chart
            name = attributes["name"]
            _reject_too_many(self.sheets, name)
            self.sheets[name] = part, attributes.get("state", "visible") != "visible"

    def _properties(self, attributes: Attributes) -> None:
        self.from_1904 = is_true(attributes, "date1904")


class Styles(Part):
    """The number formats, by the styles of cells."""

    def __init__(self, *, from_1904: bool) -> None:
        super().__init__({"numFmt": self._code, "cellXfs": self._begin, "xf": self._style}, {"cellXfs": self._end})
        self._codes = dict(BUILT_IN)
        self._styles = array("L")
        self._of_cells = False
        self._from_1904 = from_1904

    @functools.lru_cache(maxsize=1_000)  # noqa: B019 - it lives as long as the file is read
    def format(self, style: int) -> NumberFormat:
        """Return the number format of a style; raises `IndexError`."""
        number = self._styles[style] if self._styles or style else 0
        return NumberFormat(self._codes.get(number, f"built-in {number}"), from_1904=self._from_1904)

    def _code(self, attributes: Attributes) -> None:
        number, code = attributes["numFmtId"], attributes["formatCode"]
        _reject_too_many(self._codes, number, code)
        self._codes[whole(number)] = code

    def _begin(self, _attributes: Attributes) -> None:
        self._of_cells = True

    def _end(self) -> None:
        self._of_cells = False

    def _style(self, attributes: Attributes) -> None:
        if self._of_cells:
            if len(self._styles) >= MOST_STYLES:
                raise FileError(TOO_LARGE)
            self._styles.append(whole(attributes.get("numFmtId", "0")))


class _Texts(Part):
    """What has texts: collects the pieces of one, but not how it is pronounced."""

    def __init__(self) -> None:
        super().__init__(
            {"t": self._open, "v": self._open, "rPh": self._shut}, {"t": self._shut, "v": self._shut, "rPh": self._open}
        )
        self._pieces: list[str] = []
        self._length = self._depth = 0

    def text(self, text: str) -> None:
        if self._depth > 0:
            self._length += len(text)
            if self._length > LONGEST_TEXT:
                raise FileError(TOO_LARGE)
            self._pieces.append(text)

    def _take_text(self) -> str:
        """Return the text so far and begin again."""
        text = "".join(self._pieces)
        self._pieces.clear()
        self._length = 0
        return text

    def _open(self, *_attributes: Attributes) -> None:
        self._depth += 1

    def _shut(self, *_attributes: Attributes) -> None:
        self._depth -= 1


class Strings(_Texts):
    """The strings that cells share, in a file: there can be more than fit into memory."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__()
        self._file = file
        self._ends = array("Q", [0])
        self.ends["si"] = self._end

    def __getitem__(self, number: int) -> str:
        if number < 0:
            raise IndexError
        start, end = self._ends[number : number + 2]
        return os.pread(self._file.fileno(), end - start, start).decode()

    def _end(self) -> None:
        if len(self._ends) > MOST_STRINGS:
            raise FileError(TOO_LARGE)
        self._ends.append(self._ends[-1] + self._file.write(self._take_text().encode()))


class Cell(NamedTuple):
    """A cell as it is stored."""

    column: int
    """From 0."""
    kind: str
    style: int
    stored: str
    has_value: bool
    """There is a value, even if it is empty."""
    computed: bool
    """There is a formula."""


class SheetRow(NamedTuple):
    """A row as it is stored."""

    number: int
    cells: list[Cell]
    hidden: bool


class Rows(_Texts):
    """The rows of a sheet, and which of its columns are hidden."""

    def __init__(self) -> None:
        super().__init__()
        self._rows: list[SheetRow] = []
        self._row = SheetRow(0, [], hidden=False)
        self._hidden: list[range] = []
        self._row_length = 0
        self._cell: Attributes = {}
        self._has_value = self._computed = False
        self.starts |= {"row": self._begin_row, "c": self._begin_cell, "f": self._formula, "v": self._value}
        self.starts["col"] = self._columns
        self.ends |= {"row": self._end_row, "c": self._end_cell}

    def take(self) -> list[SheetRow]:
        """Return the rows that were complete since the last call."""
        rows, self._rows = self._rows, []
        return rows

    def hides(self, column: int) -> bool:
        """Return whether a column, from 0, is hidden; known before the first row."""
        return any(column in columns for columns in self._hidden)

    def _columns(self, attributes: Attributes) -> None:
        if is_true(attributes, "hidden"):
            if len(self._hidden) >= MOST_COLUMNS:
                raise FileError(TOO_LARGE)
            self._hidden.append(range(whole(attributes["min"]) - 1, whole(attributes["max"])))

    def _begin_row(self, attributes: Attributes) -> None:
        number = whole(attributes["r"]) if "r" in attributes else self._row.number + 1
        if number <= self._row.number:
            raise ValueError
        if number > MOST_ROWS:
            message = f"The sheet has more than {MOST_ROWS:,} rows."
            raise FileError(message)
        self._row, self._row_length = SheetRow(number, [], is_true(attributes, "hidden")), 0

    def _begin_cell(self, attributes: Attributes) -> None:
        self._cell, self._has_value, self._computed = attributes, False, False
        self._take_text()

    def _formula(self, _attributes: Attributes) -> None:
        self._computed = True

    def _value(self, _attributes: Attributes) -> None:
        self._has_value = True
        self._open()

    def _end_cell(self) -> None:
        cells = self._row.cells
        before = cells[-1].column if cells else -1
        place = self._cell.get("r")
        column = before + 1 if place is None else column_of(place.rstrip("0123456789"))
        text = self._take_text()
        self._row_length += len(text)
        if not before < column < MOST_COLUMNS or self._row_length > LONGEST_ROW:
            raise ValueError
        kind, style = self._cell.get("t", "n"), whole(self._cell.get("s") or "0")
        cells.append(Cell(column, kind, style, text, self._has_value, self._computed))

    def _end_row(self) -> None:
        self._rows.append(self._row)


@functools.lru_cache(maxsize=MOST_COLUMNS)
def column_of(letters: str) -> int:
    """Return 0 for A, 25 for Z, 26 for AA; raises `ValueError`."""
    if not re.fullmatch("[A-Z]{1,3}", letters):
        raise ValueError
    return functools.reduce(lambda number, letter: number * 26 + ord(letter) - ord("A") + 1, letters, 0) - 1


def letters_of(column: int) -> str:
    """Return the letters of a column, the reverse of `column_of`."""
    rest, last = divmod(column, 26)
    return (letters_of(rest - 1) if rest else "") + chr(ord("A") + last)


def _reject_too_many(entries: Sized, *texts: str) -> None:
    if len(entries) >= MOST_ENTRIES or max(map(len, texts)) > LONGEST_ENTRY:
        raise FileError(TOO_LARGE)
