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
    response: httpx.Response
    """As it came: `response.content` is the body."""


def info(response: httpx.Response) -> ResponseInfo:
    """Return what `on_response` gets."""
    headers = response.headers
    return ResponseInfo(response.status_code, headers.get("X-Request-ID"), _rate_limit(headers), headers, response)


LINK = re.compile(r"""<([^>]*)>([^",<]*(?:"(?:[^"\\]|\\.)*"[^",<]*)*)""")
PARAMETER = re.compile(r"""([^\s;=,"]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))""")


def next_url(link: str) -> str | None:
    """Return the URL of the `next` link in a `Link` header, whatever its quotes and the order (RFC 8288)."""
    for url, parameters in LINK.findall(link):
        relations = [quoted or plain for name, quoted, plain in PARAMETER.findall(parameters) if name.lower() == "rel"]
        if relations and "next" in relations[0].lower().split():
            return str(url)
    return None


def _rate_limit(headers: httpx.Headers) -> RateLimit | None:
    text = f"{headers.get('RateLimit-Policy')};{headers.get('RateLimit')}"
    found = dict(re.findall(r";\s*([qwrt])=(\d+)", text))
    return RateLimit(*(int(found[name]) for name in "qwrt")) if len(found) == 4 else None
