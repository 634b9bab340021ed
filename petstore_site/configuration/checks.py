"""Warnings about settings with surprising effects; also printed when the service starts."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Info, register
from django.core.checks import Warning as CheckWarning
from django.db import Error as DatabaseError
from django.db import connection

from petstore_site.configuration import sizing, static_files

TAG = "petstore"


@register(TAG)
def rate_limits_are_shared(**_options: Any) -> list[CheckMessage]:
    """Warn (W001) if each process counts rate limits and failed sign-ins separately."""
    if not settings.HOSTED or settings.CACHE_URL != "memory://":
        return []
    return [
        CheckWarning(
            "CACHE_URL is memory://. Each process counts rate limits and failed sign-ins separately, so keys get "
            "several times their limit, and attackers get several times the password attempts.",
            hint="Set CACHE_URL to redis://HOST:6379/0.",
            id="petstore.W001",
        )
    ]


@register(TAG)
def static_files_are_collected(*, databases: Any = None, **_options: Any) -> list[CheckMessage]:
    """Say (E001) that the service would not start; not to `migrate`, which names databases and can run before."""
    if databases or not static_files.are_missing(settings):
        return []
    return [Error(static_files.MISSING, id="petstore.E001")]


@register(TAG, deploy=True)
def connections_fit(**_options: Any) -> list[CheckMessage]:
    """Warn (W003) if PostgreSQL has fewer connections than this instance opens while it is reloaded.

    Behind PgBouncer it opens them there.
    """
    if connection.vendor != "postgresql" or connection.settings_dict.get("DISABLE_SERVER_SIDE_CURSORS"):
        return []
    need, _ = sizing.configured(1)
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT current_setting('max_connections')::int")
            [most] = cursor.fetchone()
    except DatabaseError:
        return [Info("The database cannot be reached, so its max_connections is not checked.", id="petstore.I001")]
    if most >= need.max_connections:
        return []
    return [
        CheckWarning(
            f"PostgreSQL has max_connections = {most}, and this instance needs {need.max_connections}: "
            f"{need.workers} workers open up to {need.connections} connections, as many again while they are "
            f"replaced, and {sizing.RESERVED} are for commands, backups and monitoring.",
            hint="Raise max_connections, or lower WEB_CONCURRENCY. print_sizing has the figures for more instances.",
            id="petstore.W003",
        )
    ]
