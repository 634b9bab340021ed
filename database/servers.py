"""Which server is read: the primary, or its standby while it is lost (`fallback.py`)."""

from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

from django.conf import settings
from django.db import connection

from database.statements import Steps, rows, run

if TYPE_CHECKING:
    from database.fallback import Fallback  # it imports psycopg, which is never loaded with SQLite

T = TypeVar("T")


@cache
def fallback() -> "Fallback | None":
    """Return what reads from the servers of DATABASE_STANDBY_URL, or None without them."""
    if not settings.DATABASE_STANDBYS:
        return None
    from database.fallback import Fallback  # noqa: PLC0415 - as above

    return Fallback(parameters_of_primary(), settings.DATABASE_STANDBYS)


def parameters_of_primary() -> dict[str, Any]:
    """Return those of Django's connections, without its classes."""
    given = connection.get_connection_params()
    return {name: value for name, value in given.items() if name not in {"cursor_factory", "context"}}


def run_reads(steps: Steps[T]) -> T:
    """Run steps that only read: while the primary is lost, a standby may be asked."""
    servers = fallback()
    return run(steps, partial(servers.read, ask_primary=rows) if servers else rows)
