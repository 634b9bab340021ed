"""XLSX: the first sheet of a workbook."""

import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from xml.etree.ElementTree import ParseError

import openpyxl
from openpyxl.utils.exceptions import InvalidFileException

from pets.importing.errors import FileError
from pets.importing.readers.header import cells_of, columns_of
from pets.importing.readers.rows import Damaged, Row, Table
from pets.importing.source import Source
from pets.spreadsheets import unescape

LARGEST_WORKBOOK = 1024 * 1024 * 1024
"""Bytes that a workbook may have when it is unpacked."""

SHARED_STRINGS, LARGEST_SHARED_STRINGS = "xl/sharedStrings.xml", 64 * 1024 * 1024
"""A part that is held in memory, with four times its size."""

MOST_ROWS = 2**20
"""Of a sheet (Microsoft, "Excel specifications and limits")."""


@contextmanager
def _readable_workbook() -> Iterator[None]:
    """Turn what openpyxl and what it stands on raise for a damaged workbook into a `FileError`."""
    try:
        yield
    except (
        zipfile.BadZipFile,
        zlib.error,
        InvalidFileException,
        ParseError,
        LookupError,
        ValueError,  # also what defusedxml refuses
        TypeError,
        AttributeError,
        OSError,
        EOFError,
        RuntimeError,  # zipfile's for what is encrypted
    ):
        message = "The workbook cannot be read; save it anew as .xlsx, or as CSV."
        raise FileError(message) from None


def read_workbook(source: Source, *, formula_safe: bool) -> Table:
    """Read the first sheet."""
    source.rewind()
    with _readable_workbook():
        _refuse_bomb(source)
        sheet: Any = openpyxl.load_workbook(source.plain, read_only=True, data_only=True).worksheets[0]
        sheet.reset_dimensions()  # what a workbook says of its size may be wrong, and openpyxl would stop there
        rows = sheet.iter_rows()
        header = [str(cell.value or "") for cell in next(rows, ())]
    while header and not header[-1]:
        header.pop()
    if not header:
        message = "The first sheet of the workbook is empty."
        raise FileError(message)
    columns = columns_of(header)
    return Table(_workbook_rows(rows, columns, formula_safe=formula_safe), columns)


def _refuse_bomb(source: Source) -> None:
    with zipfile.ZipFile(source.plain) as archive:
        sizes = {part.filename: part.file_size for part in archive.infolist()}
    if sum(sizes.values()) > LARGEST_WORKBOOK or sizes.get(SHARED_STRINGS, 0) > LARGEST_SHARED_STRINGS:
        message = "The workbook is too large; save it as CSV."
        raise FileError(message)


def _workbook_rows(rows: Iterator[Sequence[Any]], columns: Sequence[str], *, formula_safe: bool) -> Iterator[Row]:
    with _readable_workbook():
        for line, row in enumerate(rows, 2):
            if line > MOST_ROWS:
                message = f"The sheet has more than {MOST_ROWS:,} rows."
                raise FileError(message)
            texts = [_text(cell) for cell in row]
            while len(texts) > len(columns) and not texts[-1]:
                texts.pop()
            texts += [""] * (len(columns) - len(texts))
            if any(texts):
                if wrong := [cell.coordinate for cell in row if cell.value is not None and not _is_text(cell)]:
                    message = f"Cell {wrong[0]} holds a date, a truth value or an error. Format it as text."
                    yield line, Damaged(message, texts)
                else:
                    yield line, cells_of(columns, texts, formula_safe=formula_safe)


def _is_text(cell: Any) -> bool:
    """Whether the cell is text or a number, which stands for its digits."""
    return cell.data_type in {"s", "str", "inlineStr"} or type(cell.value) in {int, float}


def _text(cell: Any) -> str:
    if cell.value is None:
        return ""
    if isinstance(cell.value, float) and cell.value.is_integer():
        return str(int(cell.value))
    return unescape(cell.value) if isinstance(cell.value, str) else str(cell.value)
