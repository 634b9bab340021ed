"""`/livez` and `/readyz`, for monitoring and load balancers. Neither needs a key."""

import logging
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import cache
from threading import Lock, Thread
from uuid import uuid4

from django.core.cache import cache as shared_cache
from django.db import OperationalError, connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader
from django.db.models import Min
from django.dispatch import Signal
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache

from changes.models import late
from changes.progress import LATE
from database.errors import BUSY, failure_of
from files.lock import is_free
from pets.models import ImportUpload
from petstore_site import version
from petstore_site.errors import read_only
from rest.errors import ErrorCode, error_response

work_seen = Signal()
"""Gets `since` when long work of the back office waits for a process, None if none waits."""

logger = logging.getLogger(__name__)

RELEASE = version()

RETRY_AFTER = 2
SECONDS = 0.6
"""How long `/readyz` waits for its checks, even for one that hangs. On a busy machine it responds within 1 s."""


@never_cache
@read_only
def livez(_request: HttpRequest) -> HttpResponse:
    """Return 200: the process responds. Nothing else is checked."""
    return JsonResponse({"status": "alive"})


@never_cache
@read_only
def readyz(_request: HttpRequest) -> HttpResponse:
    """Return 200 with the release if requests can be served, else a 503 Error that names what cannot be used.

    Requests can be served without the cache (docs/decisions/0010), or while no process does long work (0076): these are
    `degraded` then.
    """
    known_migrations()  # the first time, reading the files takes longer than asking the database
    deadline = time.monotonic() + SECONDS
    running = {name: check.start() for name, check in CHECKS.items()}
    works = {name: _works(name, future, deadline) for name, future in running.items()}
    failed = [name for name in REQUIRED if not works[name]]
    if failed:
        return error_response(ErrorCode.UNAVAILABLE, f"Not ready: {', '.join(failed)}.", retry_after=RETRY_AFTER)
    words = {name: "ok" if works[name] else "degraded" for name in CHECKS}
    return JsonResponse({"status": "ready", "release": RELEASE, "checks": words})


class HealthCheck:
    """A check in a thread of its own. All who ask while it runs share it, so that one that hangs costs one thread."""

    def __init__(self, check: Callable[[], bool]) -> None:
        self._check = check
        self._lock = Lock()
        self._running: Future[bool] | None = None

    def start(self) -> Future[bool]:
        """Return the check that is running, or begin one."""
        with self._lock:
            if self._running is None or self._running.done():
                self._running = Future()
                Thread(target=self._run, args=(self._running,), daemon=True).start()
            return self._running

    def _run(self, future: Future[bool]) -> None:
        try:
            future.set_result(self._check())
        except Exception as error:  # noqa: BLE001 - the request reports it
            future.set_exception(error)


def _works(name: str, future: Future[bool], deadline: float) -> bool:
    try:
        return future.result(max(0, deadline - time.monotonic()))
    except Exception:
        logger.exception("The check of the %s failed", name)
        return False


def _database() -> bool:
    """Return whether the database takes writes. With SQLite it does, too, while someone else is writing."""
    with _own_connection() as database, database.cursor() as cursor:
        if database.vendor == "postgresql":
            cursor.execute("SELECT current_setting('transaction_read_only')")
            return bool(cursor.fetchone() == ("off",))
        cursor.execute("PRAGMA busy_timeout = 0")
        try:
            cursor.execute("BEGIN IMMEDIATE")
        except OperationalError as error:
            return failure_of(error) is BUSY
        cursor.execute("ROLLBACK")
        return True


def _migrations() -> bool:
    with _own_connection() as database, database.cursor() as cursor:  # MigrationRecorder would use the thread's
        cursor.execute("SELECT app, name FROM django_migrations")
        return known_migrations() <= set(cursor.fetchall())


@contextmanager
def _own_connection() -> Iterator[BaseDatabaseWrapper]:
    """Open another connection: what hangs must not keep the connection of a request."""
    database = connection.copy()
    if database.vendor == "sqlite":  # opening one waits while the last other one is being closed
        database.settings_dict["OPTIONS"]["timeout"] = SECONDS
    try:
        yield database
    finally:
        database.close()


@cache
def known_migrations() -> set[tuple[str, str]]:
    """Return app and name of all migrations that the code has."""
    return set(MigrationLoader(None).disk_migrations)


def _work() -> bool:
    """Return whether no work of the back office waits for a process, and let the metrics say since when some does."""
    try:
        uploads = ImportUpload.objects.filter(waits_since__lt=timezone.now() - LATE)
        since = [late().aggregate(at=Min("last"))["at"], uploads.aggregate(at=Min("waits_since"))["at"]]
        if any(since) and not is_free():  # others wait for the import that runs, on SQLite the changes too
            since = since[:1] if connection.vendor == "postgresql" else []
    finally:
        connections.close_all()  # those of this thread
    oldest = min((at for at in since if at is not None), default=None)
    work_seen.send(sender=None, since=oldest)
    return oldest is None


def _cache() -> bool:
    name, value = f"readyz-{uuid4().hex}", "ok"
    shared_cache.set(name, value, timeout=5)
    return bool(shared_cache.get(name) == value)


CHECKS = {
    "database": HealthCheck(_database),
    "migrations": HealthCheck(_migrations),
    "cache": HealthCheck(_cache),
    "work": HealthCheck(_work),
}
REQUIRED = ("database", "migrations")
