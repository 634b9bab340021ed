"""`/livez` and `/readyz`, for monitoring and load balancers. Neither needs a key."""

import logging
from collections.abc import Callable
from functools import cache
from uuid import uuid4

from django.core.cache import cache as shared_cache
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache

from petstore_site.public.error_pages import read_only
from rest.errors import ErrorCode, error_response

logger = logging.getLogger(__name__)

RETRY_AFTER = 2


@never_cache
@read_only
def livez(_request: HttpRequest) -> HttpResponse:
    """Return 200: the process responds. Nothing else is checked."""
    return JsonResponse({"status": "alive"})


@never_cache
@read_only
def readyz(_request: HttpRequest) -> HttpResponse:
    """Return 200 if requests can be served, else a 503 Error that names what cannot be reached."""
    failed = [name for name, works in CHECKS.items() if not _works(works)]
    if failed:
        message = f"Not ready: {', '.join(failed)}."
        return error_response(ErrorCode.UNAVAILABLE, message, retry_after=RETRY_AFTER)
    return JsonResponse({"status": "ready", "checks": dict.fromkeys(CHECKS, "ok")})


def _works(check: Callable[[], bool]) -> bool:
    try:
        return check()
    except Exception:
        logger.exception("A check of /readyz failed")
        return False


def _database() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        return bool(cursor.fetchone() == (1,))


def _migrations() -> bool:
    return _known_migrations() <= set(MigrationRecorder(connection).applied_migrations())


@cache
def _known_migrations() -> set[tuple[str, str]]:
    return set(MigrationLoader(None).disk_migrations)


def _cache() -> bool:
    name, value = f"readyz-{uuid4().hex}", "ok"
    shared_cache.set(name, value, timeout=5)
    return bool(shared_cache.get(name) == value)


CHECKS = {"database": _database, "migrations": _migrations, "cache": _cache}
