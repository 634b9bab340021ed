"""CSV (RFC 4180) and its relatives with another delimiter."""

import csv
import re
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Any

from files.errors import FileError
from files.readers.header import cells_of, columns_of, fewest, names_of_columns, plain
from files.readers.rows import AHEAD, Block, DamagedRow, FirstRows, Reading, Row, Table
from files.source import EMPTY, LONGEST_LINE, PIECE, Source

DELIMITERS = {",": ",", ";": ";", "tab": "\t", "|": "|"}

SEPARATOR = re.compile("sep=([,;|\t]?)", re.IGNORECASE)
"""A first line for Excel, which names the delimiter; the delimiter itself may be gone from it."""

QUOTED = ' "\r\n'
BLANK = QUOTED + "".join(DELIMITERS.values())  # what a line without a cell consists of


class _Lines:
    """Passes lines on to the CSV reader and keeps those of the record being read; or shows all that it read ahead."""

    def __init__(self, blocks: Iterator[list[str]]) -> None:
        self._blocks = blocks
        self._ahead: deque[str] = deque()
        self._text: list[str] = []
        self.size = 0
        self.read = 0  # how many lines were read

    def begin(self) -> int:
        """Forget the record before, and return the line in which the next one begins."""
        self._text.clear()
        self.size = 0
        return self.read + 1

    def skip(self, count: int) -> None:
        """Read so many lines that are no rows; a quote in them means nothing."""
        while self.read < count and self.ahead():
            self._ahead.popleft()
            self.read += 1

    def text(self) -> str:
        """Return the record so far, without its last line end."""
        return "".join(self._text).rstrip("\r\n")

    def ahead(self) -> deque[str]:
        """Return the lines that were read ahead: of the next block if there are none, empty at the end of the file."""
        while not self._ahead and (lines := next(self._blocks, None)) is not None:
            self._ahead.extend(lines)
        return self._ahead

    def pass_ahead(self) -> None:
        """Go behind the lines that were read ahead."""
        self.read += len(self._ahead)
        self._ahead.clear()

    def __iter__(self) -> Iterator[str]:
        """Yield the lines; raises `FileError` if a record takes too many."""
        while self.ahead():
            line = self._ahead.popleft()
            self.read += 1
            self._text.append(line)
            self.size += len(line)
            if self.size > LONGEST_LINE:
                message = (
                    f"The row that begins in line {self.read - len(self._text) + 1} is longer than {LONGEST_LINE:,} "
                    "characters. Is a quote in it never closed?"
                )
                raise FileError(message)
            yield line


def read_csv(source: Source, encoding: str, how: Reading) -> Table:
    """Find the delimiter by the header and read on."""
    how = replace(how, delimiter=first_csv_rows(source, encoding, how, header_row=how.header_row).delimiter)
    delimiter = DELIMITERS[how.delimiter or ","]
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
    return Table(_csv_rows(reader, lines, columns, width, how), columns, delimiter, encoding)


def first_csv_rows(source: Source, encoding: str, how: Reading, *, header_row: int | None = None) -> FirstRows:
    """Return the first rows, from the header on if its line is given; quotes are taken as they come.

    The delimiter is the one that `sep=` names, or by which that header has most columns that are known; without one,
    which leaves the fewest quotes within cells, and then most cells.
    """
    csv.field_size_limit(LONGEST_LINE)  # by itself csv gives up at 128 KiB
    lines = list(islice(_lines_with_cells(source.lines(encoding), header_row or 1), AHEAD))
    delimiter = how.delimiter
    if lines and (named := SEPARATOR.fullmatch(lines[0][1].strip(QUOTED))):
        del lines[0]
        delimiter = delimiter or next(name for name, each in DELIMITERS.items() if each == (named[1] or ","))
    found = {name: _cells(lines, DELIMITERS[name]) for name in ([delimiter] if delimiter else DELIMITERS)}
    titles = names_of_columns(how).keys()
    text = "".join(line for _, line in lines)

    def worth(name: str) -> tuple[int, int]:
        rows = [cells for _, cells in found[name]]
        if header_row is None:
            return -_quotes_within(text, DELIMITERS[name]), sum(map(len, rows))
        header = rows[0] if rows else []
        return len(titles & map(plain, header)), len(header)

    best = max(found, key=worth)
    return FirstRows(found[best], best)


def _quotes_within(text: str, delimiter: str) -> int:
    """Return how many quotes neither begin nor end a cell, nor are in a quoted one, which may end behind the text."""
    edge = rf"{re.escape(delimiter)}\r\n"
    inside = r'(?:[^"]|"")*+'
    closed = rf'"{inside}"(?![^{edge}])'
    left_open = rf'"(?=(?:[^"\r\n]|"")*+\r?\n.){inside}\Z'
    return re.sub(rf"(?<![^{edge}])(?:{closed}|{left_open})", "", text).count('"')


def _lines_with_cells(lines: Iterator[str], start: int) -> Iterator[tuple[int, str]]:
    """Yield them with their numbers, before `start` only a `sep=`, until that is more than a piece of the file."""
    size = 0
    for number, line in enumerate(lines, 1):
        if line.strip(BLANK) and (number >= start or SEPARATOR.fullmatch(line.strip(QUOTED))):
            yield number, line
            size += len(line)
            if size > PIECE:
                return


def _cells(lines: Sequence[tuple[int, str]], delimiter: str) -> list[tuple[int, list[str]]]:
    rows, reader, at = [], csv.reader((line for _, line in lines), delimiter=delimiter), 0
    with suppress(csv.Error):
        for row in reader:
            while row and not row[-1].strip():
                row.pop()
            if row:
                rows.append((lines[at][0], row))
            at = reader.line_num
    return rows


def _csv_rows(reader: Any, lines: _Lines, columns: Sequence[str], width: int, how: Reading) -> Iterator[Row | Block]:
    """Yield the rows; `width` is that of the header with blank cells at its end, which they can have too."""
    by_row = 0
    while True:
        if not how.formula_safe and lines.read >= by_row:
            if block := _block(lines, columns, how):
                yield block
                continue
            by_row = lines.read + len(lines.ahead())
        line = lines.begin()
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield line, _damaged_record(str(error), line, lines.text())
            continue
        if len(columns) < len(row) <= width and not any(row[len(columns) :]):
            del row[len(columns) :]
        if any(row):
            yield line, cells_of(columns, row, formula_safe=how.formula_safe)


def _block(lines: _Lines, columns: Sequence[str], how: Reading) -> Block | None:
    """Return the rows of the lines that were read ahead, if each line is a row without a mistake."""
    first, ahead = lines.read + 1, lines.ahead()
    try:
        rows = list(csv.reader(ahead, delimiter=DELIMITERS[how.delimiter or ","], strict=True))
    except csv.Error:  # a row may also go on behind these lines
        return None
    width, lengths = len(columns), {*map(len, rows)}
    if not rows or len(rows) != len(ahead) or not fewest(columns) <= min(lengths) or not all(map(any, rows)):
        return None
    if max(lengths) > width:
        return None
    if lengths != {width}:
        rows = [row + [""] * (width - len(row)) for row in rows]
    lines.pass_ahead()
    one_by_one = ((line, cells_of(columns, row, formula_safe=False)) for line, row in enumerate(rows, first))
    return Block(first, columns, rows, one_by_one)


def _damaged_record(error: str, line: int, text: str) -> DamagedRow:
    if "unexpected end" in error or "field limit" in error:
        message = f"A quote that opens in the row of line {line} is never closed."
        raise FileError(message)
    message = 'A quote closes in the middle of a cell; inside a quoted cell it must be doubled ("").'
    return DamagedRow(message, [text], unread=True)
