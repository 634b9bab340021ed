"""XLSX: one sheet of a workbook, its cells as a spreadsheet shows them."""

import functools
import re
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import islice
from xml.parsers.expat import ExpatError

from files.errors import FileError, printable, quoted
from files.readers.header import cells_of, columns_of, named
from files.readers.number_formats import UnknownTextError
from files.readers.package import TOO_LARGE, Book, Element, Package, Strings, Styles, numeral, whole
from files.readers.rows import AHEAD, CoveredCells, DamagedRow, FirstRows, Reading, Row, Sheet, Table, covering
from files.source import Source
from files.spreadsheets import unescape
from pets.columns import HEADERS

MOST_ROWS, MOST_COLUMNS = 2**20, 2**14  # of a sheet (Microsoft, "Excel specifications and limits")
MOST_SHEETS = 50  # of a workbook that a person can choose from
LONGEST_ROW = 1024 * 1024  # characters of all cells of a row, each with `OF_CELL` more
DAMAGED = (zipfile.BadZipFile, zlib.error, struct.error, ExpatError, LookupError, ValueError, ArithmeticError, OSError)


MergedCells = Mapping[int, Sequence[CoveredCells]]  # by column, from 0

MOST_WAITING, LARGEST_WAITING, OF_CELL = 4_000, 4 * LONGEST_ROW, 20
"""Rows, and their characters, that are held because an earlier row may come behind them. A cell counts as so many."""

NOT_IN_ORDER = (
    "Row {number} comes more than {most:,} rows, or much text, too late in the workbook. "
    "Open it in a spreadsheet program and save it."
)
TWICE = "is there twice. Type again what it should say."


@dataclass(slots=True)
class _Row:
    """A row as a spreadsheet shows it."""

    number: int
    texts: list[str] = field(default_factory=list)  # without blank ones at the end
    wrong: dict[int, str] | None = None  # by column, why the text of a cell cannot be known
    size: int = 0  # as `LARGEST_WAITING` counts it


class _Rows:
    """The rows that are not blank, in the order of their numbers, in whatever order the workbook has their cells."""

    def __init__(self) -> None:
        self._rows: dict[int, _Row] = {}
        self._numbers: list[int] = []  # a heap
        self._last = _Row(0)
        self._size = self._given = 0

    def add(self, place: tuple[int, int], text: str, wrong: str) -> None:
        """Put a text, or what is wrong with it, into a row; raises `FileError` if that was given already."""
        number, column = place
        row = self._last
        if row.number != number:
            row = self._last = self._rows.get(number) or self._begun(number)
        texts, size = row.texts, OF_CELL + len(text)
        if (blank := column - len(texts)) < 0:
            if texts[column] or column in (row.wrong or ()):
                wrong = TWICE
            texts[column] = text
        else:
            if blank:
                texts.extend([""] * blank)
                size += blank
            texts.append(text)
        if wrong:
            row.wrong = row.wrong or {}
            row.wrong[column] = f"Cell {letters_of(column)}{number} {wrong}"
            size += len(wrong)
        row.size += size
        if row.size > LONGEST_ROW:
            raise FileError(TOO_LARGE)
        self._size += size

    def _begun(self, number: int) -> _Row:
        if number <= self._given:
            raise FileError(NOT_IN_ORDER.format(number=number, most=MOST_WAITING))
        heappush(self._numbers, number)
        row = self._rows[number] = _Row(number)
        return row

    def ready(self, *, all_are: bool = False) -> Iterator[_Row]:
        """Yield the first rows until few enough wait, or none if `all_are` ready."""
        while self._numbers and (all_are or len(self._numbers) > MOST_WAITING or self._size > LARGEST_WAITING):
            self._given = heappop(self._numbers)
            row = self._rows.pop(self._given)
            self._last = _Row(0)  # what comes for this row now is too late
            self._size -= row.size
            yield row


def read_workbook(source: Source, how: Reading) -> Table:
    """Read the sheet of this name, or the first one."""
    rows = _shown_rows(source, how)
    header = next((row for row in rows if row.number >= how.header_row), None)
    try:
        columns = columns_of(_titles(header), how)
    except FileError as error:
        with _opened(source, how) as book:
            names = list(book.sheets)
        if how.sheet is not None or len(names) == 1:
            raise
        raise type(error)(f"{error} {FIRST_SHEET.format(names=named(names))}") from None
    ours = [at for at, column in enumerate(columns) if column in HEADERS]
    merged = _merged(source, how, ours)
    return Table(_rows(rows, columns, merged, how), columns, merged=merged)


def first_sheet_rows(source: Source, how: Reading) -> FirstRows:
    """Return the first rows of the sheet."""
    with _opened(source, how) as book:
        return FirstRows(_first(book, _chosen(book, how.sheet)), None)


def sheets_of(source: Source, how: Reading) -> list[Sheet]:
    """Return the first sheets that have readable rows, hidden ones last; none for a single one that is not hidden."""
    found = []
    with _opened(source, how) as book:
        is_clear = len(book.sheets) == 1 and not any(is_hidden for _, is_hidden in book.sheets.values())
        for name, (part, is_hidden) in islice(book.sheets.items(), 0 if is_clear else MOST_SHEETS):
            with suppress(FileError), _readable_workbook():
                found.append(Sheet(name, is_hidden, _first(book, part)))
    return sorted((sheet for sheet in found if sheet.rows), key=lambda sheet: sheet.is_hidden)


def _first(book: Book, part: str) -> list[tuple[int, list[str]]]:
    return [(row.number, row.texts) for row in islice(_rows_of(book, part), AHEAD)]


def _titles(header: _Row | None) -> list[str]:
    if header is None:
        message = "The sheet is empty."
        raise FileError(message)
    for sentence in (header.wrong or {}).values():
        raise FileError(sentence)
    return header.texts


FIRST_SHEET = "The first of the sheets {names} was read. To read another one, use --sheet."


def _rows(rows: Iterator[_Row], columns: Sequence[str], merged: MergedCells, how: Reading) -> Iterator[Row]:
    last: dict[int, tuple[int, str, str]] = {}  # of a column, the last cell that none covers: its row, text and error
    for row in rows:
        wrong = row.wrong or {}
        texts = row.texts + [""] * (len(columns) - len(row.texts))
        for at, groups in merged.items():
            covered = covering(groups, row.number)
            if covered is None:
                last[at] = row.number, texts[at], wrong.get(at, "")
            elif how.fill_merged and covered.goes_down and last.get(at, (0,))[0] == covered.top - 1:
                _, texts[at], error = last[at]
                wrong |= {at: error} if error else {}
            else:
                cell = f"{letters_of(at)}{row.number}"
                wrong[at] = MERGED.format(cell=cell, column=columns[at], first=covered.cell)
        sentence = next((each for column, each in wrong.items() if column >= len(columns) or columns[column]), None)
        if sentence:
            yield row.number, DamagedRow(sentence, texts)
        else:
            yield row.number, cells_of(columns, texts, formula_safe=how.formula_safe)


MOST_MERGED = 2**16
GROUP = re.compile("([A-Z]{1,3})([0-9]{1,7}):([A-Z]{1,3})([0-9]{1,7})")
MERGED = "Cell {cell} ({column}) is merged with {first}. Unmerge the cells, and type into each what it should say."


def _merged(source: Source, how: Reading, ours: Sequence[int]) -> MergedCells:
    """Return the cells of our columns that others cover.

    A sheet has this behind its rows, so it is read by itself. It is mentioned more than once, so not only at the edge
    of a block.
    """
    found: dict[int, list[CoveredCells]] = {}
    with _opened(source, how) as book:
        part = _chosen(book, how.sheet)
        groups = book.package.elements(part, "mergeCell") if book.package.mentions(part, b"mergeCell") else ()
        for count, group in enumerate(groups):
            if count >= MOST_MERGED:
                raise FileError(TOO_LARGE)
            if corners := GROUP.fullmatch(group.attributes.get("ref", "").upper()):
                left, right = column_of(corners[1]), column_of(corners[3])
                top, bottom = int(corners[2]), int(corners[4])
                for at in ours:
                    if left <= at <= right and (first := top + (at == left)) <= bottom:
                        found.setdefault(at, []).append(CoveredCells(first, bottom, f"{corners[1]}{top}", at == left))
    for covered in found.values():
        covered.sort()
    return found


def _shown_rows(source: Source, how: Reading) -> Iterator[_Row]:
    """Yield the rows that are not blank; raises `FileError`."""
    with _opened(source, how) as book:
        yield from _rows_of(book, _chosen(book, how.sheet))


@contextmanager
def _opened(source: Source, how: Reading) -> Iterator[Book]:
    with _readable_workbook(), tempfile.TemporaryFile() as strings_file:
        yield Book(Package(source.open(), how.largest_workbook), strings_file)


def _rows_of(book: Book, part: str) -> Iterator[_Row]:
    strings, styles = book.strings, book.styles
    rows, number, column = _Rows(), 0, -1
    for element in book.package.elements(part, "row", "c"):
        if element.name == "c":
            row, column = _place(element, number, column)
            if row != number:
                yield from rows.ready()
            text, wrong = _shown(element, strings, styles)
            if text or wrong:
                rows.add((row, column), text, wrong)
        else:
            yield from rows.ready()
            number, column = whole(element.attributes.get("r", str(number + 1))), -1
    yield from rows.ready(all_are=True)


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


def _place(cell: Element, row: int, column: int) -> tuple[int, int]:
    """Return the row, from 1, and the column, from 0, of a cell in or behind these; raises `ValueError`."""
    if place := cell.attributes.get("r"):
        letters = place.rstrip("0123456789")
        row, column = int(place[len(letters) :]), column_of(letters)
    else:
        column += 1
    if row < 1 or column >= MOST_COLUMNS:
        raise ValueError
    if row > MOST_ROWS:
        message = f"The sheet has more than {MOST_ROWS:,} rows."
        raise FileError(message)
    return row, column


def _shown(cell: Element, strings: Strings, styles: Styles) -> tuple[str, str]:
    """Return the text that a cell shows, and why it cannot be known, "" if it can."""
    style = whole(given) if (given := cell.attributes.get("s")) else 0
    try:
        return _text(cell, style, strings, styles), ""
    except UnknownTextError as error:
        return cell.text, str(error)
    except (ValueError, LookupError):
        return cell.text, NO_VALUE.format(stored=quoted(cell.text))


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
    kind, stored = cell.attributes.get("t", "n"), cell.text
    if not stored:
        if "f" in cell.inside and not (kind == "str" and "v" in cell.inside):
            raise UnknownTextError(NO_RESULT)
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
        what = "text" if kind != "n" else "a date, or a number" if number_format.is_date else "a number"
        message = f"holds {what} in a format ({number_format.code}) that looks different elsewhere. {TYPE_AGAIN}"
        raise UnknownTextError(message) from None


@functools.lru_cache(maxsize=MOST_COLUMNS)
def column_of(letters: str) -> int:
    """Return 0 for A, 25 for Z, 26 for AA, in any case; raises `ValueError`."""
    if not re.fullmatch("[A-Za-z]{1,3}", letters):
        raise ValueError
    return functools.reduce(lambda number, letter: number * 26 + ord(letter) - ord("A") + 1, letters.upper(), 0) - 1


def letters_of(column: int) -> str:
    """Return the letters of a column, the reverse of `column_of`."""
    rest, last = divmod(column, 26)
    return (letters_of(rest - 1) if rest else "") + chr(ord("A") + last)
