"""`manage.py back_up_sqlite FOLDER`: an online backup of the SQLite file."""

import os
import sqlite3
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.db import connection

from commands.arguments import count
from commands.base import StoreCommand
from commands.exits import Exit, ExitError

NAME = "petstore-%Y%m%dT%H%M%S.%fZ.sqlite3"
PATTERN = "petstore-*Z.sqlite3"
PARTS = "petstore-*Z.part*"
A_DAY = 24 * 60 * 60
NOT_SQLITE = "This database is PostgreSQL. docs/backup.md explains its backups."


class Command(StoreCommand):
    help = "Back up the SQLite database while the service runs. Check the copy, and delete the oldest ones."
    examples = ("/var/backups/petstore", "/var/backups/petstore --keep 30")

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, metavar="FOLDER", help="Where the backups are.")
        parser.add_argument("--keep", type=count, default=14, metavar="N", help="How many backups to keep; default 14.")

    def handle(self, *, folder: Path, keep: int, **_options: Any) -> None:
        if connection.vendor != "sqlite":
            raise ExitError(NOT_SQLITE)
        try:
            file = _back_up(Path(connection.settings_dict["NAME"]), folder)
            deleted = _delete_oldest(folder, keep)
            _delete_killed(folder)
        except FileNotFoundError:
            message = f"No backup was made: there is no folder {folder}. Create it first."
            raise ExitError(message, status=Exit.FAILED) from None
        except OSError as error:
            message = f"No backup was made: {folder} cannot be written: {error.strerror}."
            raise ExitError(message, status=Exit.FAILED) from None
        except sqlite3.Error as error:
            message = f"No backup was made: {error}."
            raise ExitError(message, status=Exit.FAILED) from None
        size = file.stat().st_size
        self.report(
            f"Backed up {size:,} bytes to {file}.",
            {"file": str(file), "bytes": size, "deleted": list(map(str, deleted))},
        )


def _back_up(database: Path, folder: Path) -> Path:
    """Copy one snapshot in one step: in WAL mode, writers do not wait for it."""
    file = folder / datetime.now(UTC).strftime(NAME)
    part = file.with_suffix(".part")
    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))  # keys and sessions are in it
    try:
        with closing(sqlite3.connect(f"{database.resolve().as_uri()}?mode=ro", uri=True)) as source:
            _copy(source, part)
        part.rename(file)
    finally:
        part.unlink(missing_ok=True)
    _sync(folder)
    return file


def _copy(source: sqlite3.Connection, part: Path) -> None:
    with closing(sqlite3.connect(part)) as copy:
        source.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")  # one file, with nothing beside it
        found = copy.execute("PRAGMA integrity_check").fetchone()[0]
    if found != "ok":
        message = f"the copy is damaged: {found}"
        raise sqlite3.DatabaseError(message)
    _sync(part)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def _delete_oldest(folder: Path, keep: int) -> list[Path]:
    oldest = sorted(folder.glob(PATTERN))[:-keep]
    for file in oldest:
        file.unlink()
    return oldest


def _delete_killed(folder: Path) -> None:
    """Delete what a backup that was killed left: its part, and the journal of that."""
    for part in folder.glob(PARTS):
        if time.time() - part.stat().st_mtime > A_DAY:
            part.unlink(missing_ok=True)
