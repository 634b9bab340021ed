"""CSV (RFC 4180) and its relatives with another delimiter."""

import csv
from collections.abc import Iterator, Sequence
from typing import Any

from pets.importing.errors import FileError
from pets.importing.readers.header import KNOWN, cells_of, columns_of
from pets.importing.readers.rows import Damaged, Reading, Row, Table
from pets.importing.source import LONGEST_LINE, Source

DELIMITERS = {",": ",", ";": ";", "tab": "\t"}


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


def read_csv(source: Source, encoding: str, how: Reading) -> Table:
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
    columns = columns_of(header)
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
            yield line, cells_of(columns, row, formula_safe=formula_safe)


def _damaged_record(error: str, line: int, text: str) -> Damaged:
    if "unexpected end" in error or "field limit" in error:
        message = f"A quote that opens in the row of line {line} is never closed."
        raise FileError(message)
    message = 'A quote closes in the middle of a cell; inside a quoted cell it must be doubled ("").'
    return Damaged(message, [text], unread=True)
