"""The catalogue as a file that `import_pets` reads back.

Animals are rows of text, read by one statement, so of one moment, and never all held at once. In a workbook every cell
is text, as is what someone types into it. openpyxl makes the workbook, and this module its rows: openpyxl would take a
minute for a million of them, keep them in a second temporary file, and call "=1+1" a formula.
"""

from codecs import BOM_UTF8
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from io import BytesIO
from itertools import count
from string import ascii_uppercase
from typing import IO, Any, BinaryIO, NamedTuple, TypeAlias
from xml.sax import saxutils
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import orjson
from django.db import connections, transaction
from django.db.models import QuerySet

from files.spreadsheets import csv_lines, escape, guarded
from pets.columns import CATEGORY, COLUMNS, ID
from pets.models import Pet

BATCH = 5000


class Heading(NamedTuple):
    """A column of a file."""

    title: str
    """On pages."""
    path: str
    """The field, seen from `Pet`."""
    width: int
    """In a workbook, in characters."""


HEADINGS = {
    ID: Heading("ID", "pk", 12),
    **{
        column.header: Heading(column.title, "category__name" if column is CATEGORY else column.header, column.width)
        for column in COLUMNS
    },
    "sold_on": Heading("Day of sale", "sold_on", 12),
    "added_at": Heading("Added", "created_at", 22),
    "changed_at": Heading("Changed", "updated_at", 22),
}
"""All columns that a file can have, by their names in its header. Days and times are of UTC: 2026-11-21T09:30:00Z."""

IMPORTED = (ID, *(column.header for column in COLUMNS))
"""Those that an import takes, which a file has unless others are chosen."""


Row: TypeAlias = tuple[Any, ...]
"""The id, a text, a day, a time, or None, for each column of the file."""
Rows: TypeAlias = QuerySet[Pet, Any]
Counter: TypeAlias = Callable[[int], object]
"""Gets how many more animals are written, every now and then."""


def _write_batches(
    rows: Rows, out: IO[bytes], encode: Callable[[list[Row]], bytes], progress: Counter, *, before: bytes = b""
) -> int:
    """Write `before`, if the database responds, and what `encode` makes of some rows at a time; return how many."""
    # PostgreSQL: a cursor of the server's, which lives in a transaction; behind PgBouncer `iterator()` would do without
    # one and hold every row here. SQLite: a transaction of ours would keep every writer out, a statement does not.
    connection, written = connections[rows.db], 0
    steady = transaction.atomic(rows.db) if connection.vendor == "postgresql" else nullcontext()
    with steady, connection.chunked_cursor() as cursor:
        cursor.execute(*rows.query.sql_with_params())
        out.write(before)
        while batch := cursor.fetchmany(BATCH):
            out.write(encode(batch))
            written += len(batch)
            progress(len(batch))
    return written


def _as_text(batch: list[Row], form: "Form") -> list[Row]:
    """Return rows with days and times as text, and with what a person typed as `form` has it."""
    columns = [*zip(*batch, strict=True)]
    for at, name in enumerate(form.columns):
        text = TEXTS.get(name) or (guarded if form.for_spreadsheets and name != ID else None)
        if text:
            columns[at] = tuple(None if value is None else text(value) for value in columns[at])
    return [*zip(*columns, strict=True)]


def _moment(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"


TEXTS: dict[str, Callable[[Any], str]] = {"sold_on": date.isoformat, "added_at": _moment, "changed_at": _moment}


def _write_csv(rows: Rows, form: "Form", out: IO[bytes], progress: Counter) -> int:
    """Write a header and the rows (RFC 4180 but for its line ends, which are line feeds); return how many rows."""

    def encode(batch: list[Row]) -> bytes:
        return csv_lines(_as_text(batch, form))

    return _write_batches(rows, out, encode, progress, before=csv_lines([form.columns]))


MOST_ANIMALS = 2**20 - 1
"""Rows a sheet can have (Microsoft, "Excel specifications and limits"), less the header."""

SHEET = "xl/worksheets/sheet1.xml"
END_OF_ROWS = b"</sheetData>"
LETTERS = ascii_uppercase[: len(HEADINGS)]
TEXT = 1
"""The style of a cell with the format of text, the first that `_workbook_with_a_header` uses beside the default."""

EPOCH = datetime(1980, 1, 1)  # noqa: DTZ001 - openpyxl takes it for UTC; no entry of an archive can be older


class TooManyAnimalsError(Exception):
    """They do not fit into a sheet."""

    def __str__(self) -> str:
        """Return what to do, for people."""
        return f"A workbook can hold {MOST_ANIMALS:,} animals and 2 GiB of text, and these are more. Use CSV."


def _write_xlsx(rows: Rows, form: "Form", out: BinaryIO, progress: Counter) -> int:
    """Write a workbook with one sheet; return how many animals.

    The same animals give the same bytes, since the workbook's own dates are fixed. Raises `TooManyAnimalsError`.
    """
    if rows[MOST_ANIMALS : MOST_ANIMALS + 1].exists():
        raise TooManyAnimalsError  # before all that fit are written
    parts = _workbook_with_a_header(form.columns)
    before, _, after = parts.pop(SHEET).partition(END_OF_ROWS)
    numbers = count(2)

    def encode(batch: list[Row]) -> bytes:
        return "".join(map(_xml_line, _as_text(batch, form), numbers)).encode()

    with ZipFile(out, "w") as archive:
        for name, content in parts.items():
            archive.writestr(_entry(name), content)
        try:
            with archive.open(_entry(SHEET), "w") as sheet:
                written = _write_batches(rows, sheet, encode, progress, before=before)
                sheet.write(END_OF_ROWS + after)
        except RuntimeError as error:
            if type(error) is not RuntimeError:  # zipfile's own
                raise
            raise TooManyAnimalsError from None  # of 2 GiB: Excel asks to repair what has that extension
    if written > MOST_ANIMALS:  # some were added meanwhile
        raise TooManyAnimalsError
    return written


def _workbook_with_a_header(names: Sequence[str]) -> dict[str, bytes]:
    """Return the parts of a workbook, by name."""
    from openpyxl import Workbook  # noqa: PLC0415 - it takes longer to load than a small export
    from openpyxl.styles import numbers  # noqa: PLC0415
    from openpyxl.writer.excel import ExcelWriter  # noqa: PLC0415

    workbook = Workbook(write_only=True)
    workbook.properties.created = workbook.properties.modified = EPOCH
    sheet: Any = workbook.create_sheet("Animals")  # the stubs know too little of it
    sheet.freeze_panes = "A2"
    for letter, name in zip(LETTERS, names, strict=False):
        column = sheet.column_dimensions[letter]
        column.width, column.number_format = HEADINGS[name].width, numbers.FORMAT_TEXT
    sheet.append(names)
    with ZipFile(BytesIO(), "w") as archive:
        ExcelWriter(workbook, archive).write_data()  # `Workbook.save` would write the time of day
        return {name: archive.read(name) for name in archive.namelist()}


def _entry(name: str) -> ZipInfo:
    entry = ZipInfo(name)  # of 1980
    entry.compress_type = ZIP_DEFLATED
    return entry


def _xml_line(row: Row, number: int) -> str:
    cells = [
        f'<c r="{letter}{number}" s="{TEXT}" t="inlineStr"><is><t xml:space="preserve">'
        f"{saxutils.escape(escape(str(text)))}</t></is></c>"
        for letter, text in zip(LETTERS, row, strict=False)
        if text is not None
    ]
    return f'<row r="{number}">{"".join(cells)}</row>'


class FileFormat(StrEnum):
    """What a file is, and what its name ends in."""

    CSV = "csv"
    JSONL = "jsonl"
    XLSX = "xlsx"


@dataclass(frozen=True, kw_only=True)
class Form:
    """How animals are written down."""

    file_format: FileFormat
    columns: tuple[str, ...] = IMPORTED
    """Names of `HEADINGS`, in the order of the file. An import finds an animal again by its id or its reference."""
    for_spreadsheets: bool = False
    """With a `'` before what they may take for a formula, and with the byte order mark by which they know UTF-8."""

    def __post_init__(self) -> None:
        """Raise `ValueError` with a sentence if the parts do not go together."""
        if self.for_spreadsheets and self.file_format is FileFormat.JSONL:
            message = "JSON lines are not for spreadsheet programs. Leave out --for-spreadsheets."
            raise ValueError(message)
        if not HEADINGS.keys() >= {*self.columns} or len({*self.columns}) < len(self.columns) or not self.columns:
            message = f"Choose each column once. A file can have {', '.join(HEADINGS)}."
            raise ValueError(message)


def write_pets(pets: QuerySet[Pet], out: BinaryIO, *, form: Form, progress: Counter = lambda _more: None) -> int:
    """Write the animals, by id, as they are at one moment; return how many.

    Nothing is written into the catalogue and no writer waits. Memory does not grow with the catalogue, and the same
    animals give the same bytes, on either database. Raises `TooManyAnimalsError`, and `OSError` as `out` does.
    """
    rows = pets.order_by("pk").values_list(*(HEADINGS[name].path for name in form.columns))
    if form.for_spreadsheets and form.file_format is FileFormat.CSV:
        out.write(BOM_UTF8)
    return WRITERS[form.file_format](rows, form, out, progress)


def _write_jsonl(rows: Rows, form: Form, out: IO[bytes], progress: Counter) -> int:
    def encode(batch: list[Row]) -> bytes:
        animals = (zip(form.columns, row, strict=True) for row in _as_text(batch, form))
        # OPT_APPEND_NEWLINE would copy each line once more, which takes four times as long.
        return b"".join(
            orjson.dumps({name: value for name, value in animal if value is not None}) + b"\n" for animal in animals
        )

    return _write_batches(rows, out, encode, progress)


WRITERS: dict[FileFormat, Callable[[Rows, Form, Any, Counter], int]] = {
    FileFormat.CSV: _write_csv,
    FileFormat.JSONL: _write_jsonl,
    FileFormat.XLSX: _write_xlsx,
}
