"""CSV (RFC 4180) and its relatives with another delimiter."""

import csv
import re
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pets.importing.errors import FileError
from pets.importing.readers.header import cells_of, columns_of, names_of_columns, plain
from pets.importing.readers.rows import AHEAD, Block, Damaged, FirstRows, Reading, Row, Table
from pets.importing.source import EMPTY, LONGEST_LINE, MOST_BLANK, PIECE, TOO_BLANK, Source

DELIMITERS = {",": ",", ";": ";", "tab": "\t", "|": "|"}

SEPARATOR = re.compile("sep=([,;|\t]?)", re.IGNORECASE)
"""A first line for Excel, which names the delimiter; the delimiter itself may be gone from it."""

BLANK = '"\r\n ' + "".join(DELIMITERS.values())
"""What a line without a cell consists of."""


class _Lines:
    """Passes lines on to the CSV reader and keeps those of the record being read; or gives all that it read ahead."""

    def __init__(self, blocks: Iterator[list[str]]) -> None:
        self._blocks = blocks
        self._ahead: deque[str] = deque()
        self._put_back = False
        self._text: list[str] = []
        self.size = 0
        self.read = 0
        """How many lines were read."""
        self._first = 1

    def begin(self) -> int:
        """Forget the record before; return the line in which the next one begins."""
        self._text.clear()
        self.size = 0
        self._first = self.read + 1
        return self._first

    def skip(self, count: int) -> None:
        """Read so many lines that are no rows; a quote in them means nothing."""
        while self.read < count and self._fill():
            self._ahead.popleft()
            self.read += 1

    def text(self) -> str:
        """Return the record so far, without its last line end."""
        return "".join(self._text).rstrip("\r\n")

    def take(self) -> list[str]:
        """Return all lines that were read ahead; none if they were put back."""
        if (self._put_back and self._ahead) or not self._fill():
            return []
        lines = list(self._ahead)
        self._ahead.clear()
        self.read += len(lines)
        return lines

    def put_back(self, lines: list[str]) -> None:
        """Read these lines, which `take` returned, one by one."""
        self._ahead.extend(lines)
        self._put_back = True
        self.read -= len(lines)

    def __iter__(self) -> Iterator[str]:
        """Yield the lines; raises `FileError` if a record takes too many."""
        while self._fill():
            line = self._ahead.popleft()
            self.read += 1
            self._text.append(line)
            self.size += len(line)
            if self.size > LONGEST_LINE:
                message = (
                    f"The row that begins in line {self._first} is longer than {LONGEST_LINE:,} characters. "
                    "Is a quote in it never closed?"
                )
                raise FileError(message)
            yield line

    def _fill(self) -> bool:
        """Read ahead if there is nothing left; False at the end of the file."""
        while not self._ahead:
            lines = next(self._blocks, None)
            if lines is None:
                return False
            self._ahead.extend(lines)
            self._put_back = False
        return True


def read_csv(source: Source, encoding: str, how: Reading) -> Table:
    """Find the delimiter by the header and read on."""
    csv.field_size_limit(LONGEST_LINE)  # by itself csv gives up at 128 KiB
    delimiter = DELIMITERS[how.delimiter] if how.delimiter else _delimiter(source, encoding, how)
    lines = _Lines(source.line_blocks(encoding))
    lines.skip(how.header_row - 1)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    try:
        header = next((row for row in reader if any(map(str.strip, row)) and not SEPARATOR.fullmatch("".join(row))), [])
    except csv.Error:
        message = "The header cannot be read: a quote in it is not closed."
        raise FileError(message) from None
    if not header:
        raise FileError(EMPTY)
    width = len(header)
    while header and not header[-1].strip():
        header.pop()
    columns = columns_of(header, how)
    layout = _Layout(columns, width, delimiter, how.formula_safe)
    return Table(_csv_rows(reader, lines, layout), columns, delimiter, encoding)


@dataclass(frozen=True)
class _Layout:
    """What all rows of a file have in common."""

    columns: Sequence[str]
    width: int
    """Of the header with blank cells at its end, which rows can have too."""
    delimiter: str
    formula_safe: bool


def first_csv_rows(source: Source, encoding: str, how: Reading) -> FirstRows:
    """Return the first rows by the delimiter that gives most cells; quotes are taken as they come."""
    csv.field_size_limit(LONGEST_LINE)
    lines = list(_few(source.lines(encoding)))
    named = SEPARATOR.fullmatch(lines[0].strip(' "\r\n')) if lines else None
    given = how.delimiter or next((name for name, each in DELIMITERS.items() if named and each == named[1]), None)
    found = {name: _cells(lines, DELIMITERS[name]) for name in ([given] if given else DELIMITERS)}
    delimiter = max(found, key=lambda name: sum(len(cells) for _, cells in found[name]))
    return FirstRows([row for row in found[delimiter] if not (named and row[0] == 1)], delimiter)


def _few(lines: Iterator[str]) -> Iterator[str]:
    """Yield the first lines, hardly more than fit into a piece of the file."""
    size = 0
    for line in islice(lines, AHEAD):
        yield line
        size += len(line)
        if size > PIECE:
            return


def _cells(lines: Sequence[str], delimiter: str) -> list[tuple[int, list[str]]]:
    rows, reader, line = [], csv.reader(lines, delimiter=delimiter), 1
    with suppress(csv.Error):
        for row in reader:
            while row and not row[-1].strip():
                row.pop()
            if row:
                rows.append((line, row))
            line = reader.line_num + 1
    return rows


def _delimiter(source: Source, encoding: str, how: Reading) -> str:
    """Return the delimiter that Excel's `sep=` names, or by which the header has most columns that are known."""
    first = _first_with_cells(source.lines(encoding))
    if named := SEPARATOR.fullmatch(first.strip(' "\r\n')):
        return named[1] or ","
    header = _first_with_cells(islice(source.lines(encoding), how.header_row - 1, None))
    titles = set(names_of_columns(how))

    def columns_by(delimiter: str) -> tuple[int, int]:
        cells = [plain(cell.strip(' "\r\n')) for cell in header.split(delimiter)]
        return len(titles.intersection(cells)), len(cells)

    return max(DELIMITERS.values(), key=columns_by)


def _first_with_cells(lines: Iterator[str]) -> str:
    size = 0
    for line in lines:
        size += len(line)
        if line.strip(BLANK):
            return line
        if size > MOST_BLANK:
            break
    return ""


def _csv_rows(reader: Any, lines: _Lines, layout: _Layout) -> Iterator[Row | Block]:
    columns, width = layout.columns, layout.width
    blank = 0
    while True:
        if block := _block(lines, layout):
            blank = 0
            yield block
            continue
        line = lines.begin()
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield line, _damaged_record(str(error), line, lines.text())
            continue
        if len(row) == width > len(columns) and not any(row[len(columns) :]):
            del row[len(columns) :]
        blank = 0 if any(row) else blank + lines.size
        if blank > MOST_BLANK:
            raise FileError(TOO_BLANK.format(number=line))
        if any(row):
            yield line, cells_of(columns, row, formula_safe=layout.formula_safe)


def _block(lines: _Lines, layout: _Layout) -> Block | None:
    """Return the rows of the lines that were read ahead, if each line is a row without a mistake."""
    first = lines.read + 1
    ahead = [] if layout.formula_safe else lines.take()
    try:
        rows = list(csv.reader(ahead, delimiter=layout.delimiter, strict=True))
    except csv.Error:  # a row may also go on behind these lines
        rows = []
    if not rows or len(rows) != len(ahead) or {*map(len, rows)} != {len(layout.columns)} or not all(map(any, rows)):
        lines.put_back(ahead)
        return None
    one_by_one = ((line, cells_of(layout.columns, row, formula_safe=False)) for line, row in enumerate(rows, first))
    return Block(first, layout.columns, rows, one_by_one)


def _damaged_record(error: str, line: int, text: str) -> Damaged:
    if "unexpected end" in error or "field limit" in error:
        message = f"A quote that opens in the row of line {line} is never closed."
        raise FileError(message)
    message = 'A quote closes in the middle of a cell; inside a quoted cell it must be doubled ("").'
    return Damaged(message, [text], unread=True)
