"""Reads rows from each kind of file, one at a time; `rows` describes what a reader yields."""

from collections.abc import Iterator
from dataclasses import replace

from files.readers.json_text import read_json_array, read_json_lines
from files.readers.rows import Block, FirstRows, Reading, Row, Sheet, Table
from files.readers.separated import first_csv_rows, read_csv
from files.readers.workbook import first_sheet_rows, read_workbook, sheets_of
from files.source import Source


def read(source: Source, how: Reading) -> Table:
    """Return the rows of the file.

    Raises `FileError`, now for the header and later for what cannot be read or changed while it was read.
    """
    table = _read(source, how)
    titles = {column: title for title, column in how.mapping.items()}
    return replace(table, parts=_unchanged(table.parts, source), titles=titles)


def _read(source: Source, how: Reading) -> Table:
    kind = source.format(how.encoding)
    if kind == "xlsx":
        return read_workbook(source, how)
    encoding = source.encoding(how.encoding)
    if kind == "csv":
        return read_csv(source, encoding, how)
    if kind == "json":
        return Table(read_json_array(source.blocks(encoding), how), encoding=encoding, place="animal")
    return Table(read_json_lines(source.lines(encoding), how), encoding=encoding)


def first_rows(source: Source, how: Reading) -> FirstRows:
    """Return the first rows of a workbook, or of a file that is taken for CSV; raises `FileError`."""
    if source.format(how.encoding) == "xlsx":
        return first_sheet_rows(source, how)
    return first_csv_rows(source, source.encoding(how.encoding), how)


def sheets(source: Source, how: Reading) -> list[Sheet]:
    """Return the sheets of a workbook that has several, as `sheets_of` does; raises `FileError`."""
    return sheets_of(source, how) if source.format(how.encoding) == "xlsx" else []


def _unchanged(parts: Iterator[Row | Block], source: Source) -> Iterator[Row | Block]:
    yield from parts
    source.reject_changes()
