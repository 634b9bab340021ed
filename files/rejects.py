"""Counts the errors of an import and keeps the rejected rows in a file that you can fix and import."""

import csv
import io
import json
from bisect import insort
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

from files.errors import ImportRejectedError, RowError, printable
from files.new_file import FileInTheWayError, WholeFile
from files.readers.header import LONGEST_WORD, REMARKS, WORDS, plain
from files.readers.rows import Cells, DamagedRow, Table
from files.spreadsheets import guarded
from pets.columns import HEADERS

SHOWN = 100  # errors that are kept in memory to be shown; the file of rejects holds all
MOST_FOREIGN = 1_000  # values that are counted
LARGEST_EXPONENT = 300


class Reject(NamedTuple):
    """A rejected row: where it is, what is wrong, and what the file says."""

    line: int
    errors: Sequence[RowError]
    cells: Mapping[str, str] | None  # printable, by header; None if the row cannot be taken apart


class Rejects:
    """The rejected rows: how many, the first of them, and all of them in a file if one is asked for."""

    def __init__(self, file: "RejectsFile | None", *, at_most: int | None, shown: int) -> None:
        self.count = 0
        self.rows: list[Reject] = []  # the first of them, in the order of lines
        self.foreign: Counter[tuple[str, str]] = Counter()
        """Values that are none of ours, by the header of their column: the first ones, with how many rows have them."""
        self.file = file
        self._stays = False
        self._at_most = at_most
        self._shown = shown

    def add(self, errors: Sequence[RowError], cells: Cells | DamagedRow) -> None:
        """Count one rejected row; raises `ImportRejectedError` if there are more than are allowed."""
        self.count += 1
        shown = None
        if not isinstance(cells, DamagedRow):
            shown = {header: printable(str(cells[header])) for header in HEADERS if header in cells}
            for header in (error.field for error in errors if error.field in WORDS):
                text = cells.get(header)
                if not isinstance(text, str) or len(text) > LONGEST_WORD:
                    continue
                if (header, text) in self.foreign or len(self.foreign) < MOST_FOREIGN:
                    self.foreign[header, text] += 1
        insort(self.rows, Reject(errors[0].line, errors, shown), key=lambda row: row.line)
        del self.rows[self._shown :]
        if self.file is not None:
            self.file.add(errors, cells)
        if self._at_most is not None and self.count > self._at_most:
            self.publish(stays=True)
            message = f"More than {self._at_most:,} rows have errors."
            raise ImportRejectedError(message)

    def publish(self, *, stays: bool) -> None:
        """Give the file its name; `stays`: even if nothing is imported. Raises `ImportRejectedError`."""
        if self.file is not None and self.count:
            self.file.publish()
            self._stays = stays

    def withdraw(self) -> None:
        """Remove the file if nothing was imported for another reason, so that the same command can be tried again."""
        if self.file is not None and not self._stays:
            self.file.whole.withdraw()


class RejectsFile:
    """CSV with the columns and delimiter of the import behind `_line`, `_code` and `_message`, or JSON lines.

    The remarks are in front, so that a row with too many cells can still be fixed.
    """

    def __init__(self, path: Path, table: Table, *, formula_safe: bool) -> None:
        """Raise `ImportRejectedError`, before any row is read, if no file can be written there."""
        self.path, self._table, self._formula_safe = path, table, formula_safe
        # The mark is for Excel, and for an import with the same options, if they name another encoding.
        encoding = "utf-8" if table.header is None and table.encoding.startswith("utf-8") else "utf-8-sig"
        with self._sentences():
            str(path).encode()  # as its name is recorded
            self.path = path.absolute()
            self.whole = WholeFile(self.path, replace=False)
        self._text = io.TextIOWrapper(self.whole.file, encoding=encoding, errors="backslashreplace", newline="")
        # csv quotes a cell with a carriage return only if its own line ends have one.
        self._csv = csv.writer(self._text, delimiter=table.delimiter, lineterminator="\r\n")
        if table.header is not None:
            self._csv.writerow([*REMARKS, *(table.titles.get(each, each) for each in table.header if _kept(each))])

    def add(self, errors: Sequence[RowError], cells: Cells | DamagedRow) -> None:
        table = self._table
        remarks = (str(errors[0].line), errors[0].code, " ".join(error.sentence for error in errors))
        with self._sentences():
            if table.header is not None:
                self._csv.writerow([*remarks, *self._texts(table.header, cells)])
            else:
                self._text.write(f"{_json(remarks, cells, table.titles)}\n")

    def publish(self) -> None:
        with self._sentences():
            self._text.flush()
            self.whole.publish()

    @contextmanager
    def _sentences(self) -> Iterator[None]:
        """Turn what writing it can raise into an `ImportRejectedError`."""
        try:
            yield
        except FileInTheWayError:
            message = f"{self.path} exists already. Choose another name."
            raise ImportRejectedError(message) from None
        except UnicodeEncodeError:
            message = f"The name {printable(str(self.path), 200)} is not UTF-8. Choose another name."
            raise ImportRejectedError(message) from None
        except OSError as error:
            message = f"{printable(str(self.path), 200)} cannot be written: {error.strerror}."
            raise ImportRejectedError(message) from None

    def _texts(self, header: Sequence[str], cells: Cells | DamagedRow) -> Iterable[str]:
        if isinstance(cells, DamagedRow):
            # A row that could not be taken apart is behind all columns, where it stays an error.
            given = [*[""] * len(header), *cells.cells] if cells.unread else cells.cells
            given = [*given, *[""] * (len(header) - len(given))]
            columns = [*header, *["more"] * len(given)]
            return [str(cell) for column, cell in zip(columns, given, strict=False) if _kept(column)]
        texts = [str(cells.get(column, "")) for column in header if _kept(column)]
        return [guarded(text) for text in texts] if self._formula_safe else texts


def _kept(column: str) -> bool:
    """Return whether a column of the file is one of its rejects: neither ignored nor a remark of an earlier import."""
    return column != "" and column not in REMARKS


def _json(remarks: Sequence[str], cells: Cells | DamagedRow, titles: Mapping[str, str]) -> str:
    if isinstance(cells, DamagedRow):
        row = cells.cells[0]
    else:
        row = {titles.get(name, name): value for name, value in cells.items()}
    fields = row if isinstance(row, dict) else {"_row": row}
    written = dict(zip(REMARKS, remarks, strict=True))
    written |= {field: value for field, value in fields.items() if plain(field) not in REMARKS}
    text = json.dumps(written, ensure_ascii=False, default=_number)
    return text if text.isprintable() else json.dumps(written, default=_number)


def _number(value: Decimal) -> int | float | str:
    """Return a number that JSON's writer knows; text if there is none of that size."""
    if value.adjusted() > LARGEST_EXPONENT:
        return str(value)
    return int(value) if value == value.to_integral_value() else float(value)
