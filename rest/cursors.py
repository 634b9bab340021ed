"""Cursors: the ID of a page's last row, signed for its list and filters (docs/decisions/0002)."""

import hmac
from collections.abc import Mapping
from functools import cached_property, lru_cache
from hashlib import sha256
from urllib.parse import urlencode

from django.conf import settings
from django.core.signing import Signer, b64_decode, b64_encode
from django.utils.encoding import force_bytes


class CursorSigner(Signer):
    """Django's `Signer`, which keeps the key that it derives: signing took a tenth of a list."""

    def sign_id(self, pk: int) -> str:
        """Return what `sign_object` returns for a number."""
        return self.sign(b64_encode(b"%d" % pk).decode())

    def unsign_id(self, cursor: str) -> int:
        """Return what was signed; raises `BadSignature`."""
        return int(b64_decode(self.unsign(cursor).encode()))

    def signature(self, value: str | bytes, key: str | bytes | None = None) -> str:
        """Return the signature that Django's class returns."""
        signature = (self._keyed_by(key) if key and key != self.key else self._keyed).copy()
        signature.update(force_bytes(value))
        return b64_encode(signature.digest()).decode()

    @cached_property
    def _keyed(self) -> hmac.HMAC:
        return self._keyed_by(self.key)

    def _keyed_by(self, key: str | bytes) -> hmac.HMAC:
        return hmac.new(sha256(force_bytes(self.salt) + b"signer" + force_bytes(key)).digest(), digestmod=sha256)


def signer_for(path: str, chosen: Mapping[str, str]) -> CursorSigner:
    """Return what signs and checks the cursors of a list with these filters."""
    return _made(path, tuple(chosen.items()), settings.SECRET_KEY, tuple(settings.SECRET_KEY_FALLBACKS))


@lru_cache(maxsize=64)
def _made(path: str, chosen: tuple[tuple[str, str], ...], key: str, fallbacks: tuple[str, ...]) -> CursorSigner:
    return CursorSigner(key=key, fallback_keys=list(fallbacks), sep=".", salt=f"{path}?{urlencode(chosen)}")
