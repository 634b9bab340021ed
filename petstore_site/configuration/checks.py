"""Warnings about settings with surprising effects; also printed when the service starts."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.core.checks import Warning as CheckWarning

TAG = "petstore"
NO_STATIC_FILES = "The service cannot start without its static files. Run: manage.py collectstatic --no-input"


def lacks_static_files() -> bool:
    """Return whether this environment needs the files that `collectstatic` collects, and there are none."""
    root = settings.STATIC_ROOT
    return root is not None and not Path(root, "staticfiles.json").exists()


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
    if databases or not lacks_static_files():
        return []
    return [Error(NO_STATIC_FILES, id="petstore.E001")]
