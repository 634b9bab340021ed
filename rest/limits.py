"""Rate limits per key, counted exactly in a moving window and sent in the IETF's draft headers.

https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
"""

import logging
import math
import time
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from threading import Lock
from typing import Any, NamedTuple

from django.conf import settings
from django.dispatch import Signal
from limits import RateLimitItem, parse
from limits.errors import StorageError
from limits.storage import storage_from_string
from limits.strategies import MovingWindowRateLimiter

from database.breaker import Breaker
from rest.rates import parse_rate

logger = logging.getLogger(__name__)

limiter_failed = Signal()
"""The cache did not respond, and rate limits are not applied. Who sends it knows no metrics."""

SECONDS_WITHOUT_LIMITS = 5
"""After a failure of the cache no request waits for it so long."""

CACHE_SECONDS = 0.07
"""How long a request waits for the cache. One that is frozen accepts connections, and one that is cut off responds to
none, so a request waits either to connect or to read, and with all the rest 0.1 s at most."""

breaker = Breaker(SECONDS_WITHOUT_LIMITS)
_one_builds = Lock()


def limiter() -> MovingWindowRateLimiter:
    """Return this process's limiter; the counts are in the cache that `CACHE_URL` names."""
    with _one_builds:  # two limiters in memory would count apart
        return build_limiter()


@cache
def build_limiter() -> MovingWindowRateLimiter:
    """Return a new limiter the first time, then the same one."""
    address = settings.CACHE_URL
    if address == "memory://":
        return MovingWindowRateLimiter(storage_from_string(address))
    timeouts = {"socket_timeout": CACHE_SECONDS, "socket_connect_timeout": CACHE_SECONDS}
    return MovingWindowRateLimiter(storage_from_string(address, wrap_exceptions=True, **timeouts))


@lru_cache(maxsize=1024)
def _item(written: str) -> RateLimitItem:
    return parse(parse_rate(written))


class Quota(NamedTuple):
    """A request that was counted, or needed not be."""

    allowed: bool = True
    headers: Mapping[str, str] = {}
    """`RateLimit-Policy` and `RateLimit`."""
    seconds: int = 0
    """Until the next request is allowed."""


def count(key: Any) -> Quota:
    """Count a request of the key by its own limit, else `settings.RATE_LIMIT`, else none.

    Requests pass while the rate-limit cache is down (docs/decisions/0010).
    """
    rate = _rate_of(key)
    if rate is None:
        return Quota()
    return _unless_lost(lambda: _quota(rate, key, allowed=limiter().hit(rate, str(key.key_id))))


def waits_for_cache(key: Any) -> bool:
    """Return whether `count` asks another process."""
    return settings.CACHE_URL != "memory://" and _rate_of(key) is not None


def what_is_left(key: Any) -> Quota:
    """Return how much of its limit the key has left, without counting."""
    rate = _rate_of(key)
    return _unless_lost(lambda: _quota(rate, key)) if rate else Quota()


def _unless_lost(ask: Callable[[], Quota]) -> Quota:
    """Return what the cache responds, or no limit while it is lost: one request in 5 s tries it, no other waits."""
    if not breaker.allows():
        return Quota()
    try:
        quota = ask()
    except StorageError:
        breaker.fail()
        limiter_failed.send(sender=None)
        logger.exception("Rate limits are not applied for %s s: their counts cannot be reached", breaker.seconds)
        return Quota()
    breaker.succeed()
    return quota


def _rate_of(key: Any) -> RateLimitItem | None:
    written = getattr(key, "rate_limit", "") or settings.RATE_LIMIT
    return _item(written) if written else None


def _quota(rate: RateLimitItem, key: Any, *, allowed: bool = True) -> Quota:
    stats = limiter().get_window_stats(rate, str(key.key_id))
    seconds = max(1, math.ceil(stats.reset_time - time.time()))
    headers = {
        "RateLimit-Policy": f'"default";q={rate.amount};w={rate.get_expiry()}',
        "RateLimit": f'"default";r={stats.remaining};t={seconds}',
    }
    return Quota(allowed, headers, seconds)
