"""Reads rows from each kind of file, one at a time.

Every reader yields `(line, cells)`. `line` is where the row begins, from 1; in a JSON array, which may have no lines,
it is the number of the animal. `cells` maps the name of a column to its value and leaves out what is blank. A row that
cannot be taken apart comes as a `Damaged` in place of its cells. The header is read, and refused, before any row.
"""

import csv
import itertools
import json
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn
from xml.etree.ElementTree import ParseError

import openpyxl
from openpyxl.utils.exceptions import InvalidFileException

from pets.importing.faults import MALFORMED_JSON, VALIDATION_FAILED, FileError
from pets.importing.source import LONGEST_LINE, Source
from pets.spreadsheets import unescape

COLUMNS = ("external_reference", "name", "category", "categoryId", "status")
REMARKS = ("_line", "_code", "_message")
"""What a file of rejects has in front of each row; an import passes over it."""

DELIMITERS = {",": ",", ";": ";", "tab": "\t"}
LARGEST_WORKBOOK = 1024 * 1024 * 1024
"""Bytes that a workbook may have when it is unpacked."""

JSON_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")

Cells = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Damaged:
    """A row that is no row: what is wrong with it, and its text."""

    message: str
    cells: Sequence[Any]
    code: str = VALIDATION_FAILED


Row = tuple[int, Cells | Damaged]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a file is to be read; None is to be found out."""

    format: str | None = None
    encoding: str | None = None
    delimiter: str | None = None
    formula_safe: bool = False


@dataclass(frozen=True)
class Table:
    """An opened table: its rows, and what a file of its rejects needs to look the same."""

    rows: Iterator[Row]
    header: Sequence[str] | None = None
    """The columns in their order; None for JSON, whose rows name them."""
    delimiter: str = ","
    place: str = "line"
    """What the number that comes with a row counts; each row has a number of its own."""


def read(source: Source, how: Reading) -> Table:
    """Return the rows of the file; raises `FileError`, now for the header and later for what cannot be read on."""
    kind = how.format or source.format()
    if kind == "xlsx":
        return _workbook(source, formula_safe=how.formula_safe)
    encoding = how.encoding or source.encoding()
    if kind == "json":
        return Table(_json_array(source.blocks(encoding)), place="animal")
    if kind == "jsonl":
        return Table(_json_lines(source.lines(encoding)))
    return _csv(source, encoding, how)


def number(text: str) -> Any:
    """Return the value of a JSON number; what is none comes back as it is, for the rules to refuse."""
    if not JSON_NUMBER.fullmatch(text):
        return text
    return _integer(text) if text.lstrip("-").isdecimal() else Decimal(text)


def _integer(digits: str) -> int | Decimal:
    return int(digits) if len(digits) <= 20 else Decimal(digits)


# --- Headers ---------------------------------------------------------------------------------------------------------


def _columns(header: Sequence[str]) -> list[str]:
    """Return the header's columns under their own names; raises `FileError` naming every mistake."""
    known = {column.lower(): column for column in (*COLUMNS, *REMARKS)}
    columns = [known.get(cell.strip().lower(), "") for cell in header]
    mistakes = [
        f'"{_shown(cell)}" is no column of an import'
        for cell, column in zip(header, columns, strict=True)
        if not column
    ]
    mistakes += [f"{column} is there twice" for column in known.values() if columns.count(column) > 1]
    if "name" not in columns:
        mistakes.append("name is missing")
    if "category" in columns and "categoryId" in columns:
        mistakes.append("category and categoryId are both there: keep one")
    elif "category" not in columns and "categoryId" not in columns:
        mistakes.append("category (by name) or categoryId (by number) is missing")
    if mistakes:
        message = f"The header cannot be used: {'; '.join(mistakes)}. Columns: {', '.join(COLUMNS)}."
        raise FileError(message)
    return columns


def _shown(cell: str) -> str:
    printable = "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in cell)
    return printable if len(printable) <= 40 else f"{printable[:40]}…"


def _cells(columns: Sequence[str], row: Sequence[str], *, formula_safe: bool) -> Cells | Damaged:
    """Return the cells of one row of text under the names of their columns."""
    if len(row) != len(columns):
        return Damaged(f"The row has {len(row)} cells, the header has {len(columns)}.", row)
    if formula_safe:
        row = [cell.removeprefix("'") for cell in row]
    cells: Cells = {column: cell for column, cell in zip(columns, row, strict=True) if cell}
    if "categoryId" in cells:
        cells["categoryId"] = number(cells["categoryId"])
    return cells


# --- CSV -------------------------------------------------------------------------------------------------------------


class _Record:
    """Passes lines on to the CSV reader and keeps those of the record being read."""

    def __init__(self, lines: Iterator[str]) -> None:
        """Read from `lines`."""
        self._lines = lines
        self.text: list[str] = []

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            self.text.append(line)
            yield line


def _csv(source: Source, encoding: str, how: Reading) -> Table:
    """Find the delimiter by the header and read on."""
    csv.field_size_limit(LONGEST_LINE)  # by itself csv gives up at 128 KiB
    delimiter = DELIMITERS[how.delimiter] if how.delimiter else _delimiter(source, encoding)
    record = _Record(source.lines(encoding))
    reader = csv.reader(record, delimiter=delimiter, strict=True)
    try:
        header = next(reader, [])
    except csv.Error:
        message = "The header cannot be read: a quote in it is not closed."
        raise FileError(message) from None
    columns = _columns(header)
    return Table(_csv_rows(reader, record, columns, formula_safe=how.formula_safe), columns, delimiter)


def _delimiter(source: Source, encoding: str) -> str:
    """Return the delimiter by which the header shows most columns."""
    header = next(source.lines(encoding), "")
    known = {column.lower() for column in (*COLUMNS, *REMARKS)}
    return max(
        DELIMITERS.values(), key=lambda each: len(known & {cell.strip(' "\r\n').lower() for cell in header.split(each)})
    )


def _csv_rows(reader: Any, record: _Record, columns: Sequence[str], *, formula_safe: bool) -> Iterator[Row]:
    while True:
        line = reader.line_num + 1
        record.text.clear()
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield line, _damaged_record(str(error), line, "".join(record.text))
            continue
        if row:  # an empty line is no row
            yield line, _cells(columns, row, formula_safe=formula_safe)


def _damaged_record(error: str, line: int, text: str) -> Damaged:
    if "unexpected end" in error or "field limit" in error:
        message = f"A quote that opens in the row of line {line} is never closed."
        raise FileError(message)
    return Damaged(
        'A quote closes in the middle of a cell; inside a quoted cell it must be doubled ("").', [text.rstrip("\r\n")]
    )


# --- JSON ------------------------------------------------------------------------------------------------------------


def _no_constant(constant: str) -> NoReturn:
    raise ValueError(constant)


DECODER = json.JSONDecoder(parse_int=_integer, parse_float=Decimal, parse_constant=_no_constant)
"""As exact as the API's reader (docs/decisions/0011)."""

BLANKS = re.compile(r"[ \t\r\n]*")
LONGEST_VALUE = 64 * 1024
"""Characters of one animal in a JSON array: what a request's body may have."""


def _json_lines(lines: Iterator[str]) -> Iterator[Row]:
    for line, text in enumerate(lines, 1):
        if not text.strip():
            continue
        try:
            value = DECODER.decode(text)
        except (ValueError, InvalidOperation, RecursionError):
            yield line, Damaged("The line must be one JSON object.", [text.rstrip("\r\n")], MALFORMED_JSON)
            continue
        yield line, _members(value)


def _json_array(blocks: Iterator[str]) -> Iterator[Row]:
    """Yield the elements of one array, holding hardly more than one of them."""
    scanner = _Scanner(blocks)
    scanner.expect("[", "The file must be a JSON array of animals")
    if scanner.peek() != "]":
        for number in itertools.count(1):
            yield number, _members(scanner.value())
            if scanner.peek() != ",":
                break
            scanner.expect(",", "")
    scanner.expect("]", "The array must go on with a comma or end with ]")
    if scanner.peek():
        scanner.fail("Nothing may follow the array")


def _members(value: Any) -> Cells | Damaged:
    if not isinstance(value, dict):
        return Damaged("The row must be a JSON object.", [value])
    if unknown := [member for member in value if member not in COLUMNS and member not in REMARKS]:
        told = ", ".join(f'"{_shown(member)}"' for member in unknown)
        return Damaged(f"{told}: no member of an import. Members: {', '.join(COLUMNS)}.", [value])
    return {member: each for member, each in value.items() if not (member == "external_reference" and each is None)}


class _Scanner:
    """A window on a JSON text."""

    def __init__(self, blocks: Iterator[str]) -> None:
        """Begin in front of the first of `blocks`."""
        self._blocks = blocks
        self._text = ""
        self._at = 0
        self._line = 1

    def peek(self) -> str:
        """Return the next character that is no blank, "" at the end."""
        while True:
            self._step_to(BLANKS.match(self._text, self._at).end())  # type: ignore[union-attr]  # it matches always
            if self._at < len(self._text) or not self._refill():
                return self._text[self._at : self._at + 1]

    def expect(self, character: str, complaint: str) -> None:
        """Step over `character`; raises `FileError`."""
        if self.peek() != character:
            self.fail(complaint)
        self._at += 1

    def value(self) -> Any:
        """Return the next value and step behind it; raises `FileError`."""
        self.peek()
        while True:
            try:
                value, end = DECODER.raw_decode(self._text, self._at)
            except (ValueError, InvalidOperation, RecursionError):
                if len(self._text) - self._at > LONGEST_VALUE or not self._refill():
                    self.fail(f"This is no JSON, or an animal of more than {LONGEST_VALUE:,} characters")
                continue
            if end < len(self._text) or not self._refill():  # a number may go on in the next block
                self._step_to(end)
                return value

    def fail(self, complaint: str) -> NoReturn:
        """Raise `FileError` with the line."""
        message = f"Line {self._line}: {complaint}."
        raise FileError(message)

    def _step_to(self, end: int) -> None:
        self._line += self._text.count("\n", self._at, end)
        self._at = end

    def _refill(self) -> bool:
        """Add a block and forget what lies behind; False at the end of the file."""
        block = next(self._blocks, "")
        self._text = self._text[self._at :] + block
        self._at = 0
        return bool(block)


# --- Workbooks -------------------------------------------------------------------------------------------------------


def _workbook(source: Source, *, formula_safe: bool) -> Table:
    """Read the first sheet; numbers count as the text that is seen."""
    source.rewind()
    try:
        with zipfile.ZipFile(source.plain) as archive:
            if sum(part.file_size for part in archive.infolist()) > LARGEST_WORKBOOK:
                message = "The workbook is too large; save it as CSV."
                raise FileError(message)
        book = openpyxl.load_workbook(source.plain, read_only=True, data_only=True)
        rows = book.worksheets[0].iter_rows(values_only=True)
        header = [_text(cell) for cell in next(rows, ())]
    except (zipfile.BadZipFile, InvalidFileException, KeyError, IndexError, ValueError, ParseError, OSError) as error:
        message = "The workbook cannot be read; save it anew as .xlsx, or as CSV."
        raise FileError(message) from error
    while header and not header[-1]:
        header.pop()
    if not header:
        message = "The first sheet of the workbook is empty."
        raise FileError(message)
    columns = _columns(header)
    return Table(_workbook_rows(rows, columns, formula_safe=formula_safe), columns)


def _workbook_rows(rows: Iterator[Sequence[Any]], columns: Sequence[str], *, formula_safe: bool) -> Iterator[Row]:
    for line, row in enumerate(rows, 2):
        texts = [_text(cell) for cell in row]
        while len(texts) > len(columns) and not texts[-1]:
            texts.pop()
        texts += [""] * (len(columns) - len(texts))
        if any(texts):
            yield line, _cells(columns, texts, formula_safe=formula_safe)


def _text(cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return unescape(cell) if isinstance(cell, str) else str(cell)
