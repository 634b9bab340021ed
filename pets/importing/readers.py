"""Reads rows from each kind of file, one at a time.

Every reader yields `(line, cells)`. `line` is where the row begins, from 1; in a JSON array, which may have no lines,
it is the number of the animal. `cells` maps the name of a column to its value and leaves out what is blank. A row that
cannot be taken apart comes as a `Damaged` in place of its cells. The header is read, and refused, before any row.
"""

import csv
import itertools
import json
import math
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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

KNOWN = {column.lower(): column for column in (*COLUMNS, *REMARKS)}
"""The columns by what they are found by: case does not matter."""

DELIMITERS = {",": ",", ";": ";", "tab": "\t"}
LARGEST_WORKBOOK = 1024 * 1024 * 1024
"""Bytes that a workbook may have when it is unpacked."""

SHARED_STRINGS, LARGEST_SHARED_STRINGS = "xl/sharedStrings.xml", 64 * 1024 * 1024
"""A part that is held in memory, with four times its size."""

MOST_ROWS = 2**20
"""Of a sheet (Microsoft, "Excel specifications and limits")."""

NAMED = 5
"""Unknown columns that a message names."""

JSON_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")

Cells = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Damaged:
    """A row that is no row: what is wrong with it, and its text."""

    message: str
    cells: Sequence[Any]
    code: str = VALIDATION_FAILED
    unread: bool = False
    """`cells` is the text of the whole row."""


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
    kind = how.format or source.format(how.encoding)
    if kind == "xlsx":
        return _workbook(source, formula_safe=how.formula_safe)
    encoding = source.encoding(how.encoding)
    if kind == "json":
        return Table(_json_array(source.blocks(encoding)), place="animal")
    if kind == "jsonl":
        return Table(_json_lines(source.lines(encoding)))
    return _csv(source, encoding, how)


def number(text: str) -> Any:
    """Return the value of a JSON number; what is none comes back as it is, for the rules to refuse."""
    if not JSON_NUMBER.fullmatch(text):
        return text
    return _integer(text) if text.lstrip("-").isdecimal() else _decimal(text)


def _integer(digits: str) -> int | Decimal:
    return int(digits) if len(digits) <= 20 else Decimal(digits)


def _decimal(text: str) -> Decimal | float:
    try:
        return Decimal(text)
    except InvalidOperation:  # its exponent is beyond all bounds; what stands for it is refused everywhere
        return math.inf


# --- Headers ---------------------------------------------------------------------------------------------------------


def _columns(header: Sequence[str]) -> list[str]:
    """Return the header's columns under their own names; raises `FileError` naming every mistake."""
    columns = [KNOWN.get(cell.strip().lower(), "") for cell in header]
    unknown = [cell for cell, column in zip(header, columns, strict=True) if not column]
    mistakes = [f"{_named(unknown)}: no column of an import"] if unknown else []
    mistakes += [f"{column} is there twice" for column in KNOWN.values() if columns.count(column) > 1]
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


def _named(names: Sequence[str]) -> str:
    """Return the first of the names in quotes, as they can be printed."""
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return ", ".join(f'"{_shown(name)}"' for name in names[:NAMED]) + more


def _shown(name: str) -> str:
    printable = "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in name[:40])
    return f"{printable}…" if len(name) > 40 else printable


def _cells(columns: Sequence[str], row: Sequence[str], *, formula_safe: bool) -> Cells | Damaged:
    """Return the cells of one row of text under the names of their columns."""
    if len(row) != len(columns):
        return Damaged(f"The row has {len(row)} cells, the header has {len(columns)}.", row)
    if formula_safe:
        row = [cell.removeprefix("'") for cell in row]
    cells: Cells = dict(zip(columns, row, strict=True))
    if "" in row:
        cells = {column: cell for column, cell in cells.items() if cell}
    if "categoryId" in cells:
        cells["categoryId"] = number(cells["categoryId"])
    return cells


# --- CSV -------------------------------------------------------------------------------------------------------------


class _Record:
    """Passes lines on to the CSV reader and keeps those of the record being read."""

    def __init__(self, lines: Iterator[str]) -> None:
        """Read from `lines`."""
        self._lines = lines
        self._text: list[str] = []
        self._size = 0
        self._line = 1

    def begin(self, line: int) -> None:
        """Forget the record before; the next one begins at `line`."""
        self._text.clear()
        self._size = 0
        self._line = line

    def text(self) -> str:
        """Return the record so far, without its last line end."""
        return "".join(self._text).rstrip("\r\n")

    def __iter__(self) -> Iterator[str]:
        """Yield the lines; raises `FileError` if a record takes too many."""
        for line in self._lines:
            self._text.append(line)
            self._size += len(line)
            if self._size > LONGEST_LINE:
                message = (
                    f"The row that begins in line {self._line} is longer than {LONGEST_LINE:,} characters. "
                    "Is a quote in it never closed?"
                )
                raise FileError(message)
            yield line


def _csv(source: Source, encoding: str, how: Reading) -> Table:
    """Find the delimiter by the header and read on."""
    csv.field_size_limit(LONGEST_LINE)  # by itself csv gives up at 128 KiB
    delimiter = DELIMITERS[how.delimiter] if how.delimiter else _delimiter(source, encoding)
    record = _Record(source.lines(encoding))
    reader = csv.reader(record, delimiter=delimiter, strict=True)
    try:
        header = next(filter(None, reader), [])
    except csv.Error:
        message = "The header cannot be read: a quote in it is not closed."
        raise FileError(message) from None
    columns = _columns(header)
    return Table(_csv_rows(reader, record, columns, formula_safe=how.formula_safe), columns, delimiter)


def _delimiter(source: Source, encoding: str) -> str:
    """Return the delimiter by which the header shows most columns."""
    header = next(source.lines(encoding), "")

    def columns_by(delimiter: str) -> int:
        return len(KNOWN.keys() & {cell.strip(' "\r\n').lower() for cell in header.split(delimiter)})

    return max(DELIMITERS.values(), key=columns_by)


def _csv_rows(reader: Any, record: _Record, columns: Sequence[str], *, formula_safe: bool) -> Iterator[Row]:
    while True:
        line = reader.line_num + 1
        record.begin(line)
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield line, _damaged_record(str(error), line, record.text())
            continue
        if row:  # an empty line is no row
            yield line, _cells(columns, row, formula_safe=formula_safe)


def _damaged_record(error: str, line: int, text: str) -> Damaged:
    if "unexpected end" in error or "field limit" in error:
        message = f"A quote that opens in the row of line {line} is never closed."
        raise FileError(message)
    message = 'A quote closes in the middle of a cell; inside a quoted cell it must be doubled ("").'
    return Damaged(message, [text], unread=True)


# --- JSON ------------------------------------------------------------------------------------------------------------


def _no_constant(constant: str) -> NoReturn:
    raise ValueError(constant)


DECODER = json.JSONDecoder(parse_int=_integer, parse_float=_decimal, parse_constant=_no_constant)
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
        except (ValueError, RecursionError):
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
        return Damaged(f"{_named(unknown)}: no member of an import. Members: {', '.join(COLUMNS)}.", [value])
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
            except (ValueError, RecursionError):
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


@contextmanager
def _readable_workbook() -> Iterator[None]:
    """Turn what openpyxl and what it stands on raise for a damaged workbook into a `FileError`."""
    try:
        yield
    except (
        zipfile.BadZipFile,
        zlib.error,
        InvalidFileException,
        ParseError,
        LookupError,
        ValueError,  # also what defusedxml refuses
        TypeError,
        AttributeError,
        OSError,
        EOFError,
        RuntimeError,  # zipfile's for what is encrypted
    ):
        message = "The workbook cannot be read; save it anew as .xlsx, or as CSV."
        raise FileError(message) from None


def _workbook(source: Source, *, formula_safe: bool) -> Table:
    """Read the first sheet."""
    source.rewind()
    with _readable_workbook():
        _refuse_bomb(source)
        sheet: Any = openpyxl.load_workbook(source.plain, read_only=True, data_only=True).worksheets[0]
        sheet.reset_dimensions()  # what a workbook says of its size may be wrong, and openpyxl would stop there
        rows = sheet.iter_rows()
        header = [str(cell.value or "") for cell in next(rows, ())]
    while header and not header[-1]:
        header.pop()
    if not header:
        message = "The first sheet of the workbook is empty."
        raise FileError(message)
    columns = _columns(header)
    return Table(_workbook_rows(rows, columns, formula_safe=formula_safe), columns)


def _refuse_bomb(source: Source) -> None:
    with zipfile.ZipFile(source.plain) as archive:
        sizes = {part.filename: part.file_size for part in archive.infolist()}
    if sum(sizes.values()) > LARGEST_WORKBOOK or sizes.get(SHARED_STRINGS, 0) > LARGEST_SHARED_STRINGS:
        message = "The workbook is too large; save it as CSV."
        raise FileError(message)


def _workbook_rows(rows: Iterator[Sequence[Any]], columns: Sequence[str], *, formula_safe: bool) -> Iterator[Row]:
    with _readable_workbook():
        for line, row in enumerate(rows, 2):
            if line > MOST_ROWS:
                message = f"The sheet has more than {MOST_ROWS:,} rows."
                raise FileError(message)
            texts = [_text(cell) for cell in row]
            while len(texts) > len(columns) and not texts[-1]:
                texts.pop()
            texts += [""] * (len(columns) - len(texts))
            if any(texts):
                if wrong := [cell.coordinate for cell in row if cell.value is not None and not _is_text(cell)]:
                    message = f"Cell {wrong[0]} holds a date, a truth value or an error. Format it as text."
                    yield line, Damaged(message, texts)
                else:
                    yield line, _cells(columns, texts, formula_safe=formula_safe)


def _is_text(cell: Any) -> bool:
    """Whether the cell is text or a number, which stands for its digits."""
    return cell.data_type in {"s", "str", "inlineStr"} or type(cell.value) in {int, float}


def _text(cell: Any) -> str:
    if cell.value is None:
        return ""
    if isinstance(cell.value, float) and cell.value.is_integer():
        return str(int(cell.value))
    return unescape(cell.value) if isinstance(cell.value, str) else str(cell.value)
