"""One import at a time. The lock ends with the process that holds it."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from django.db import DatabaseError, connection
from django.db.backends.base.base import BaseDatabaseWrapper

from files.errors import BusyError, ImportRejectedError
from files.transactions import clear_rejections
from history.naming import who
from pets.models import ImportRun, ImportState

ADVISORY_LOCK = (0x70657473, 0x696D7074)  # PostgreSQL's two keys of our lock: "pets", "impt"

NOT_THROUGH_PGBOUNCER = (
    "An import keeps a lock and temporary tables for as long as it runs, which PgBouncer in transaction mode cannot "
    "give it. Run it with a DATABASE_URL that leads to PostgreSQL itself, and without DATABASE_BEHIND_PGBOUNCER."
)
INTERRUPTED = "It was interrupted before it was saved. Nothing changed."


@contextmanager
def only_import() -> Iterator[None]:
    """Hold the lock; a process that dies gives it up. Raises `BusyError` at once if another holds it.

    Whatever is recorded as running when the lock is free was killed, and nothing of it was written. The lock is not
    tied to the connection that writes, so that it is held until the record is right, whatever that connection meets.
    """
    with _advisory_lock() if connection.vendor == "postgresql" else _file_lock():
        with clear_rejections():
            ImportRun.objects.filter(state=ImportState.RUNNING).update(state=ImportState.KILLED, outcome=INTERRUPTED)
        yield


@contextmanager
def _advisory_lock() -> Iterator[None]:
    if connection.settings_dict["DISABLE_SERVER_SIDE_CURSORS"]:
        raise ImportRejectedError(NOT_THROUGH_PGBOUNCER)
    holder = connection.copy()
    try:
        if not _asked(holder, "pg_try_advisory_lock"):
            raise BusyError(_who_is_running())
        try:
            yield
        finally:
            with suppress(DatabaseError):  # the server frees it only a moment after the connection is closed
                _asked(holder, "pg_advisory_unlock")
    finally:
        with suppress(DatabaseError):
            holder.close()


def _asked(holder: BaseDatabaseWrapper, function: str) -> bool:
    with holder.cursor() as cursor:
        cursor.execute(f"SELECT {function}(%s, %s)", ADVISORY_LOCK)
        return bool(cursor.fetchone() == (True,))


@contextmanager
def _file_lock() -> Iterator[None]:
    path = Path(connection.settings_dict["NAME"])
    try:
        file = path.with_name(f"{path.name}.import-lock").open("wb")
    except OSError as error:
        message = f"The lock file beside the database cannot be created: {error.strerror}."
        raise ImportRejectedError(message) from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BusyError(_who_is_running()) from None
        yield


def _who_is_running() -> str:
    run = ImportRun.objects.filter(state=ImportState.RUNNING).first()
    if run is None:
        return "Nothing changed. Another import or undo is running. Try again when it finishes."
    return (
        f"Nothing changed. Import {run.pk} is running, started by {who(run.who)} at {run.started_at:%H:%M} UTC. "
        "Try again when it finishes."
    )


def is_free() -> bool:
    """Return whether no import runs now, and mark those that were killed."""
    with suppress(ImportRejectedError):
        try:
            with only_import():
                pass
        except BusyError:
            return False
    return True
