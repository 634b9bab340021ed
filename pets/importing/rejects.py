"""Counts the faults of an import and keeps the refused rows in a file that can be mended and imported again."""

import csv
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from pets.importing.faults import Fault, ImportRefusedError
from pets.importing.readers import REMARKS, Cells, Damaged, Table
from pets.spreadsheets import FORMULA_STARTS

SHOWN = 100
"""Faults that are kept to be told; the file of rejects holds all."""


class TooManyFaultsError(ImportRefusedError):
    """More rows have faults than `--max-errors` allows."""


class Rejects:
    """The refused rows: how many, the first faults, and all of them in a file if one is asked for."""

    def __init__(self, table: Table, path: Path | None, *, at_most: int | None, formula_safe: bool) -> None:
        """Prepare for rows of `table`; raises `ImportRefusedError` if there is a file of that name, or no folder."""
        self.count = 0
        self.faults: list[Fault] = []
        self.path: Path | None = None
        """The file, once there is something in it."""
        self._wanted = path
        self._table = table
        self._at_most = at_most
        self._formula_safe = formula_safe
        self._file: _RejectsFile | None = None
        if path is not None:
            _refuse_unusable(path)

    def add(self, faults: Sequence[Fault], cells: Cells | Damaged) -> None:
        """Count one refused row; raises `TooManyFaultsError`."""
        self.count += 1
        self.faults += faults[: max(0, SHOWN - len(self.faults))]
        if self._file is None and self._wanted is not None:
            self._file = _RejectsFile(self._wanted, self._table, formula_safe=self._formula_safe)
            self.path = self._wanted
        if self._file is not None:
            self._file.add(faults, cells)
        if self._at_most is not None and self.count > self._at_most:
            message = f"More than {self._at_most:,} rows have faults."
            raise TooManyFaultsError(message)

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """Give the file its name; an import that was stopped leaves none."""
        if self._file is not None:
            self._file.end(complete=kind is None or issubclass(kind, ImportRefusedError))


class _RejectsFile:
    """CSV with the columns (and delimiter) of the import behind `_line`, `_code` and `_message`, or JSON lines.

    The remarks stand in front, so that a row with too many cells stays one that can be mended.
    """

    def __init__(self, path: Path, table: Table, *, formula_safe: bool) -> None:
        self._path = path
        self._part = path.with_name(f"{path.name}.part")
        self._header = table.header
        self._formula_safe = formula_safe
        try:
            self._file = self._part.open("w", encoding="utf-8", newline="")
        except OSError as error:
            message = f"{path} cannot be written: {error.strerror}."
            raise ImportRefusedError(message) from None
        self._csv = csv.writer(self._file, delimiter=table.delimiter, lineterminator="\n")
        if self._header is not None:
            self._csv.writerow([*REMARKS, *(column for column in self._header if column not in REMARKS)])

    def add(self, faults: Sequence[Fault], cells: Cells | Damaged) -> None:
        remarks = (str(faults[0].line), faults[0].code, " ".join(fault.sentence for fault in faults))
        if self._header is None:
            self._file.write(f"{_json(remarks, cells)}\n")
        else:
            self._csv.writerow([*remarks, *self._texts(self._header, cells)])

    def end(self, *, complete: bool) -> None:
        self._file.close()
        if complete:
            self._part.rename(self._path)
        else:
            self._part.unlink()

    def _texts(self, header: Sequence[str], cells: Cells | Damaged) -> Iterable[str]:
        if isinstance(cells, Damaged):
            columns = [*header, *[""] * len(cells.cells)]
            return [str(cell) for column, cell in zip(columns, cells.cells, strict=False) if column not in REMARKS]
        texts = [str(cells.get(column, "")) for column in header if column not in REMARKS]
        return [f"'{text}" if self._formula_safe and text.startswith(FORMULA_STARTS) else text for text in texts]


def _json(remarks: Sequence[str], cells: Cells | Damaged) -> str:
    row = cells.cells[0] if isinstance(cells, Damaged) else cells
    members = row if isinstance(row, dict) else {"_row": row}
    told = dict(zip(REMARKS, remarks, strict=True))
    told |= {member: value for member, value in members.items() if member not in REMARKS}
    text = json.dumps(told, ensure_ascii=False, default=str)
    return text if text.isprintable() else json.dumps(told, default=str)


def _refuse_unusable(path: Path) -> None:
    if path.exists():
        message = f"{path} is there already. Look whether its rows are mended, then remove it or name another."
        raise ImportRefusedError(message)
    if not path.parent.is_dir():
        message = f"The folder of {path} does not exist."
        raise ImportRefusedError(message)
