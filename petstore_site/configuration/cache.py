"""The cache of the rate limits, as CACHE_URL names it."""

from typing import Any

from petstore_site.configuration.addresses import SENTINEL_ADDRESS


def caches(address: str) -> dict[str, dict[str, Any]]:
    """Return Django's setting `CACHES`."""
    if address == "memory://":
        return {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    options: dict[str, Any] = {"socket_timeout": 1, "socket_connect_timeout": 1}
    if SENTINEL_ADDRESS.fullmatch(address):
        options["pool_class"] = "rest.sentinel.SentinelPool"
    return {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": [address],  # a list, since Django would split the text at commas
            "OPTIONS": options,
        }
    }
