"""The cache of the rate limits, as CACHE_URL names it."""

import re
from typing import Any

from petstore_site.configuration.addresses import split

SENTINEL_ADDRESS = re.compile(
    r"redis\+sentinel://(:[^:@/]+@)?[\w.-]+:[0-9]{1,5}(,[\w.-]+:[0-9]{1,5})*/[\w.-]+", re.ASCII
)


def cache_address(text: str) -> str:
    """Return the address of the cache; raises `ValueError` with a sentence that follows the name."""
    if text == "memory://" or SENTINEL_ADDRESS.fullmatch(text):
        return text
    sentence = (
        "must be memory://, redis://[:PASSWORD@]HOST:6379/0, or the same with rediss, valkey or valkeys; or "
        "redis+sentinel://[:PASSWORD@]HOST:26379,HOST:26379/SERVICE."
    )
    parts = split(text, sentence)
    known = parts.scheme in {"redis", "rediss", "valkey", "valkeys"}
    if not known or parts.query or not re.fullmatch(r"(/[0-9]*)?", parts.path):
        raise ValueError(sentence)
    return text.replace("valkey", "redis", 1) if text.startswith("valkey") else text


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
