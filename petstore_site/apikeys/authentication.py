"""Accepts a request by its bearer key (RFC 6750). docs/api-keys.md describes the keys."""

from django.conf import settings
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from history.acting import identify
from petstore_site.apikeys import keys, lookup
from petstore_site.apikeys.lookup import CachedKey

MISSING = "No API key was provided. Send it as Authorization: Bearer <key>."
INVALID = "The API key is not valid. Check that you copied all of it and that it belongs to this environment."
EXPIRED = "The API key has expired. Use the key that replaced it, or ask the store for a new one."
REVOKED = "The API key was revoked. Ask the store for a new one."


class BearerKeyAuthentication(BaseAuthentication):
    """Sets `request.auth` to the `CachedKey`; there is no user, `request.user` stays None."""

    def authenticate(self, request: Request) -> tuple[None, CachedKey]:
        """Return the key, or raise `AuthenticationFailed` with one of the four `api_key_…` codes."""
        header = request.META.get("HTTP_AUTHORIZATION")
        key = None if header is None else find_key(header)
        if key is None:
            raise no_key(header)
        request._request.known_key = key  # type: ignore[attr-defined]  # noqa: SLF001 - middleware sees the inner request
        if key.revoked_at is not None:
            raise AuthenticationFailed(REVOKED, "api_key_revoked")
        if has_expired(key):
            raise AuthenticationFailed(EXPIRED, "api_key_expired")
        identify(actor(key))
        return None, key

    def authenticate_header(self, request: Request) -> str:
        """Return the challenge of a 401."""
        return challenge(request.META.get("HTTP_AUTHORIZATION", ""))


def actor(key: CachedKey) -> str:
    """Return what a history says of who used the key."""
    return f"key {key.key_id}"


def no_key(header: str | None) -> AuthenticationFailed:
    """Return the error for a request whose `Authorization` has no key of ours."""
    if header is None:
        return AuthenticationFailed(MISSING, "api_key_missing")
    return AuthenticationFailed(INVALID, "api_key_invalid")


def challenge(header: str) -> str:
    """Return the challenge of a 401 (RFC 6750, section 3) to this `Authorization`."""
    scheme, token = _split(header)
    error = ', error="invalid_token"' if scheme == "bearer" and token else ""
    return f'Bearer realm="petstore"{error}'


def has_expired(key: CachedKey) -> bool:
    """Return whether the time of the key is over."""
    return key.expires_at is not None and key.expires_at <= timezone.now()


def find_key(header: str) -> CachedKey | None:
    """Return the key that the value of `Authorization` has, expired and revoked ones too."""
    digest = digest_of(header)
    return lookup.find(digest) if digest else None


def digest_of(header: str) -> str | None:
    """Return the digest of the key that the value of `Authorization` has, or None if it has no well-formed one."""
    scheme, token = _split(header)
    # A well-formed key is narrower than RFC 6750's b64token, and than its limit of 256 characters.
    if scheme != "bearer" or not keys.is_well_formed(token, prefix=settings.API_KEY_PREFIX):
        return None
    return keys.digest(token)


def _split(header: str) -> tuple[str, str]:
    scheme, _, token = header.partition(" ")
    return scheme.lower(), token.lstrip(" ")
