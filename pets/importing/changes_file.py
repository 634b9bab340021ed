"""All changes of an import in a file: CSV, or JSON lines if its name ends in .jsonl. Memory does not grow with it."""

import csv
import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import orjson

from pets.files import WholeFile
from pets.importing.changes import Change
from pets.importing.errors import ImportRejectedError
from pets.importing.new_file import IN_THE_WAY, absolute, reject_unusable, sentences
from pets.importing.source import Source
from pets.importing.sql import BATCH
from pets.spreadsheets import guarded

ENDINGS = (".jsonl", ".ndjson")
"""Of names of JSON lines. Every other file is CSV."""


class ChangesFile:
    """A new file. `publish` gives it its name; it is removed again by `close`, unless `kept`."""

    def __init__(self, path: Path, source: Source | None = None, *, formula_safe: bool = False) -> None:
        """Open it; raises `ImportRejectedError`, also if there is a file. `formula_safe` is for CSV."""
        self.path = path
        self.kept = False
        self._formula_safe = formula_safe
        reject_unusable(path, source)
        if path.exists():
            raise ImportRejectedError(IN_THE_WAY.format(path=path))
        with sentences(path):
            self._whole = WholeFile(path, replace=False)

    def write(self, changes: Iterable[Change]) -> None:
        """Write all changes, and nothing that was written before: a transaction can start again."""
        with sentences(self.path):
            self._whole.file.seek(0)
            self._whole.file.truncate()
            for block in self._blocks(changes):
                self._whole.file.write(block)

    def publish(self) -> None:
        """Give the file its name, complete and on the disk."""
        with sentences(self.path):
            self._whole.publish()

    def close(self) -> None:
        """Close it; nothing here can fail."""
        if not self.kept:
            self._whole.withdraw()
        self._whole.close()

    def _blocks(self, changes: Iterable[Change]) -> Iterator[bytes]:
        waiting = iter(changes)
        if self.path.name.lower().endswith(ENDINGS):
            while batch := list(islice(waiting, BATCH)):
                yield b"".join([orjson.dumps(change._asdict()) + b"\n" for change in batch])
            return
        yield "\ufeff".encode() + _csv([Change._fields])  # the mark by which Excel knows Unicode
        while batch := list(islice(waiting, BATCH)):
            yield _csv(map(_guarded, batch) if self._formula_safe else batch)


def _csv(rows: Iterable[tuple[object, ...]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()


def _guarded(change: Change) -> tuple[object, ...]:
    return tuple(guarded(value) if isinstance(value, str) else value for value in change)


@contextmanager
def changes_file(path: Path | None, source: Source, *, formula_safe: bool) -> Iterator[ChangesFile | None]:
    """Give the file that an import of `source` writes its changes to, if one is asked for."""
    if path is None:
        yield None
        return
    path = absolute(path)
    file = ChangesFile(path, source, formula_safe=formula_safe)
    try:
        yield file
    finally:
        file.close()
