"""Convert a database error into a response, by the table of SQLSTATEs in docs/deadlines.md."""

import sqlite3
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from select import POLLIN, poll
from socket import SHUT_RDWR, socket
from typing import TYPE_CHECKING, Any

from django.db import DatabaseError, DataError, InterfaceError, InternalError, OperationalError, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.dispatch import Signal

from database.breaker import Breaker

if TYPE_CHECKING:
    from psycopg.errors import Diagnostic  # with SQLite, psycopg is never loaded

# Failures that operators count. Who sends them knows no metrics.

connection_failed = Signal()
"""The database accepted no connection."""

data_rejected = Signal()
"""The database rejected data that our own checks had accepted: a bug."""

commit_in_doubt = Signal()
"""A standby did not confirm a COMMIT, so its outcome is not known."""


@dataclass(frozen=True)
class Failure:
    """What a database error means for the request."""

    retry_after: int
    """Seconds after which the caller may try again."""
    drop_connection: bool = False
    """Whether the connection must not be used again, even if it looks usable."""


BROKEN = Failure(retry_after=2, drop_connection=True)
BUSY = Failure(retry_after=1)
DISK = Failure(retry_after=30)
UNMIGRATED = Failure(retry_after=30)

# https://www.postgresql.org/docs/current/errcodes-appendix.html
FAILURE_BY_SQLSTATE = {
    **dict.fromkeys(("57P01", "57P02", "57P03", "57P05", "53300", "53200", "25006", "25P03", "25P04"), BROKEN),
    **dict.fromkeys(("57014", "55P03", "40001", "40P01"), BUSY),
    **dict.fromkeys(("53100", "58030"), DISK),
    "42P01": UNMIGRATED,
}
RETRYABLE = {"40001", "40P01", "23503"}
"""The request lost to another transaction: serialization failure, deadlock, a row that it refers to was deleted."""
REJECTED = {"25006", "25P03", "53200", "53300", "57P03", "57P05"}
"""PostgreSQL did not do what was sent, though the connection is of no use any more."""
LOCK_NOT_AVAILABLE = "55P03"
STATEMENT_TIMED_OUT = "57014"
TRANSACTION_TIMED_OUT = "25P04"

breaker = Breaker(seconds=1)
"""Open after a connection to PostgreSQL failed: for a second, no one else waits for one."""

CLOSED = "no connection is tried, because one failed less than a second ago"

# https://www.sqlite.org/rescode.html, primary codes
FAILURE_BY_SQLITE_CODE = {
    sqlite3.SQLITE_BUSY: BUSY,
    sqlite3.SQLITE_LOCKED: BUSY,
    sqlite3.SQLITE_FULL: DISK,
    sqlite3.SQLITE_IOERR: DISK,
    sqlite3.SQLITE_READONLY: DISK,
    sqlite3.SQLITE_CANTOPEN: DISK,
}


def sqlstate(error: BaseException) -> str | None:
    """Return the SQLSTATE that PostgreSQL sent, or None: it sent none, or the database is SQLite."""
    return getattr(error.__cause__ or error, "sqlstate", None)


def failure_of(error: BaseException) -> Failure | None:
    """Return what the error means if the database has failed, else None."""
    if not isinstance(error, (DatabaseError, InterfaceError)):
        return None
    cause = error.__cause__ or error
    if isinstance(cause, sqlite3.Error):
        if str(cause).startswith("no such table"):
            return UNMIGRATED
        return FAILURE_BY_SQLITE_CODE.get(getattr(cause, "sqlite_errorcode", 0) & 0xFF)
    state = sqlstate(error)
    if state is not None:
        severity = getattr(getattr(cause, "diag", None), "severity_nonlocalized", None)
        otherwise = BROKEN if severity in {"FATAL", "PANIC"} else None  # they end the connection
        return BROKEN if state.startswith("08") else FAILURE_BY_SQLSTATE.get(state, otherwise)
    # psycopg raises InternalError if the end of the connection comes together with the result of BEGIN or COMMIT, and
    # DatabaseError for what it cannot read. One without a cause is Django's own, about rows.
    is_unreadable = type(error) is DatabaseError and error.__cause__ is not None
    return BROKEN if is_unreadable or isinstance(error, (OperationalError, InterfaceError, InternalError)) else None


def is_away(error: BaseException) -> bool:
    """Return whether the database is away or busy: the same may succeed later, unless the work took too long."""
    return failure_of(error) is not None and sqlstate(error) not in {STATEMENT_TIMED_OUT, TRANSACTION_TIMED_OUT}


def described(error: BaseException) -> str:
    """Return the error for the log: its SQLSTATE (SQLite: the name of its code), or that the connection broke.

    An error without a cause is ours, and its text says what it is.
    """
    cause = error.__cause__ or error
    text = " ".join(str(cause).split())
    if code := sqlstate(error) or getattr(cause, "sqlite_errorname", None):
        return f"{code} {text}"
    return text if text and cause is error else f"the connection broke: {text or type(cause).__name__}"


def rejected_data(error: BaseException) -> bool:
    """Return whether the database rejected a value that our validation accepted, which is a bug."""
    if not isinstance(error, DatabaseError):
        return False
    state = sqlstate(error)
    if state is None:  # a value that psycopg cannot send, such as text with NUL
        return isinstance(error, DataError) and not isinstance(error.__cause__, sqlite3.Error)
    return state.startswith("22") or state == "23514"


def drop(wrapper: BaseDatabaseWrapper) -> None:
    """Close the connection, even inside a transaction."""
    if wrapper.connection is not None:
        wrapper.connection.close()
    wrapper.close()


def cut_off(wrapper: BaseDatabaseWrapper) -> None:
    """End the connection of another thread, which waits for a response: its wait fails at once.

    The socket is shut down, and no statement is canceled: a COMMIT that waits for a standby may still be done.
    """
    if wrapper.vendor == "postgresql" and wrapper.connection is not None:
        shut_down(wrapper.connection)


def shut_down(raw: Any) -> None:
    """Shut down the socket of a connection of psycopg's, unless it has just ended."""
    with suppress(Exception):
        shared = socket(fileno=raw.fileno())  # no copy: there may be no descriptor for one
        with suppress(OSError):
            shared.shutdown(SHUT_RDWR)
        shared.detach()


def drop_closed(**_signal: Any) -> None:
    """Receive `request_started`: drop this thread's connection if the server has closed it, which costs no query.

    Nothing is expected on an idle connection, so what can be read is its end, or why it ended.
    """
    is_idle = connection.vendor == "postgresql" and connection.connection is not None and not connection.in_atomic_block
    if is_idle and has_ended(connection.connection):
        drop(connection)


def has_ended(raw: Any) -> bool:
    """Return whether an idle connection of psycopg's has ended, without a query."""
    if raw.closed:
        return True
    poller = poll()
    poller.register(raw.fileno(), POLLIN)
    return bool(poller.poll(0))


_unconfirmed = ContextVar("unconfirmed", default=False)
_committing = ContextVar("committing", default=False)
"""What is known of the COMMITs of this thread, or of this task of the event loop."""

SYNCHRONOUS_WAIT_CANCELED = "canceling wait for synchronous replication"


def watch_commits(*, connection: BaseDatabaseWrapper, **_signal: Any) -> None:
    """Receive `connection_created`: watch for a COMMIT that no standby confirmed."""
    if connection.vendor == "postgresql":
        watch(connection.connection)


def watch(raw: Any) -> None:
    """Watch a connection of psycopg's for a COMMIT that no standby confirmed."""
    raw.add_notice_handler(_notice)


def reset_commit_state() -> None:
    """Begin a request: every COMMIT is confirmed."""
    _unconfirmed.set(False)
    _committing.set(False)


class committing:  # noqa: N801 - it is used like a function
    """Know in the block that a COMMIT was sent, and after it whether it may be done without a confirmation."""

    def __enter__(self) -> None:
        _committing.set(True)

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        """Know how it ended. A caller that is canceled will never know."""
        if error is None or isinstance(error, Exception):
            _committing.set(error is not None and failure_of(error) is BROKEN and sqlstate(error) not in REJECTED)


def outcome_is_unknown() -> bool:
    """Return whether a COMMIT may be done although the request fails."""
    return _unconfirmed.get() or _committing.get()


def commit_unconfirmed() -> bool:
    """Return whether the standby did not confirm a COMMIT since `reset_commit_state`."""
    return _unconfirmed.get()


def _notice(diagnostic: "Diagnostic") -> None:
    if SYNCHRONOUS_WAIT_CANCELED in (diagnostic.message_primary or ""):
        _unconfirmed.set(True)
        commit_in_doubt.send(sender=None)
