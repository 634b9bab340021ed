"""The backend of `DATABASES` in a process that serves requests."""

from typing import Any

from django import db
from django.db.backends.postgresql import base
from psycopg import OperationalError

from database.errors import CLOSED, breaker, committing, connection_failed


class DatabaseWrapper(base.DatabaseWrapper):
    """After a connection failed, nobody waits for another one for a second. It is known whether a COMMIT was sent."""

    def get_new_connection(self, conn_params: Any) -> Any:
        """Open a connection; raises psycopg's `OperationalError`, or Django's if none is tried."""
        if not breaker.allows():
            raise db.OperationalError(CLOSED)
        try:
            opened = super().get_new_connection(conn_params)
        except OperationalError:
            breaker.fail()
            connection_failed.send(sender=None)
            raise
        breaker.succeed()
        return opened

    def _commit(self) -> None:
        with committing():
            super()._commit()  # type: ignore[misc]  # it has no types
