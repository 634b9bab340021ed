"""Count the requests of each API key, announce its expiry, and record the requests that support may be asked about."""

import time
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.http import http_date

from history.acting import acting
from petstore_site.apikeys import records, usage
from petstore_site.apikeys.lookup import CachedKey
from petstore_site.apikeys.models import LONGEST_MESSAGE
from petstore_site.apikeys.records import Record

GetResponse = Callable[[HttpRequest], HttpResponse]

READING = {"GET", "HEAD", "OPTIONS"}
WRITING = {"POST", "PUT", "PATCH", "DELETE"}


class KeyExpiryMiddleware:
    """Tell the holder of a key that expires soon when it does, on every response to it (docs/decisions/0031)."""

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
    """Looks at `request.auth` after the answer is made; requests without a key are not counted."""

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


class RequestRecordMiddleware:
    """Notes for the request desk what was refused, what failed, and what wrote; outside of all that may yet refuse."""

    def __init__(self, get_response: GetResponse) -> None:
        """Wrap every layer but the one that names the request."""
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Pass the request on and note it."""
        started = time.perf_counter()
        response = self.get_response(request)
        if f"{request.path_info}/".startswith("/v1/") and _is_asked_about(request, response):
            records.note(_record(request, response, seconds=time.perf_counter() - started))
        return response


def _is_asked_about(request: HttpRequest, response: HttpResponse) -> bool:
    return response.status_code >= 400 or request.method not in READING


def _record(request: HttpRequest, response: HttpResponse, *, seconds: float) -> Record:
    key: CachedKey | None = getattr(request, "known_key", None)  # also an expired or revoked one
    return Record(
        request_id=acting().request_id,
        key=key and key.pk,
        at=timezone.now(),
        method=request.method or "",
        route=_route(request),
        status=response.status_code,
        code=getattr(response, "error_code", ""),
        message=getattr(response, "error_message", "")[:LONGEST_MESSAGE],
        milliseconds=round(seconds * 1000),
    )


def _route(request: HttpRequest) -> str:
    return request.resolver_match.view_name if request.resolver_match else ""


def _route_and_write(request: HttpRequest) -> str:
    """Return the route's name, followed by a space and the method unless it reads: one path can have several."""
    if request.method in READING:
        return _route(request)
    return f"{_route(request)} {request.method if request.method in WRITING else 'OTHER'}"
