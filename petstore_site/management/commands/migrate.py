"""`manage.py migrate`: Django's, one at a time, and with limits on what it may hold up."""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from django.core.management import CommandError
from django.core.management.base import CommandParser
from django.core.management.commands import migrate
from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

ADVISORY_LOCK = (0x70657473, 0x6D696772)
"""PostgreSQL's two keys of our lock: "pets", "migr"."""

NOT_THROUGH_PGBOUNCER = (
    "migrate holds a lock for as long as it runs, which PgBouncer in transaction mode cannot give it. "
    "Run it with a DATABASE_URL that leads to PostgreSQL itself, and without DATABASE_BEHIND_PGBOUNCER."
)
BEFORE_1_5 = (
    "This database is of a release before 1.5. Nothing changed. "
    "First upgrade to 1.6, then to this release (docs/install.md)."
)


class Command(migrate.Command):
    help = "Bring the database schema up to date. " + migrate.Command.help

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--lock-timeout",
            default="1s",
            help="How long a migration can wait for a table (PostgreSQL). Default: 1s.",
        )
        parser.add_argument(
            "--statement-timeout",
            default="15min",
            help="How long one statement can take (PostgreSQL). Default: 15min; 0 for no limit.",
        )

    def get_check_kwargs(self, options: dict[str, Any]) -> Any:
        database = connections[options["database"]]
        if database.vendor == "sqlite":
            with transaction.atomic(options["database"]):  # else Django takes a busy SQLite for one without JSON
                _ = database.features.supports_json_field  # it is asked once, and kept
        return super().get_check_kwargs(options)

    def handle(self, *args: Any, **options: Any) -> None:
        database = connections[options["database"]]
        if _is_before_1_5(database):
            raise CommandError(BEFORE_1_5)
        if database.vendor != "postgresql":
            folder = os.open(Path(database.settings_dict["NAME"]).parent, os.O_RDONLY)
            try:
                self._wait_until(lambda: _locked_folder(folder))
                super().handle(*args, **options)
            finally:
                os.close(folder)
            return
        with self._only_one(database):
            with database.cursor() as cursor:
                for name in ("lock_timeout", "statement_timeout"):
                    cursor.execute("SELECT set_config(%s, %s, false)", (name, options[name]))
            super().handle(*args, **options)
            with database.cursor() as cursor:
                cursor.execute("RESET lock_timeout; RESET statement_timeout")

    @contextmanager
    def _only_one(self, database: BaseDatabaseWrapper) -> Iterator[None]:
        """Hold the lock on a connection of its own, which a process that dies gives up.

        A second process asks again and again instead of waiting in a statement: CREATE INDEX CONCURRENTLY waits for
        statements that began before it, so each would wait for the other.
        """
        if database.settings_dict["DISABLE_SERVER_SIDE_CURSORS"]:
            raise CommandError(NOT_THROUGH_PGBOUNCER)
        holder = database.copy()
        try:
            self._wait_until(lambda: _locked(holder))
            yield
        finally:
            holder.close()

    def _wait_until(self, is_locked: Callable[[], bool]) -> None:
        if not is_locked():
            self.stderr.write("Another migrate is running. Waiting for it to finish.")
            while not is_locked():
                time.sleep(0.2)


def _is_before_1_5(database: BaseDatabaseWrapper) -> bool:
    """Return whether only some of the migrations that one of ours replaces were applied: the others are gone."""
    applied = MigrationRecorder(database).applied_migrations()
    ours = [migration for migration in MigrationLoader(None).replacements.values() if migration.app_label == "pets"]
    were_applied = [{name in applied for name in migration.replaces} for migration in ours]
    return {True, False} in were_applied


def _locked_folder(folder: int) -> bool:
    """Return whether this process has the lock of the folder, until it closes it."""
    with suppress(BlockingIOError):
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def _locked(holder: BaseDatabaseWrapper) -> bool:
    with holder.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", ADVISORY_LOCK)
        return bool(cursor.fetchone() == (True,))
