"""Counts the errors of an import and keeps the rejected rows in a file that you can fix and import."""

import csv
import hashlib
import io
import json
import os
from bisect import insort
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple, Self

from pets.columns import HEADERS
from pets.files import WholeFile
from pets.importing.errors import ImportRejectedError, RowError, printable
from pets.importing.new_file import IN_THE_WAY, absolute, reject_unusable, sentences
from pets.importing.readers.header import REMARKS, plain
from pets.importing.readers.rows import Cells, Damaged, Table
from pets.importing.source import Source
from pets.models import ImportRun
from pets.spreadsheets import guarded

SHOWN = 100
"""Errors that are kept in memory to be shown; the file of rejects holds all."""

LARGEST_EXPONENT = 300


MOST_WAITING = 8 * 1024 * 1024
"""Characters of rows that wait to be written in the order of lines."""


class Rejected(NamedTuple):
    """A rejected row: where it is, what is wrong, and what the file says."""

    line: int
    errors: Sequence[RowError]
    cells: Mapping[str, str] | None
    """As they can be printed in one line, by the header of the column; None if the row cannot be taken apart."""


class Rejects:
    """The rejected rows: how many, the first of them, and all of them in a file if one is asked for.

    `publish` gives the file its name. It is removed again when the `with` block ends, unless `keep` was called.
    """

    def __init__(  # noqa: PLR0913 - what a caller of an import decides
        self,
        table: Table,
        path: Path | None,
        source: Source,
        *,
        at_most: int | None,
        shown: int,
        formula_safe: bool,
        in_order: bool = False,
    ) -> None:
        """Prepare for rows of `table`; raises `ImportRejectedError` if no file can be written at `path`.

        A file that is still as an earlier dry run wrote it is replaced. `in_order`: the file has the rows in the order
        of lines, though some errors are found last, unless they are too large to wait.
        """
        self.count = 0
        self.rows: list[Rejected] = []
        """The first of them, in the order of lines."""
        self.path: Path | None = None
        """The file, once there is something in it."""
        self.sha256 = ""
        """Of the published file, in hexadecimal."""
        self._wanted = path and absolute(path)
        self._table = table
        self._at_most = at_most
        self._shown = shown
        self._formula_safe = formula_safe
        self._waiting: list[tuple[Sequence[RowError], Cells | Damaged]] | None = [] if in_order else None
        self._waiting_size = 0
        self._file: _RejectsFile | None = None
        self.kept = False
        """Whether the published file stays."""
        if self._wanted is not None:
            reject_unusable(self._wanted, source)
            _reject_what_is_in_the_way(self._wanted)

    def add(self, errors: Sequence[RowError], cells: Cells | Damaged) -> None:
        """Count one rejected row; raises `ImportRejectedError` if there are more than are allowed."""
        self.count += 1
        insort(self.rows, Rejected(errors[0].line, errors, _printable(cells)), key=lambda row: row.line)
        del self.rows[self._shown :]
        if self._file is None and self._wanted is not None:
            self._file = _RejectsFile(self._wanted, self._table, formula_safe=self._formula_safe)
            self.path = self._wanted
        if self._file is not None:
            self._write(self._file, errors, cells)
        if self._at_most is not None and self.count > self._at_most:
            self.publish()
            self.keep()
            message = f"More than {self._at_most:,} rows have errors."
            raise ImportRejectedError(message)

    def publish(self) -> None:
        """Give the file its name, complete and on the disk; raises `ImportRejectedError` if that cannot be done."""
        if self._file is not None:
            self._write_waiting(self._file)
            self.sha256 = self._file.publish()

    def _write(self, file: "_RejectsFile", errors: Sequence[RowError], cells: Cells | Damaged) -> None:
        if self._waiting is None:
            file.add(errors, cells)
            return
        self._waiting.append((errors, cells))
        self._waiting_size += sum(
            len(str(cell)) for cell in (cells.cells if isinstance(cells, Damaged) else cells.values())
        )
        if self._waiting_size > MOST_WAITING:
            self._write_waiting(file)

    def _write_waiting(self, file: "_RejectsFile") -> None:
        for errors, cells in sorted(self._waiting or (), key=lambda row: row[0][0].line):
            file.add(errors, cells)
        self._waiting = None

    @property
    def errors(self) -> list[RowError]:
        """The first errors, in the order of lines."""
        return [error for row in self.rows for error in row.errors][: self._shown]

    def keep(self) -> None:
        """Let the published file stay."""
        self.kept = True

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Close the file, and remove it unless it is kept; nothing here can fail."""
        if self._file is not None:
            self._file.close(keep=self.kept)


class _RejectsFile:
    """CSV with the columns and delimiter of the import behind `_line`, `_code` and `_message`, or JSON lines.

    The remarks are in front, so that a row with too many cells can still be fixed.
    """

    def __init__(self, path: Path, table: Table, *, formula_safe: bool) -> None:
        self._path = path
        self._header = table.header
        self._titles = table.titles
        self._formula_safe = formula_safe
        with sentences(path):
            self._whole = WholeFile(path, replace=path.exists())
        self._file = io.TextIOWrapper(
            self._whole.file, encoding=_encoding(table), errors="backslashreplace", newline=""
        )
        # csv quotes a cell with a carriage return only if its own line ends have one.
        self._csv = csv.writer(self._file, delimiter=table.delimiter, lineterminator="\r\n")
        if self._header is not None:
            self._csv.writerow(
                [*REMARKS, *(self._titles.get(column, column) for column in self._header if _kept(column))]
            )

    def add(self, errors: Sequence[RowError], cells: Cells | Damaged) -> None:
        remarks = (str(errors[0].line), errors[0].code, " ".join(error.sentence for error in errors))
        with sentences(self._path):
            if self._header is None:
                self._file.write(f"{_json(remarks, cells, self._titles)}\n")
            else:
                self._csv.writerow([*remarks, *self._texts(self._header, cells)])

    def publish(self) -> str:
        """Give the file its name and return its digest."""
        with sentences(self._path):
            self._file.flush()
            digest = _sha256(os.dup(self._whole.file.fileno()))
            if not self._whole.published:
                _reject_what_is_in_the_way(self._path)  # someone may have written it since
            self._whole.publish()
        return digest

    def close(self, *, keep: bool) -> None:
        if not keep:
            self._whole.withdraw()
        self._whole.close()

    def _texts(self, header: Sequence[str], cells: Cells | Damaged) -> Iterable[str]:
        if isinstance(cells, Damaged):
            if cells.unread:
                return cells.cells
            columns = [*header, *["more"] * len(cells.cells)]
            return [str(cell) for column, cell in zip(columns, cells.cells, strict=False) if _kept(column)]
        texts = [str(cells.get(column, "")) for column in header if _kept(column)]
        return [guarded(text) for text in texts] if self._formula_safe else texts


def _printable(cells: Cells | Damaged) -> Mapping[str, str] | None:
    if isinstance(cells, Damaged):
        return None
    return {header: printable(str(cells[header])) for header in HEADERS if header in cells}


def _reject_what_is_in_the_way(path: Path) -> None:
    """Raise `ImportRejectedError` if there is a file, unless it is just as an earlier dry run wrote it."""
    if path.exists() and not _is_of_dry_run(path):
        raise ImportRejectedError(IN_THE_WAY.format(path=path))


def _is_of_dry_run(path: Path) -> bool:
    """Return whether a dry run was the last to write the file, and nobody has changed it since."""
    last = ImportRun.objects.filter(rejects=str(path)).first()
    try:
        return last is not None and last.options["dry_run"] and _sha256(path) == last.rejects_sha256
    except OSError:
        return False


def _sha256(file: Path | int) -> str:
    with open(file, "rb") as content:  # noqa: PTH123 - also of a descriptor
        content.seek(0)
        return hashlib.file_digest(content, "sha256").hexdigest()


def _encoding(table: Table) -> str:
    """Return UTF-8, with the mark by which Excel knows it, and an import with the same options if they name another."""
    return "utf-8" if table.header is None and table.encoding.startswith("utf-8") else "utf-8-sig"


def _kept(column: str) -> bool:
    """Return whether a column of the file is one of its rejects: neither ignored nor a remark of an earlier import."""
    return column != "" and column not in REMARKS


def _json(remarks: Sequence[str], cells: Cells | Damaged, titles: Mapping[str, str]) -> str:
    if isinstance(cells, Damaged):
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
