"""What no log line and no record may have: secrets, and characters that break a line."""

import re

from petstore_site.apikeys import keys

BEARER = re.compile(r"(?i)(bearer\s+)(?!\w+\*\*\*)\S+")
ADDRESS_PASSWORD = re.compile(r"(://[^:/@\s]*:)[^@/\s]+@")


def redact(text: str) -> str:
    """Return `text` with the secret part of API keys, bearer tokens and address passwords replaced by ***."""
    text = keys.redact(text)
    if "bearer" in text.lower():
        text = BEARER.sub(r"\1***", text)
    return ADDRESS_PASSWORD.sub(r"\1***@", text) if "://" in text else text


def may_have_secret(text: str) -> bool:
    """Return whether `redact` may change `text`."""
    return any(mark in text for mark in (*keys.PREFIXES.values(), "://")) or "bearer" in text.lower()


def on_one_line(text: str) -> str:
    """Return `text` with U+FFFD for each character that breaks a line, is invisible or cannot be encoded."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)
