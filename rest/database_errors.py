"""From a database error to what the caller is told, by the table of SQLSTATEs in docs/operations.md."""

import contextlib
import sqlite3
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db import DatabaseError, DataError, InterfaceError, OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper

if TYPE_CHECKING:
    from psycopg.errors import Diagnostic  # a shop with SQLite never loads psycopg


@dataclass(frozen=True)
class Trouble:
    """What a database error means for the request that met it."""

    retry_after: int
    """Seconds after which the caller may try again."""
    drop_connection: bool = False
    """The connection, though it may look well, must not be used again."""


BROKEN = Trouble(retry_after=2, drop_connection=True)
BUSY = Trouble(retry_after=1)
DISK = Trouble(retry_after=30)
UNMIGRATED = Trouble(retry_after=30)

# https://www.postgresql.org/docs/current/errcodes-appendix.html
TROUBLE_BY_SQLSTATE = {
    **dict.fromkeys(("57P01", "57P02", "57P03", "57P05", "53300", "53200", "25006", "25P03"), BROKEN),
    **dict.fromkeys(("57014", "55P03", "40001", "40P01"), BUSY),
    **dict.fromkeys(("53100", "58030"), DISK),
    "42P01": UNMIGRATED,
}
RETRYABLE = {"40001", "40P01"}
LOCK_NOT_AVAILABLE = "55P03"

# https://www.sqlite.org/rescode.html, primary codes
TROUBLE_BY_SQLITE_CODE = {
    sqlite3.SQLITE_BUSY: BUSY,
    sqlite3.SQLITE_LOCKED: BUSY,
    sqlite3.SQLITE_FULL: DISK,
    sqlite3.SQLITE_IOERR: DISK,
    sqlite3.SQLITE_READONLY: DISK,
    sqlite3.SQLITE_CANTOPEN: DISK,
}


def sqlstate(error: BaseException) -> str | None:
    """Return the SQLSTATE that PostgreSQL gave, or None: it did not answer, or is SQLite."""
    return getattr(error.__cause__ or error, "sqlstate", None)


def trouble(error: BaseException) -> Trouble | None:
    """Return what the database error means if the database is at fault, else None."""
    if not isinstance(error, (DatabaseError, InterfaceError)):
        return None
    cause = error.__cause__ or error
    if isinstance(cause, sqlite3.Error):
        if str(cause).startswith("no such table"):
            return UNMIGRATED
        return TROUBLE_BY_SQLITE_CODE.get(getattr(cause, "sqlite_errorcode", 0) & 0xFF)
    state = sqlstate(error)
    if state is not None:
        return BROKEN if state.startswith("08") else TROUBLE_BY_SQLSTATE.get(state)
    unanswered = cause is not error and isinstance(error, (OperationalError, InterfaceError))
    return BROKEN if unanswered else None


def refused_data(error: BaseException) -> bool:
    """Whether the database refused a value that validation let through: a defect of ours."""
    if not isinstance(error, DatabaseError):
        return False
    state = sqlstate(error)
    if state is None:  # what psycopg itself does not send, such as NUL in text
        return isinstance(error, DataError) and not isinstance(error.__cause__, sqlite3.Error)
    return state.startswith("22") or state == "23514"


def drop(wrapper: BaseDatabaseWrapper) -> None:
    """Close the connection itself, so that a pool does not hand it out again."""
    if wrapper.connection is not None:
        wrapper.connection.close()
    wrapper.close()


_thread = threading.local()
SYNCHRONOUS_WAIT_CANCELED = "canceling wait for synchronous replication"


def watch_commits(*, connection: BaseDatabaseWrapper, **_signal: Any) -> None:
    """Receive `connection_created`: notice a COMMIT that PostgreSQL reports done but no standby has."""
    if connection.vendor == "postgresql":
        raw = connection.connection
        with contextlib.suppress(ValueError):  # a pooled connection comes here every time it is taken
            raw.remove_notice_handler(_notice)
        raw.add_notice_handler(_notice)


def forget_doubt() -> None:
    """Begin a request: no COMMIT of this thread is in doubt."""
    _thread.in_doubt = False


def commit_in_doubt() -> bool:
    """Whether a COMMIT of this thread since `forget_doubt` may not have reached the standby."""
    return getattr(_thread, "in_doubt", False)


def _notice(diagnostic: "Diagnostic") -> None:
    if SYNCHRONOUS_WAIT_CANCELED in (diagnostic.message_primary or ""):
        _thread.in_doubt = True
