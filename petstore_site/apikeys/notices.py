"""Announce the expiry of a key (docs/decisions/0031)."""

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone
from django.utils.http import http_date

from petstore_site.apikeys.lookup import CachedKey


def expiration_headers(request: HttpRequest) -> dict[str, str]:
    """Return `API-Key-Expiration`, an HTTP-date (RFC 9110, section 5.6.7), if the key of the request expires soon."""
    key = getattr(request, "auth", None)
    return expiration_of(key) if isinstance(key, CachedKey) else {}


def expiration_of(key: CachedKey) -> dict[str, str]:
    """Return the same for a key."""
    if key.expires_at and key.expires_at - timezone.now() <= settings.API_KEY_EXPIRATION_NOTICE:
        return {"API-Key-Expiration": http_date(key.expires_at.timestamp())}
    return {}
