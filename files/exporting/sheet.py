"""Animals as an XLSX workbook whose every cell is text, as is what someone types into it.

openpyxl makes the workbook, and this module its rows: openpyxl would take a minute for a million of them, keep them in
a second temporary file, and call "=1+1" a formula.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from io import BytesIO
from string import ascii_uppercase
from typing import Any, BinaryIO
from xml.sax import saxutils
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from files.exporting.rows import Progress, Row, Rows, write_batches
from files.spreadsheets import escape
from pets.columns import COLUMNS

MOST_ANIMALS = 2**20 - 1
"""Rows a sheet can have (Microsoft, "Excel specifications and limits"), less the header."""

MOST_BYTES = 2**31 - 2**20
"""What an archive can hold without its 64-bit extension, which Excel asks to repair, less what is around the rows."""

SHEET = "xl/worksheets/sheet1.xml"
END_OF_ROWS = b"</sheetData>"
ID_WIDTH = 12
LETTERS = ascii_uppercase[: len(COLUMNS) + 1]
TEXT = 1
"""The style of a cell with the format of text, the first that `_workbook_with_a_header` uses beside the default."""

EPOCH = datetime(1980, 1, 1)  # noqa: DTZ001 - openpyxl takes it for UTC; no entry of an archive can be older


class TooManyAnimalsError(Exception):
    """They do not fit into a sheet."""

    def __str__(self) -> str:
        """Return the sentence that says what to do."""
        return f"A spreadsheet holds {MOST_ANIMALS:,} animals and 2 GiB of text at most, and these are more. Use CSV."


def write_xlsx(rows: Rows, names: Sequence[str], out: BinaryIO, progress: Progress) -> int:
    """Write a workbook with one sheet; return how many animals.

    The same animals give the same bytes, since the workbook's own dates are fixed. Raises `TooManyAnimalsError`.
    """
    if rows.count() > MOST_ANIMALS:
        raise TooManyAnimalsError
    parts = _workbook_with_a_header(names)
    before, _, after = parts.pop(SHEET).partition(END_OF_ROWS)
    with ZipFile(out, "w") as archive:
        for name, content in parts.items():
            archive.writestr(_entry(name), content)
        with archive.open(_entry(SHEET), "w") as sheet:
            written = write_batches(rows, sheet, _xml_lines(), progress, before=before)
            sheet.write(END_OF_ROWS + after)
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
    widths = {column.header: column.width for column in COLUMNS}
    for letter, name in zip(LETTERS, names, strict=False):
        column = sheet.column_dimensions[letter]
        column.width, column.number_format = widths.get(name, ID_WIDTH), numbers.FORMAT_TEXT
    sheet.append(names)
    with ZipFile(BytesIO(), "w") as archive:
        ExcelWriter(workbook, archive).write_data()  # `Workbook.save` would write the time of day
        return {name: archive.read(name) for name in archive.namelist()}


def _entry(name: str) -> ZipInfo:
    entry = ZipInfo(name)  # of 1980
    entry.compress_type = ZIP_DEFLATED
    return entry


def _xml_lines() -> Callable[[list[Row]], bytes]:
    number, size = 2, 0

    def encode(batch: list[Row]) -> bytes:
        nonlocal number, size
        lines = "".join(_xml_line(at, row) for at, row in enumerate(batch, number)).encode()
        number, size = number + len(batch), size + len(lines)
        if number > MOST_ANIMALS + 2 or size > MOST_BYTES:  # animals can have come after they were counted
            raise TooManyAnimalsError
        return lines

    return encode


def _xml_line(number: int, row: Row) -> str:
    cells = [
        f'<c r="{letter}{number}" s="{TEXT}" t="inlineStr"><is><t xml:space="preserve">{_xml(str(text))}</t></is></c>'
        for letter, text in zip(LETTERS, row, strict=False)
        if text is not None
    ]
    return f'<row r="{number}">{"".join(cells)}</row>'


def _xml(text: str) -> str:
    return saxutils.escape(escape(text))
