"""Rate limits per key, counted exactly in a moving window and sent in the IETF's draft headers.

https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
"""

import logging
import math
import time
from functools import cache, lru_cache
from threading import Lock
from typing import TYPE_CHECKING

from django.conf import settings
from limits import (
    RateLimitItem,
    RateLimitItemPerDay,
    RateLimitItemPerHour,
    RateLimitItemPerMinute,
    RateLimitItemPerSecond,
)
from limits.errors import StorageError
from limits.storage import storage_from_string
from limits.strategies import MovingWindowRateLimiter
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from rest.rates import parse_rate

if TYPE_CHECKING:
    from rest_framework.views import APIView  # it imports the classes that the settings name, this file's too

logger = logging.getLogger(__name__)


UNITS = {
    "s": RateLimitItemPerSecond,
    "min": RateLimitItemPerMinute,
    "h": RateLimitItemPerHour,
    "day": RateLimitItemPerDay,
}

_one_builds = Lock()


def limiter() -> MovingWindowRateLimiter:
    """Return this process's limiter; the counts are in the cache that `CACHE_URL` names."""
    with _one_builds:  # two limiters in memory would count apart
        return build_limiter()


@cache
def build_limiter() -> MovingWindowRateLimiter:
    """Return a new limiter the first time, then the same one."""
    address = settings.CACHE_URL
    timeouts = {} if address == "memory://" else {"socket_timeout": 0.5, "socket_connect_timeout": 0.5}
    return MovingWindowRateLimiter(storage_from_string(address, wrap_exceptions=True, **timeouts))


@lru_cache(maxsize=1024)
def _item(written: str) -> RateLimitItem:
    rate = parse_rate(written)
    return UNITS[rate.unit](rate.requests)


class KeyRateThrottle(BaseThrottle):
    """Apply the key's own limit, else `settings.RATE_LIMIT`, else none.

    Requests pass while the rate-limit cache is down (docs/decisions/0010).
    """

    seconds_left = 0

    def allow_request(self, request: Request, view: "APIView") -> bool:
        """Return whether the request is within the limit, and set its `RateLimit` headers on the view."""
        written = getattr(request.auth, "rate_limit", "") or settings.RATE_LIMIT
        if not written:
            return True
        rate = _item(written)
        try:
            return self._count(rate, str(getattr(request.auth, "key_id", "")), view)
        except StorageError:
            logger.exception("Rate limits are not applied: their counts cannot be reached")
            return True

    def wait(self) -> float:
        """Return the seconds until the next request is allowed."""
        return self.seconds_left

    def _count(self, rate: RateLimitItem, key_id: str, view: "APIView") -> bool:
        allowed = limiter().hit(rate, key_id)
        window = limiter().get_window_stats(rate, key_id)
        self.seconds_left = max(1, math.ceil(window.reset_time - time.time()))
        view.headers["RateLimit-Policy"] = f'"default";q={rate.amount};w={rate.get_expiry()}'
        view.headers["RateLimit"] = f'"default";r={window.remaining};t={self.seconds_left}'
        return allowed
