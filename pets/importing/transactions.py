"""The one transaction in which an import, or its undoing, writes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from django.db import DatabaseError, IntegrityError, OperationalError, connection, transaction

from pets.importing.errors import ImportRefusedError

T = TypeVar("T")

ATTEMPTS = 3
SERIALIZATION_FAILURE, DEADLOCK, UNIQUE_VIOLATION, LOCK_NOT_AVAILABLE = "40001", "40P01", "23505", "55P03"
RETRYABLE = {SERIALIZATION_FAILURE, DEADLOCK, UNIQUE_VIOLATION}
LOCKED = "Somebody else kept what this needs locked, and nothing was written. Run it again."
CATALOGUE_CHANGED = "The catalogue was changed by others while this ran, and nothing was written. Run it again."


def write_at_once(work: Callable[[], T], *, dry_run: bool) -> T:
    """Run `work` in one transaction and return what it returns; with `dry_run` nothing of it stays.

    It sees one state of the catalogue and begins anew if someone else changed the same animals meanwhile. Raises
    `ImportRefusedError` if that goes on.
    """
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with transaction.atomic():
                _see_one_state()
                result = work()
                if dry_run:
                    transaction.set_rollback(True)
        except DatabaseError as error:
            if attempt < ATTEMPTS and _state(error) in RETRYABLE:
                continue
            if isinstance(error, IntegrityError) or _state(error) in RETRYABLE:
                raise ImportRefusedError(CATALOGUE_CHANGED) from error
            if _state(error) == LOCK_NOT_AVAILABLE or str(error) == "database is locked":
                raise ImportRefusedError(LOCKED) from error
            raise
        else:
            return result
    raise AssertionError


def _see_one_state() -> None:
    if connection.vendor == "postgresql" and not connection.savepoint_ids:
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")


def _state(error: BaseException) -> str | None:
    return getattr(error.__cause__, "sqlstate", None)


SETTINGS = {"work_mem": "256MB", "statement_timeout": "0", "idle_in_transaction_session_timeout": "0"}


@contextmanager
def roomy() -> Iterator[None]:
    """Give the statements in this block the memory and the time that work on a whole file needs, and heed Ctrl-C.

    If the block is left by an exception the connection is closed, as a statement may be half way: with it go its
    transaction, its temporary tables and its locks.
    """
    _set_up()
    try:
        yield
    except BaseException as error:
        hang_up()
        if isinstance(error, OperationalError) and str(error) == "interrupted":  # SQLite's word for Ctrl-C
            raise KeyboardInterrupt from None
        raise
    _set_back()


def hang_up() -> None:
    """Close the connection itself, which a pool would keep."""
    if connection.connection is not None:
        connection.connection.close()
    connection.close()


def _set_up() -> None:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            for name, value in SETTINGS.items():
                cursor.execute(f"SET {name} = '{value}'")
    else:
        connection.ensure_connection()
        # SQLite calls Python now and then in a long statement, or a signal would only be noticed at its end.
        connection.connection.set_progress_handler(lambda: 0, 100_000)


def _set_back() -> None:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            for name in SETTINGS:
                cursor.execute(f"RESET {name}")
    else:
        connection.connection.set_progress_handler(None, 0)
