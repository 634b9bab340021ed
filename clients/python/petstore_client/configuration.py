"""Where the API is and which key it gets. The key is kept out of messages: httpx and attrs would print it."""

import os
import re
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

import httpx

from petstore_client.generated import AuthenticatedClient

URL, KEY = "PETSTORE_URL", "PETSTORE_API_KEY"
"""The environment variables for what is not passed."""

BEARER_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")
"""RFC 6750, section 2.1."""


def checked_url(base_url: str | None) -> str:
    """Return the address of the API without the white space around it. Raise `ValueError` if it cannot be one."""
    url = (os.environ.get(URL, "") if base_url is None else base_url).strip()
    if not re.fullmatch(r"https?://(\[[^\s/?#@]+\]|[^\s/?#@:]+)(:[0-9]*)?(/[^\s?#]*)?", url):
        message = f"base_url must be an address such as https://petstore.example/v1. Pass it, or set {URL}."
        raise ValueError(message)
    return url


def checked_key(key: str | None) -> str:
    """Return the key without the white space around it, as `checked_url`."""
    stripped = (os.environ.get(KEY, "") if key is None else key).strip()
    if not stripped:
        message = f"key is missing. Pass it, or set {KEY}."
        raise ValueError(message)
    if not BEARER_TOKEN.fullmatch(stripped):
        message = "key has characters that an API key cannot have."
        raise ValueError(message)
    return stripped


OURS = ("Authorization", "Content-Type", "Idempotency-Key", "If-None-Match")
"""The headers that a caller's own ones cannot be: the methods send them where they belong."""


def headers(key: str, more: Mapping[str, str]) -> httpx.Headers:
    """Return the headers of each request: ours, and those of the caller. Raise `ValueError` if one is in `OURS`."""
    sent = httpx.Headers({"User-Agent": f"petstore-client-python/{_version()} httpx/{httpx.__version__}"})
    sent.update(more)
    for name in OURS:
        if name in sent:
            message = f"headers cannot have {name}: the client sends it."
            raise ValueError(message)
    sent["Authorization"] = f"Bearer {key}"
    return sent


def _version() -> str:
    try:
        return version("petstore-client")
    except PackageNotFoundError:  # a copy of the folder, not an installed package
        return "unknown"


class KeyedClient(AuthenticatedClient):
    """What the generated functions call with."""

    def __repr__(self) -> str:
        return "KeyedClient(token='***')"
