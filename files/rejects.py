"""Counts the errors of an import and keeps the rejected rows in a file that you can fix and import."""

import csv
import hashlib
import io
import json
import os
from bisect import insort
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple, Self

from files.errors import ImportRejectedError, RowError, printable
from files.new_file import FileInTheWayError, WholeFile
from files.readers.header import LONGEST_WORD, REMARKS, WORDS, plain
from files.readers.rows import Cells, DamagedRow, Table
from files.source import Source
from files.spreadsheets import guarded
from pets.columns import HEADERS
from pets.models import ImportRun

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
            self.publish(keep=True)
            message = f"More than {self._at_most:,} rows have errors."
            raise ImportRejectedError(message)

    def publish(self, *, keep: bool = False) -> None:
        """Give the file its name; raises `ImportRejectedError` if that cannot be done. `keep`: it stays in any case."""
        if self.file is not None:
            self.file.publish()
            self.file.kept |= keep


IN_THE_WAY = "{path} exists already. Choose another name."
NO_FOLDER = "The working folder no longer exists. Change to another folder."


class RejectsFile:
    """CSV with the columns and delimiter of the import behind `_line`, `_code` and `_message`, or JSON lines.

    The remarks are in front, so that a row with too many cells can still be fixed. It is there once it has a row. One
    that is still as an earlier dry run wrote it is replaced. `publish` gives it its name; it is removed again when the
    `with` block ends, unless it is `kept`.
    """

    def __init__(self, path: Path, source: Source, table: Table, *, formula_safe: bool) -> None:
        """Raise `ImportRejectedError`, before any row is read, if no file can be written there."""
        try:
            self.path = path.absolute()
        except FileNotFoundError:
            raise ImportRejectedError(NO_FOLDER) from None
        self.kept = False
        self.sha256 = ""  # of the published file, in hexadecimal
        self._whole: WholeFile | None = None
        self._formula_safe = formula_safe
        self._table = table
        self._text: io.TextIOWrapper | None = None
        with self._sentences():
            self._reject_unusable(source)
            self._reject_what_is_in_the_way()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        """Close it, and remove it unless it is kept; nothing here can fail."""
        if self._whole is not None:
            if not self.kept:
                self._whole.withdraw()
            self._whole.close()

    def add(self, errors: Sequence[RowError], cells: Cells | DamagedRow) -> None:
        """Add a row; the first one opens the file."""
        table = self._table
        if self._text is None:
            # The mark is for Excel, and for an import with the same options, if they name another encoding.
            encoding = "utf-8" if table.header is None and table.encoding.startswith("utf-8") else "utf-8-sig"
            with self._sentences():
                self._whole = WholeFile(self.path, replace=self.path.exists())
            self._text = io.TextIOWrapper(self._whole.file, encoding=encoding, errors="backslashreplace", newline="")
            # csv quotes a cell with a carriage return only if its own line ends have one.
            self._csv = csv.writer(self._text, delimiter=table.delimiter, lineterminator="\r\n")
            if table.header is not None:
                self._csv.writerow([*REMARKS, *(table.titles.get(each, each) for each in table.header if _kept(each))])
        remarks = (str(errors[0].line), errors[0].code, " ".join(error.sentence for error in errors))
        with self._sentences():
            if table.header is not None:
                self._csv.writerow([*remarks, *self._texts(table.header, cells)])
            else:
                self._text.write(f"{_json(remarks, cells, table.titles)}\n")

    def publish(self) -> None:
        """Give it its name, complete and on the disk; raises `ImportRejectedError` if that cannot be done."""
        if self._text is None or self._whole is None:
            return
        with self._sentences():
            self._text.flush()
            self.sha256 = _sha256(os.dup(self._text.fileno()))
            if not self._whole.published:
                self._reject_what_is_in_the_way()  # someone may have written it since
            self._whole.publish()

    @contextmanager
    def _sentences(self) -> Iterator[None]:
        """Turn what writing it can raise into an `ImportRejectedError`."""
        try:
            yield
        except FileInTheWayError:
            raise ImportRejectedError(IN_THE_WAY.format(path=self.path)) from None
        except OSError as error:
            message = f"{printable(str(self.path), 200)} cannot be written: {error.strerror or error}."
            raise ImportRejectedError(message) from None

    def _reject_unusable(self, source: Source) -> None:
        path = self.path
        try:
            str(path).encode()
        except UnicodeEncodeError:
            message = f"The name {printable(str(path))} is not UTF-8. Choose another name."
            raise ImportRejectedError(message) from None
        if path.is_dir():
            message = f"{path} is a folder. Name a new file in it."
        elif source.is_at(path):
            message = f"{path} is the file that is imported. Choose another name."
        elif path.exists() and not path.is_file():
            message = f"{path} is a device or a pipe. Name a new file."
        elif not path.parent.is_dir():
            message = f"The folder of {path} does not exist."
        else:
            return
        raise ImportRejectedError(message)

    def _reject_what_is_in_the_way(self) -> None:
        if self.path.exists() and not self._may_replace():
            raise ImportRejectedError(IN_THE_WAY.format(path=self.path))

    def _may_replace(self) -> bool:
        """Return whether a dry run was the last to write the file, and nobody has changed it since."""
        last = ImportRun.objects.filter(rejects=str(self.path)).first()
        try:
            return last is not None and last.options["dry_run"] and _sha256(self.path) == last.rejects_sha256
        except OSError:
            return False

    def _texts(self, header: Sequence[str], cells: Cells | DamagedRow) -> Iterable[str]:
        if isinstance(cells, DamagedRow):
            # A row that could not be taken apart is behind all columns, where it stays an error.
            given = [*[""] * len(header), *cells.cells] if cells.unread else cells.cells
            given = [*given, *[""] * (len(header) - len(given))]
            columns = [*header, *["more"] * len(given)]
            return [str(cell) for column, cell in zip(columns, given, strict=False) if _kept(column)]
        texts = [str(cells.get(column, "")) for column in header if _kept(column)]
        return [guarded(text) for text in texts] if self._formula_safe else texts


def _sha256(file: Path | int) -> str:
    with open(file, "rb") as content:  # noqa: PTH123 - also of a descriptor
        content.seek(0)
        return hashlib.file_digest(content, "sha256").hexdigest()


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
