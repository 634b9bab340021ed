"""The written form of an API key, without storage and without HTTP.

`<prefix><8 base62 key id><32 base62 secret><6 base62 CRC-32>`: one word that a double click selects, that a
secret scanner finds by its fixed shape, and whose typos are rejected without a query.
"""

import re
import secrets
import string
from collections.abc import Iterable
from hashlib import sha256
from zlib import crc32

PREFIXES = {"production": "pets_live_", "staging": "pets_test_", "development": "pets_test_"}
"""The start of a key, by environment; CONTRIBUTING.md lists what else a new prefix changes."""

ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
KEY_ID_LENGTH = 8
SECRET_LENGTH = 32
CHECKSUM_LENGTH = 6
DIGEST_LENGTH = 64

KEY_ID = re.compile(f"[0-9A-Za-z]{{{KEY_ID_LENGTH}}}")


def secret_with(prefixes: Iterable[str]) -> re.Pattern[str]:
    """Return what finds a key with one of these prefixes, whole or cut off. Its first group can be shown."""
    start = "|".join(map(re.escape, prefixes))
    return re.compile(rf"((?:{start})[0-9A-Za-z]{{{KEY_ID_LENGTH}}})[0-9A-Za-z]{{4,}}")


SECRET = secret_with(PREFIXES.values())
BODY = re.compile(f"[0-9A-Za-z]{{{KEY_ID_LENGTH + SECRET_LENGTH + CHECKSUM_LENGTH}}}")


def generate(prefix: str, *, key_id: str = "") -> str:
    """Return a new random key; `key_id` is made up too unless one is given."""
    start = prefix + (key_id or generate_key_id()) + _random_text(SECRET_LENGTH)
    return start + checksum(start)


def generate_key_id() -> str:
    """Return a random key id."""
    return _random_text(KEY_ID_LENGTH)


def is_well_formed(text: str, *, prefix: str) -> bool:
    """Return whether `text` has the prefix, length, alphabet and checksum of a key."""
    if not text.startswith(prefix) or not BODY.fullmatch(text, len(prefix)):
        return False
    return checksum(text[:-CHECKSUM_LENGTH]) == text[-CHECKSUM_LENGTH:]


def digest(text: str) -> str:
    """Return the SHA-256 of the whole key, in hexadecimal; a fast hash will do, as the secret is random."""
    return sha256(text.encode("ascii")).hexdigest()


def checksum(start: str) -> str:
    """Return the CRC-32 of everything before it, in base62, most significant digit first."""
    number, digits = crc32(start.encode("ascii")), ""
    for _ in range(CHECKSUM_LENGTH):
        number, digit = divmod(number, len(ALPHABET))
        digits = ALPHABET[digit] + digits
    return digits


def _random_text(length: int) -> str:
    return "".join(secrets.choice(ALPHABET) for _ in range(length))
