"""Reads rows from each kind of file, one at a time; `rows` says what a reader yields."""

from pets.importing.readers.json_text import read_json_array, read_json_lines
from pets.importing.readers.rows import Reading, Table
from pets.importing.readers.separated import read_csv
from pets.importing.readers.workbook import read_workbook
from pets.importing.source import Source


def read(source: Source, how: Reading) -> Table:
    """Return the rows of the file; raises `FileError`, now for the header and later for what cannot be read on."""
    kind = how.format or source.format(how.encoding)
    if kind == "xlsx":
        return read_workbook(source, formula_safe=how.formula_safe)
    encoding = source.encoding(how.encoding)
    if kind == "json":
        return Table(read_json_array(source.blocks(encoding)), place="animal")
    if kind == "jsonl":
        return Table(read_json_lines(source.lines(encoding)))
    return read_csv(source, encoding, how)
