"""XLSX: one sheet of a workbook, its cells as a spreadsheet shows them."""

import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import NamedTuple
from xml.parsers.expat import ExpatError

from pets.columns import HEADERS
from pets.importing.errors import FileError, printable, quoted
from pets.importing.no_table import reject_other_archive
from pets.importing.readers.header import cells_of, columns_of, named
from pets.importing.readers.number_formats import UnknownTextError
from pets.importing.readers.package import TOO_LARGE, Package, numeral, whole
from pets.importing.readers.rows import AHEAD, Damaged, FirstRows, Hidden, Reading, Row, Table
from pets.importing.readers.workbook_parts import LONGEST_ROW, Book, Cell, Rows, SheetRow, Strings, Styles, letters_of
from pets.importing.source import Source
from pets.spreadsheets import unescape


class _Seen(NamedTuple):
    """A row that is not blank."""

    number: int
    hidden: bool
    texts: list[str]
    wrong: dict[int, str]
    """What is wrong with the cell of a column, if its text cannot be known."""


def read_workbook(source: Source, how: Reading) -> Table:
    """Read the sheet of this name, or the first one."""
    sheet = Rows()
    rows = _seen_rows(source, how, sheet)
    header = next((row for row in rows if row.number >= how.header_row), None)
    if header is None:
        message = "The sheet is empty."
        raise FileError(message)
    for sentence in header.wrong.values():
        raise FileError(sentence)
    columns = columns_of(header.texts, how)
    hidden = Hidden(columns=sum(column in HEADERS and sheet.hides(at) for at, column in enumerate(columns)))
    return Table(_rows(rows, columns, hidden, formula_safe=how.formula_safe), columns, hidden=hidden)


def first_sheet_rows(source: Source, how: Reading) -> FirstRows:
    """Return the first rows of the sheet."""
    rows = islice(_seen_rows(source, how, Rows()), AHEAD)
    return FirstRows([(row.number, row.texts) for row in rows], None)


def _rows(rows: Iterator[_Seen], columns: Sequence[str], hidden: Hidden, *, formula_safe: bool) -> Iterator[Row]:
    for number, is_hidden, shown, wrong in rows:
        hidden.rows += is_hidden
        texts = shown + [""] * (len(columns) - len(shown))
        sentence = next((each for column, each in wrong.items() if column >= len(columns) or columns[column]), None)
        if sentence:
            yield number, Damaged(sentence, texts)
        else:
            yield number, cells_of(columns, texts, formula_safe=formula_safe)


def _seen_rows(source: Source, how: Reading, sheet: Rows) -> Iterator[_Seen]:
    """Yield the rows that are not blank; raises `FileError`."""
    with _readable_workbook(), source.unpacked(how.largest_workbook) as file, tempfile.TemporaryFile() as strings_file:
        package = Package(file, how.largest_workbook)
        reject_other_archive(package.has)
        book = Book(package)
        part = _chosen(book, how.sheet)
        strings, styles = Strings(strings_file), Styles(from_1904=book.from_1904)
        for kind, target in (("sharedStrings", strings), ("styles", styles)):
            if (name := book.relations.first(kind)) is not None:
                package.read(name, target)
        strings_file.flush()
        for _ in package.parse(part, sheet):
            for stored in sheet.take():
                row = _seen(stored, strings, styles)
                if any(row.texts) or row.wrong:
                    yield row


@contextmanager
def _readable_workbook() -> Iterator[None]:
    """Turn what a damaged workbook makes zipfile, expat and the code below raise into a `FileError`."""
    try:
        yield
    except (
        zipfile.BadZipFile,
        zlib.error,
        ExpatError,
        LookupError,
        ValueError,
        ArithmeticError,
        struct.error,
        OSError,
        EOFError,
        RuntimeError,  # zipfile's for what is encrypted, or compressed in a way it does not know
    ):
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


def _seen(row: SheetRow, strings: Strings, styles: Styles) -> _Seen:
    """Return the texts that the cells of a row show."""
    number, cells, hidden = row
    texts = [""] * (cells[-1].column + 1 if cells else 0)
    wrong: dict[int, str] = {}
    length = 0
    for cell in cells:
        text, message = cell.stored, ""
        try:
            text = _text(cell, strings, styles)
        except UnknownTextError as error:
            message = str(error)
        except (ValueError, LookupError):
            message = NO_VALUE.format(stored=quoted(cell.stored))
        if message:
            wrong[cell.column] = f"Cell {letters_of(cell.column)}{number} {message}"
        texts[cell.column] = text
        length += len(text)
        if length > LONGEST_ROW:
            raise FileError(TOO_LARGE)
    while texts and not texts[-1] and len(texts) - 1 not in wrong:
        texts.pop()
    return _Seen(number, hidden, texts, wrong)


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
TYPES = {"n", "s", "str", "inlineStr"}
"""Of a number and of text."""


def _text(cell: Cell, strings: Strings, styles: Styles) -> str:
    """Return the text that a cell shows; raises `UnknownTextError` with the reason, and what a damaged cell raises."""
    if cell.computed and not cell.stored and not (cell.kind == "str" and cell.has_value):
        raise UnknownTextError(NO_RESULT)
    if not cell.stored:
        if cell.has_value and cell.kind not in {"str", "inlineStr"}:
            raise ValueError
        return ""
    if cell.kind in NO_TEXT:
        message = NO_TEXT[cell.kind].format(stored=printable(cell.stored))
        raise UnknownTextError(message)
    if cell.kind not in TYPES:
        raise UnknownTextError(NO_TYPE.format(kind=quoted(cell.kind)))
    number_format = styles.format(cell.style)
    try:
        if cell.kind == "n":
            return number_format.number(numeral(cell.stored))
        stored = strings[whole(cell.stored)] if cell.kind == "s" else cell.stored
        return number_format.text(unescape(stored))
    except (UnknownTextError, ArithmeticError):  # the format can have more places than a number
        message = (
            f"holds a number or a date whose format ({number_format.code}) looks different elsewhere. {TYPE_AGAIN}"
        )
        raise UnknownTextError(message) from None
