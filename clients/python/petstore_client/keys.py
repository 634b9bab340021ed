"""The API key, kept out of messages: what httpx says about a wrong header, and what attrs prints, would repeat it."""

import re

from petstore_client.generated import AuthenticatedClient

BEARER_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")
"""RFC 6750, section 2.1."""


def checked(key: str | None) -> str:
    """Return the key without the white space around it. Raise `ValueError` if it cannot be a key."""
    stripped = (key or "").strip()
    if not stripped:
        message = "key is missing."
        raise ValueError(message)
    if not BEARER_TOKEN.fullmatch(stripped):
        message = "key has characters that an API key cannot have."
        raise ValueError(message)
    return stripped


class KeyedClient(AuthenticatedClient):
    """What the generated functions call with."""

    def __repr__(self) -> str:
        return "KeyedClient(token='***')"
