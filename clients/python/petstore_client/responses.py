"""What a caller can know about a response, also about one that succeeded."""

import re
from typing import NamedTuple

import httpx


class RateLimit(NamedTuple):
    """The limit of a key: at most `limit` requests in `window` seconds."""

    limit: int
    window: int
    remaining: int
    """How many requests are left."""
    reset: int
    """Seconds until more are free."""


class ResponseInfo(NamedTuple):
    """A response, as `on_response` gets it."""

    status: int
    request_id: str | None
    """Log it: support needs it."""
    rate_limit: RateLimit | None
    """None if your key has no limit."""
    headers: httpx.Headers


def info(response: httpx.Response) -> ResponseInfo:
    """Return what `on_response` gets."""
    headers = response.headers
    return ResponseInfo(response.status_code, headers.get("X-Request-ID"), _rate_limit(headers), headers)


def _rate_limit(headers: httpx.Headers) -> RateLimit | None:
    text = f"{headers.get('RateLimit-Policy')};{headers.get('RateLimit')}"
    found = dict(re.findall(r";\s*([qwrt])=(\d+)", text))
    return RateLimit(*(int(found[name]) for name in "qwrt")) if len(found) == 4 else None
