"""XLSX: one sheet of a workbook, its cells as a spreadsheet shows them."""

import functools
import re
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from xml.parsers.expat import ExpatError

from pets.columns import HEADERS
from pets.importing.errors import FileError, printable, quoted
from pets.importing.no_table import reject_other_archive
from pets.importing.readers.header import cells_of, columns_of, named
from pets.importing.readers.number_formats import UnknownTextError
from pets.importing.readers.package import TOO_LARGE, Element, Package, is_true, numeral, whole
from pets.importing.readers.rows import AHEAD, Damaged, FirstRows, Hidden, Reading, Row, Table
from pets.importing.readers.workbook_parts import Book, Strings, Styles
from pets.importing.source import Source
from pets.spreadsheets import unescape

MOST_ROWS, MOST_COLUMNS = 2**20, 2**14  # of a sheet (Microsoft, "Excel specifications and limits")
LONGEST_ROW = 1024 * 1024  # characters of all cells of a row
DAMAGED = (zipfile.BadZipFile, zlib.error, struct.error, ExpatError, LookupError, ValueError, ArithmeticError, OSError)


@dataclass(slots=True)
class _Row:
    """A row as a spreadsheet shows it."""

    number: int
    hidden: bool
    texts: list[str] = field(default_factory=list)  # without blank ones at the end
    wrong: dict[int, str] = field(default_factory=dict)  # by column, why the text of a cell cannot be known
    columns: int = 0  # those up to its last cell, which can be blank
    length: int = 0


def read_workbook(source: Source, how: Reading) -> Table:
    """Read the sheet of this name, or the first one."""
    hidden_columns: list[range] = []
    rows = _shown_rows(source, how, hidden_columns)
    header = next((row for row in rows if row.number >= how.header_row), None)
    if header is None:
        message = "The sheet is empty."
        raise FileError(message)
    for sentence in header.wrong.values():
        raise FileError(sentence)
    columns = columns_of(header.texts, how)
    ours = [at for at, column in enumerate(columns) if column in HEADERS]
    hidden = Hidden(columns=sum(any(at in some for some in hidden_columns) for at in ours))
    return Table(_rows(rows, columns, hidden, formula_safe=how.formula_safe), columns, hidden=hidden)


def first_sheet_rows(source: Source, how: Reading) -> FirstRows:
    """Return the first rows of the sheet."""
    rows = islice(_shown_rows(source, how, []), AHEAD)
    return FirstRows([(row.number, row.texts) for row in rows], None)


def _rows(rows: Iterator[_Row], columns: Sequence[str], hidden: Hidden, *, formula_safe: bool) -> Iterator[Row]:
    for row in rows:
        hidden.rows += row.hidden
        texts = row.texts + [""] * (len(columns) - len(row.texts))
        sentence = next((each for column, each in row.wrong.items() if column >= len(columns) or columns[column]), None)
        if sentence:
            yield row.number, Damaged(sentence, texts)
        else:
            yield row.number, cells_of(columns, texts, formula_safe=formula_safe)


def _shown_rows(source: Source, how: Reading, hidden: list[range]) -> Iterator[_Row]:
    """Yield the rows that are not blank; raises `FileError`. Add the columns, from 0, that are hidden to `hidden`."""
    with _readable_workbook(), source.unpacked(how.largest_workbook) as file, tempfile.TemporaryFile() as strings_file:
        package = Package(file, how.largest_workbook)
        reject_other_archive(package.has)
        book = Book(package)
        part = _chosen(book, how.sheet)
        strings, styles = Strings(package, book, strings_file), Styles(package, book)
        row = _Row(0, hidden=False)
        for element in package.elements(part, "col", "row", "c"):
            if element.name == "c":
                _add(row, element, strings, styles)
            elif element.name == "row":
                if row.texts:
                    yield row
                row = _row_after(row, element)
            elif is_true(element, "hidden"):
                if len(hidden) >= MOST_COLUMNS:
                    raise FileError(TOO_LARGE)
                hidden.append(range(whole(element.attributes["min"]) - 1, whole(element.attributes["max"])))
        if row.texts:
            yield row


@contextmanager
def _readable_workbook() -> Iterator[None]:
    """Turn what a damaged workbook makes zipfile, expat and the code below raise into a `FileError`."""
    try:
        yield
    except (*DAMAGED, EOFError, RuntimeError):  # the last for what is encrypted, or compressed in another way
        message = "The workbook cannot be read. Save it again as .xlsx, or as CSV."
        raise FileError(message) from None


def _chosen(book: Book, sheet: str | None) -> str:
    """Return the part that is the sheet to read."""
    names = list(book.sheets)
    if not names:
        message = "The workbook has no sheet."
        raise FileError(message)
    part, is_hidden = book.sheets.get(names[0] if sheet is None else sheet, ("", False))
    if part and not (sheet is None and is_hidden):
        return part
    message = "The first sheet of the workbook is hidden. Choose a sheet by its name."
    if sheet is not None:
        message = f"The workbook has no sheet {named([sheet])}."
    message = f"{message} Sheets: {named(names)}."
    raise FileError(message)


def _row_after(row: _Row, element: Element) -> _Row:
    number = whole(element.attributes.get("r", str(row.number + 1)))
    if number <= row.number:
        raise ValueError
    if number > MOST_ROWS:
        message = f"The sheet has more than {MOST_ROWS:,} rows."
        raise FileError(message)
    return _Row(number, is_true(element, "hidden"))


def _add(row: _Row, cell: Element, strings: Strings, styles: Styles) -> None:
    """Add the text that a cell shows."""
    place = cell.attributes.get("r")
    column = row.columns if place is None else column_of(place.rstrip("0123456789"))
    if not row.columns <= column < MOST_COLUMNS:
        raise ValueError
    row.columns = column + 1
    style = whole(given) if (given := cell.attributes.get("s")) else 0
    text, message = cell.text, ""
    try:
        text = _text(cell, style, strings, styles)
    except UnknownTextError as error:
        message = str(error)
    except (ValueError, LookupError):
        message = NO_VALUE.format(stored=quoted(cell.text))
    if message:
        row.wrong[column] = f"Cell {letters_of(column)}{row.number} {message}"
    if text or message:
        row.texts.extend([""] * (column - len(row.texts)))
        row.texts.append(text)
        row.length += len(text)
        if row.length > LONGEST_ROW:
            raise FileError(TOO_LARGE)


NO_RESULT = "holds a formula without a result. Open the workbook in a spreadsheet program and save it."
TYPE_AGAIN = "Type the text again with a ' in front: formatting the cell as text doesn't bring it back."
NO_TEXT = {
    "b": f"holds TRUE or FALSE, not text. {TYPE_AGAIN}",
    "d": f"holds a date, not text. {TYPE_AGAIN}",
    "e": "holds the error {stored}. Correct its formula, or type what the cell should say with a ' in front.",
}
"""What is shown for these depends on the language or the region."""

NO_VALUE = "has no valid value ({stored}). Type what the cell should say with a ' in front."
NO_TYPE = "has no valid type ({kind}). Type what the cell should say with a ' in front."
TYPES = {"n", "s", "str", "inlineStr"}  # of a number and of text


def _text(cell: Element, style: int, strings: Strings, styles: Styles) -> str:
    """Return the text that a cell shows; raises `UnknownTextError` with the reason, and what a damaged cell raises."""
    kind, stored, has_value = cell.attributes.get("t", "n"), cell.text, "v" in cell.inside
    if "f" in cell.inside and not stored and not (kind == "str" and has_value):
        raise UnknownTextError(NO_RESULT)
    if not stored:
        if has_value and kind not in {"str", "inlineStr"}:
            raise ValueError
        return ""
    if kind in NO_TEXT:
        message = NO_TEXT[kind].format(stored=printable(stored))
        raise UnknownTextError(message)
    if kind not in TYPES:
        raise UnknownTextError(NO_TYPE.format(kind=quoted(kind)))
    number_format = styles.format(style)
    try:
        if kind == "n":
            return number_format.number(numeral(stored))
        return number_format.text(unescape(strings[whole(stored)] if kind == "s" else stored))
    except (UnknownTextError, ArithmeticError):  # the format can have more places than a number
        message = (
            f"holds a number or a date whose format ({number_format.code}) looks different elsewhere. {TYPE_AGAIN}"
        )
        raise UnknownTextError(message) from None


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
