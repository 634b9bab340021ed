"""Where a request reads: from the primary, or from its standby while it is lost (`fallback.py`)."""

from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import connection

if TYPE_CHECKING:
    from database.fallback import Fallback  # it imports psycopg, which is never loaded with SQLite

from_standby = ContextVar("from_standby", default=False)
"""Whether a standby was read since the request began."""


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
