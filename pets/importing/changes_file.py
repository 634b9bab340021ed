"""All changes of an import in a file: CSV, or JSON lines if its name ends in .jsonl. Memory does not grow with it."""

from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import orjson

from pets.exporting.rows import csv_lines
from pets.importing.changes import Change
from pets.importing.new_file import NewFile
from pets.importing.source import Source
from pets.spreadsheets import guarded
from pets.sql import BATCH

ENDINGS = (".jsonl", ".ndjson")
"""Of names of JSON lines. Every other file is CSV."""


class ChangesFile(NewFile):
    """A new file; raises `ImportRejectedError` if there is one."""

    def __init__(self, path: Path, source: Source | None = None, *, formula_safe: bool = False) -> None:
        """Open it. `formula_safe` is for CSV."""
        super().__init__(path, source)
        self._formula_safe = formula_safe
        self._file = self.open()

    def write(self, changes: Iterable[Change]) -> None:
        """Write all changes, and nothing that was written before: a transaction can start again."""
        with self.sentences():
            self._file.seek(0)
            self._file.truncate()
            self._file.writelines(self._blocks(iter(changes)))

    def _blocks(self, changes: Iterator[Change]) -> Iterator[bytes]:
        is_csv = not self.path.name.lower().endswith(ENDINGS)
        if is_csv:
            yield BOM_UTF8 + csv_lines([Change._fields])  # the mark by which Excel knows Unicode
        while batch := list(islice(changes, BATCH)):
            if is_csv:
                yield csv_lines([*map(_guarded, batch)] if self._formula_safe else batch)
            else:
                yield b"".join([orjson.dumps(change._asdict()) + b"\n" for change in batch])


def _guarded(change: Change) -> tuple[object, ...]:
    return tuple(guarded(value) if isinstance(value, str) else value for value in change)
