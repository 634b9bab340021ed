"""Count the requests of each API key, and announce its expiry."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.http import http_date
from rest_framework.permissions import SAFE_METHODS

from petstore_site.apikeys import usage
from petstore_site.apikeys.lookup import CachedKey
from petstore_site.apikeys.routes import route_of

GetResponse = Callable[[HttpRequest], HttpResponse]

WRITING = {"POST", "PUT", "PATCH", "DELETE"}


class KeyExpiryMiddleware:
    """Say when a key expires, on every response to a key that expires soon (docs/decisions/0031)."""

    def __init__(self, get_response: GetResponse) -> None:
        """Wrap every layer that may replace a response."""
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Add `API-Key-Expiration`, an HTTP-date (RFC 9110, section 5.6.7)."""
        response = self.get_response(request)
        key = getattr(request, "auth", None)
        expires_at = key.expires_at if isinstance(key, CachedKey) else None
        if expires_at and expires_at - timezone.now() <= settings.API_KEY_EXPIRATION_NOTICE:
            response["API-Key-Expiration"] = http_date(expires_at.timestamp())
        return response


class KeyUseMiddleware:
    """Count requests by `request.auth`, after the response is ready. Requests without a key are not counted."""

    def __init__(self, get_response: GetResponse) -> None:
        """Take the next layer."""
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Pass the request on and count it."""
        response = self.get_response(request)
        key = getattr(request, "auth", None)
        if isinstance(key, CachedKey):
            usage.count(key, route=_route_and_write(request), status=response.status_code)
        return response


def _route_and_write(request: HttpRequest) -> str:
    """Return the route's name, followed by a space and the method unless it reads: one path can have several."""
    if request.method in SAFE_METHODS:
        return route_of(request)
    return f"{route_of(request)} {request.method if request.method in WRITING else 'OTHER'}"
