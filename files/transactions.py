"""The one transaction in which an import, or its undoing, writes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from django.db import DatabaseError, IntegrityError, OperationalError, connection, transaction

from database.errors import LOCK_NOT_AVAILABLE, RETRYABLE, drop, sqlstate
from files.errors import ImportRejectedError, LockedError
from files.stopping import is_stopped, stop_if_asked, too_late
from pets.sql import execute

ATTEMPTS = 3
UNIQUE_VIOLATION = "23505"
TRY_AGAIN = RETRYABLE | {UNIQUE_VIOLATION}
LOCKED = "Nothing changed. Something else kept the database locked. Try again."
READ_ONLY = "Nothing changed. The database is read-only: check the permissions of its file and of its folder."
CATALOGUE_CHANGED = "Nothing changed. The catalogue was changed while this ran. Try again."
REJECTIONS = {"database is locked": LOCKED, "attempt to write a readonly database": READ_ONLY}


def write_at_once(work: Callable[[], None], *, dry_run: bool) -> None:
    """Run `work` in one transaction; with `dry_run` nothing of it stays.

    It sees one state of the catalogue and starts again if someone else changed the same animals meanwhile. Raises
    `ImportRejectedError` if that goes on.
    """
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with transaction.atomic():
                if connection.vendor == "postgresql":
                    execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                work()
                if dry_run:
                    transaction.set_rollback(True)
                stop_if_asked()
        except DatabaseError as error:
            if attempt < ATTEMPTS and sqlstate(error) in TRY_AGAIN:
                continue
            if isinstance(error, IntegrityError) or sqlstate(error) in TRY_AGAIN:
                raise ImportRejectedError(CATALOGUE_CHANGED) from error
            raise
        else:
            break
    too_late()


@contextmanager
def clear_rejections() -> Iterator[None]:
    """Turn a database that is locked, or cannot be written, into an `ImportRejectedError`."""
    try:
        yield
    except OperationalError as error:
        message = LOCKED if sqlstate(error) == LOCK_NOT_AVAILABLE else REJECTIONS.get(str(error))
        if message is None:
            raise
        raise (LockedError if message == LOCKED else ImportRejectedError)(message) from error


SETTINGS = {
    "work_mem": "256MB",
    "statement_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    "client_connection_check_interval": "1s",  # a killed process ends its long statement
}


@contextmanager
def long_statements() -> Iterator[None]:
    """Give the statements in this block the memory and the time that a whole file needs, and let signals stop them.

    If the block is left by an exception the connection is closed, as a statement may be half way: with it go its
    transaction and its temporary tables.
    """
    on_postgresql = connection.vendor == "postgresql"
    if on_postgresql:
        for name, value in SETTINGS.items():
            execute(f"SET {name} = '{value}'")
    else:
        connection.ensure_connection()
        # SQLite calls Python now and then in a long statement, or a signal would only be noticed at its end.
        connection.connection.set_progress_handler(is_stopped, 100_000)
    try:
        yield
    except BaseException as error:
        disconnect()
        if isinstance(error, DatabaseError):
            stop_if_asked()  # which ended the statement
        if isinstance(error, OperationalError) and str(error) == "interrupted":  # SQLite's word for Ctrl-C
            raise KeyboardInterrupt from None
        raise
    if on_postgresql:
        for name in SETTINGS:
            execute(f"RESET {name}")
    else:
        connection.connection.set_progress_handler(None, 0)


def disconnect() -> None:
    """Close the connection itself; that cannot fail."""
    with suppress(DatabaseError):
        drop(connection)
