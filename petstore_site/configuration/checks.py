"""Warnings about settings that work but not as people may think; also printed when the service starts."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, register
from django.core.checks import Warning as CheckWarning

TAG = "petstore"


@register(TAG)
def rate_limits_are_shared(**_options: Any) -> list[CheckMessage]:
    """W001: limits, and failed sign-ins, are counted in each process by itself."""
    if not settings.HOSTED or settings.CACHE_URL != "memory://":
        return []
    return [
        CheckWarning(
            "CACHE_URL is memory://: each process counts rate limits and failed sign-ins by itself, so keys get "
            "several times their limit, and whoever guesses passwords several times the attempts.",
            hint="Set CACHE_URL to redis://HOST:6379/0.",
            id="petstore.W001",
        )
    ]
