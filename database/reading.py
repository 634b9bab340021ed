"""Where a request reads: from the primary, or from its standby while it is lost (`fallback.py`)."""

from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import connection

if TYPE_CHECKING:
    from database.fallback import Fallback  # it imports psycopg, which is never loaded with SQLite

_from_standby = ContextVar("from_standby", default=False)
"""Whether a standby was read in this thread since the request began."""


@cache
def fallback() -> "Fallback | None":
    """Return what reads from the servers of DATABASE_STANDBY_URL, or None without them."""
    if not settings.DATABASE_STANDBYS:
        return None
    from database.fallback import Fallback  # noqa: PLC0415

    return Fallback(parameters_of_primary(), settings.DATABASE_STANDBYS)


def parameters_of_primary() -> dict[str, Any]:
    """Return those of Django's connections, without its classes."""
    given = connection.get_connection_params()
    return {name: value for name, value in given.items() if name not in {"cursor_factory", "context"}}


def primary_is_lost() -> bool:
    """Return whether reads are to come from a standby."""
    servers = fallback()
    return servers is not None and servers.primary_is_lost


def watch_primary() -> None:
    """Begin to ask the primary, in a process that serves requests."""
    if found := fallback():
        found.watch()


def begin() -> None:
    """Begin a request."""
    _from_standby.set(False)


def mark_standby() -> None:
    """Remember that a standby was read."""
    _from_standby.set(True)


def came_from_standby() -> bool:
    """Return whether a standby was read since `begin`."""
    return _from_standby.get()
