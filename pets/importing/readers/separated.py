"""CSV (RFC 4180) and its relatives with another delimiter."""

import csv
import re
from collections.abc import Iterator, Sequence
from typing import Any

from pets.importing.errors import FileError
from pets.importing.readers.header import KNOWN, cells_of, columns_of
from pets.importing.readers.rows import Damaged, Reading, Row, Table
from pets.importing.source import LONGEST_LINE, TOO_BLANK, Source

DELIMITERS = {",": ",", ";": ";", "tab": "\t"}

SEPARATOR = re.compile("sep=([,;\t]?)", re.IGNORECASE)
"""A first line for Excel, which names the delimiter; the delimiter itself may be gone from it."""

BLANK = '"\r\n ' + "".join(DELIMITERS.values())
"""What a line without a cell consists of."""


class _Record:
    """Passes lines on to the CSV reader and keeps those of the record being read."""

    def __init__(self, lines: Iterator[str]) -> None:
        """Read from `lines`."""
        self._lines = lines
        self._text: list[str] = []
        self.size = 0
        self._line = 1

    def begin(self, line: int) -> None:
        """Forget the record before; the next one begins at `line`."""
        self._text.clear()
        self.size = 0
        self._line = line

    def text(self) -> str:
        """Return the record so far, without its last line end."""
        return "".join(self._text).rstrip("\r\n")

    def __iter__(self) -> Iterator[str]:
        """Yield the lines; raises `FileError` if a record takes too many."""
        for line in self._lines:
            self._text.append(line)
            self.size += len(line)
            if self.size > LONGEST_LINE:
                message = (
                    f"The row that begins in line {self._line} is longer than {LONGEST_LINE:,} characters. "
                    "Is a quote in it never closed?"
                )
                raise FileError(message)
            yield line


def read_csv(source: Source, encoding: str, how: Reading) -> Table:
    """Find the delimiter by the header and read on."""
    csv.field_size_limit(LONGEST_LINE)  # by itself csv gives up at 128 KiB
    delimiter = DELIMITERS[how.delimiter] if how.delimiter else _delimiter(source, encoding, how)
    record = _Record(source.lines(encoding))
    reader = csv.reader(record, delimiter=delimiter, strict=True)
    try:
        header = next((row for row in reader if any(map(str.strip, row)) and not SEPARATOR.fullmatch("".join(row))), [])
    except csv.Error:
        message = "The header cannot be read: a quote in it is not closed."
        raise FileError(message) from None
    width = len(header)
    while header and not header[-1].strip():
        header.pop()
    columns = columns_of(header, how)
    rows = _csv_rows(reader, record, columns, width=width, formula_safe=how.formula_safe)
    return Table(rows, columns, delimiter, encoding)


def _delimiter(source: Source, encoding: str, how: Reading) -> str:
    """Return the delimiter that Excel's `sep=` names, or by which the header has most columns that are known."""
    header = _first_with_cells(source.lines(encoding))
    if named := SEPARATOR.fullmatch(header.strip(' "\r\n')):
        return named[1] or ","

    titles = KNOWN.keys() | {title.strip().lower() for title in how.mapping}

    def columns_by(delimiter: str) -> tuple[int, int]:
        cells = [cell.strip(' "\r\n').lower() for cell in header.split(delimiter)]
        return len(titles.intersection(cells)), len(cells)

    return max(DELIMITERS.values(), key=columns_by)


def _first_with_cells(lines: Iterator[str]) -> str:
    size = 0
    for line in lines:
        size += len(line)
        if line.strip(BLANK):
            return line
        if size > LONGEST_LINE:
            break
    return ""


def _csv_rows(reader: Any, record: _Record, columns: Sequence[str], *, width: int, formula_safe: bool) -> Iterator[Row]:
    """Yield the rows. `width` is that of the header with blank cells at its end, which rows can have too."""
    blank = 0
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
        if len(row) == width > len(columns) and not any(row[len(columns) :]):
            del row[len(columns) :]
        blank = 0 if any(row) else blank + record.size
        if blank > LONGEST_LINE:
            raise FileError(TOO_BLANK.format(number=line))
        if any(row):
            yield line, cells_of(columns, row, formula_safe=formula_safe)


def _damaged_record(error: str, line: int, text: str) -> Damaged:
    if "unexpected end" in error or "field limit" in error:
        message = f"A quote that opens in the row of line {line} is never closed."
        raise FileError(message)
    message = 'A quote closes in the middle of a cell; inside a quoted cell it must be doubled ("").'
    return Damaged(message, [text], unread=True)
