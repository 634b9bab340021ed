"""The catalogue as a file that `import_pets` reads back."""

import zlib
from codecs import BOM_UTF8
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, BinaryIO

import orjson
from django.db.models import QuerySet

from files.exporting.rows import Output, Progress, Row, Rows, headers, no_progress, rows, write_batches, write_csv
from files.exporting.sheet import write_xlsx
from files.whole import BLOCK
from pets.models import Pet

if TYPE_CHECKING:
    from psycopg.abc import Buffer


class FileFormat(StrEnum):
    """What a file is, and what its name ends in."""

    CSV = "csv"
    JSONL = "jsonl"
    XLSX = "xlsx"


ENDINGS = {f".{file_format}": file_format for file_format in FileFormat} | {".ndjson": FileFormat.JSONL}
"""What the name of a file may end in, `.gz` aside."""


@dataclass(frozen=True, kw_only=True)
class Form:
    """How animals are written down."""

    file_format: FileFormat
    compressed: bool = False
    """With gzip, CSV and JSON lines only: XLSX is compressed by itself."""
    ids: bool = True
    """With the id of each animal, by which an import finds it again."""
    formula_safe: bool = False
    """With a `'` before what a spreadsheet may take for a formula, CSV and XLSX only."""
    marked: bool = False
    """CSV begins with the byte order mark by which spreadsheet programs know UTF-8."""

    def __post_init__(self) -> None:
        """Raise `ValueError` with a sentence if the parts do not go together."""
        if self.compressed and self.file_format is FileFormat.XLSX:
            message = "XLSX is compressed by itself. Leave out gzip."
            raise ValueError(message)
        if self.formula_safe and self.file_format is FileFormat.JSONL:
            message = "JSON lines are not for spreadsheet programs. Leave out --formula-safe and --for-spreadsheets."
            raise ValueError(message)

    def __str__(self) -> str:
        """Return the usual ending of its files, without the first dot."""
        return f"{self.file_format}.gz" if self.compressed else self.file_format.value

    @property
    def is_binary(self) -> bool:
        """Whether it is nothing for a terminal."""
        return self.compressed or self.file_format is FileFormat.XLSX


def form_named(name: str) -> tuple[FileFormat | None, bool]:
    """Return what the name of a file says of its format, and whether it is compressed; letter case does not matter."""
    path = PurePath(name.lower())
    compressed = path.suffix == ".gz"
    return ENDINGS.get(path.with_suffix("").suffix if compressed else path.suffix), compressed


def write_pets(pets: QuerySet[Pet], out: BinaryIO, *, form: Form, progress: Progress = no_progress) -> int:
    """Write the animals, by id, as they are at one moment; return how many.

    Nothing is written into the catalogue and no writer waits. Memory does not grow with the catalogue, and the same
    animals give the same bytes, on either database. Raises `TooManyAnimalsError`, and `OSError` as `out` does.
    """
    write, names = WRITERS[form.file_format], headers(ids=form.ids)
    chosen = rows(pets, ids=form.ids, formula_safe=form.formula_safe)
    target = _Gzip(out) if form.compressed else out
    if form.marked and form.file_format is FileFormat.CSV:
        target.write(BOM_UTF8)
    written = write(chosen, names, target, progress)
    if isinstance(target, _Gzip):
        target.finish()
    return written


class _Gzip:
    """Compresses without a name or a time (RFC 1952).

    `gzip.GzipFile` would finish the file also when an error ends it, and complain once more if `out` is why.
    """

    def __init__(self, out: Output) -> None:
        self._out, self._waiting = out, bytearray()
        self._compressor = zlib.compressobj(level=6, wbits=16 + zlib.MAX_WBITS)  # 16: with the header of gzip

    def write(self, data: "Buffer") -> None:
        self._waiting += data
        if len(self._waiting) >= BLOCK:
            self._out.write(self._compressor.compress(self._waiting))
            self._waiting.clear()

    def finish(self) -> None:
        self._out.write(self._compressor.compress(self._waiting) + self._compressor.flush())


def _write_jsonl(rows: Rows, names: Sequence[str], out: Output, progress: Progress) -> int:
    def encode(batch: list[Row]) -> bytes:
        # OPT_APPEND_NEWLINE would copy each line once more, which takes four times as long.
        return b"".join([orjson.dumps(_fields(names, row)) + b"\n" for row in batch])

    return write_batches(rows, out, encode, progress)


def _fields(names: Sequence[str], row: Row) -> dict[str, Any]:
    fields = dict(zip(names, row, strict=True))
    return {name: value for name, value in fields.items() if value is not None} if None in row else fields


WRITERS: dict[FileFormat, Callable[[Rows, Sequence[str], Any, Progress], int]] = {
    FileFormat.CSV: write_csv,
    FileFormat.JSONL: _write_jsonl,
    FileFormat.XLSX: write_xlsx,
}
