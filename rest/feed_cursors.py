"""The cursors of a feed. It is loaded with the first of them: no command needs what it imports."""

import hmac
import json
import zlib
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV
from django.core.signing import BadSignature, Signer, b64_decode, b64_encode

from rest.errors import APIError, ErrorCode
from rest.media_type import render_json

CHECKSUM_BYTES = 4


class CursorCipher:
    """Encrypts cursors, since what they say of the database concerns no one else.

    The same place has the same cursor (AES-SIV), so that an empty page keeps its `ETag`. A checksum that needs no key
    distinguishes a damaged cursor from one that a former key encrypted.
    """

    def __init__(self, path: str, keys: Sequence[str], before: Signer) -> None:
        """Encrypt with the first of the keys. `before` reads the cursors of releases before 1.6.0."""
        self._path, self._before = path.encode(), before
        self._ciphers = [AESSIV(hmac.digest(key.encode(), b"cursors of feeds", "sha512")) for key in keys]

    def write(self, place: Any) -> str:
        return self._checked(self._ciphers[0].encrypt(render_json(place), [self._path]))

    def read(self, cursor: str) -> Any:
        """Return the place; raises `BadSignature`, and `APIError` if the cursor is whole but of none of the keys."""
        if self._before.sep in cursor:
            return self._before.unsign_object(cursor)
        try:
            encrypted = b64_decode(cursor.encode())[:-CHECKSUM_BYTES]
        except ValueError:
            raise BadSignature from None
        if cursor != self._checked(encrypted):
            raise BadSignature
        for cipher in self._ciphers:
            with suppress(InvalidTag):
                return json.loads(cipher.decrypt(encrypted, [self._path]))
        raise APIError(ErrorCode.CURSOR_EXPIRED)

    def _checked(self, encrypted: bytes) -> str:
        checksum = zlib.crc32(self._path + encrypted).to_bytes(CHECKSUM_BYTES)
        return b64_encode(encrypted + checksum).decode()
