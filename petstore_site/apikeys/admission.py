"""What a request needs to be admitted: a good key, a scope that allows the method, room in its limit.

Both adapters ask here: the event loop calls `admit`, Django REST framework the classes at the end.
"""

import asyncio
from collections.abc import Callable, Container
from typing import TYPE_CHECKING

from django.conf import settings
from django.utils import timezone
from django.utils.http import http_date
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import (
    AuthenticationFailed,
    MethodNotAllowed,
    NotAuthenticated,
    PermissionDenied,
    Throttled,
)
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request as FrameworkRequest
from rest_framework.throttling import BaseThrottle

from history.acting import identify
from petstore_site.apikeys import lookup
from petstore_site.apikeys.lookup import CachedKey, Run
from petstore_site.apikeys.models import Scope
from rest.limits import Quota, count, waits_for_cache, what_is_left
from rest.request import Request, request_of

if TYPE_CHECKING:
    from rest_framework.views import APIView  # it imports the classes that the settings name, this file's too

MISSING = "No API key was provided. Send it as Authorization: Bearer <key>."
NO_BEARER = "Authorization must have the form Bearer <key>."
INVALID = "The API key is not valid. Check that you copied all of it and that it belongs to this environment."
EXPIRED = "The API key has expired. Use the key that replaced it, or ask the store for a new one."
REVOKED = "The API key was revoked. Ask the store for a new one."
CHALLENGE = 'Bearer realm="petstore"'
"""The start of `WWW-Authenticate` (RFC 6750, section 3)."""
READ_ONLY = "This operation needs a key with the scope write. The scope of this key is read."


async def admit(request: Request, run: Run) -> None:
    """Check the key (401), the method (405), the scope (403) and the limit (429), in this order.

    Raises the first error. `run` runs the steps that look up a key. Django REST framework has the same order: its
    authentication comes before its permissions, and those before its throttles.
    """
    token = _bearer_token(request)
    accept_key(request, await lookup.find_async(token, run) if token else None)
    allow(request, request.route.operations)
    allow_one_more(request, await _ask_cache(count, request.key))


def complete(request: Request) -> None:
    """Keep what is left of the limit of a good key whose request was rejected before it was counted."""
    if request.key and request.quota is None:
        keep(request, what_is_left(request.key))


async def complete_async(request: Request) -> None:
    """Do the same in the event loop."""
    if request.key and request.quota is None:
        keep(request, await _ask_cache(what_is_left, request.key))


def accept_key(request: Request, key: CachedKey | None) -> None:
    """Accept the request with the key that its `Authorization` has; raises `AuthenticationFailed`.

    The error has one of the four `api_key_…` codes, and in `auth_header` the challenge (RFC 6750, section 3).
    """
    request.known_key = key
    if error := _error(request, key):
        error.auth_header = challenge(request)  # type: ignore[attr-defined]  # as Django REST framework adds it
        raise error
    request.key = key
    if key:
        if key.expires_at and key.expires_at - timezone.now() <= settings.API_KEY_EXPIRATION_NOTICE:
            # An HTTP-date (RFC 9110, section 5.6.7); docs/decisions/0001 has the reasons.
            request.notices = {"API-Key-Expiration": http_date(key.expires_at.timestamp())}
        identify(f"key {key.key_id}")


def _error(request: Request, key: CachedKey | None) -> AuthenticationFailed | None:
    if "authorization" not in request.headers:
        return AuthenticationFailed(MISSING, "api_key_missing")
    if key is None:
        return AuthenticationFailed(INVALID if _bearer_token(request) else NO_BEARER, "api_key_invalid")
    if key.revoked_at is not None:
        return AuthenticationFailed(REVOKED, "api_key_revoked")
    if key.expires_at is not None and key.expires_at <= timezone.now():
        return AuthenticationFailed(EXPIRED, "api_key_expired")
    return None


def allow(request: Request, methods: Container[str]) -> None:
    """Raise `MethodNotAllowed` for a method that the path does not support, or `PermissionDenied` for a read key.

    The latter has the challenge in `auth_header`.
    """
    if request.method not in methods:
        raise MethodNotAllowed(request.method)
    if request.method not in SAFE_METHODS and request.key.scope != Scope.WRITE:
        error = PermissionDenied(READ_ONLY, "insufficient_scope")
        error.auth_header = f'{CHALLENGE}, error="insufficient_scope", scope="write"'  # type: ignore[attr-defined]
        raise error


def allow_one_more(request: Request, quota: Quota) -> None:
    """Keep what the rate limit says of the request; raises `Throttled` if it is over the limit."""
    keep(request, quota)
    if not quota.allowed:
        raise Throttled(quota.seconds)


async def _ask_cache(ask: Callable[[CachedKey], Quota], key: CachedKey) -> Quota:
    """Ask how much of its limit a key has left, in a thread if that is a question to another process."""
    return await asyncio.to_thread(ask, key) if waits_for_cache(key) else ask(key)


def keep(request: Request, quota: Quota) -> None:
    """Keep what the rate limit says of the request, for its response."""
    request.quota = quota
    if quota.headers:
        request.notices = {**request.notices, **quota.headers}


def challenge(request: Request) -> str:
    """Return the challenge of a 401 (RFC 6750, section 3)."""
    error = ', error="invalid_token"' if _bearer_token(request) else ""
    return f"{CHALLENGE}{error}"


def _bearer_token(request: Request) -> str:
    """Return what follows `Bearer` in `Authorization`; empty without it."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.lstrip(" ") if scheme.lower() == "bearer" else ""


# --- For Django REST framework --------------------------------------------------------------------------------------


class BearerKeyAuthentication(BaseAuthentication):
    """Sets `request.auth` to the `CachedKey`; there is no user, `request.user` stays None."""

    def authenticate(self, framework_request: FrameworkRequest) -> tuple[None, CachedKey]:
        """Return the key, or raise `AuthenticationFailed` with one of the four `api_key_…` codes."""
        request = request_of(framework_request.META)
        token = _bearer_token(request)
        accept_key(request, lookup.find(token) if token else None)
        return None, request.key

    def authenticate_header(self, framework_request: FrameworkRequest) -> str:
        return challenge(request_of(framework_request.META))


class MethodIsAllowed(BasePermission):
    """405 for a method that the path does not support, 403 for one that the scope of the key does not allow.

    401 where no authentication class has found a key; `BearerKeyAuthentication` says it more precisely.
    """

    def has_permission(self, framework_request: FrameworkRequest, view: "APIView") -> bool:
        if framework_request.auth is None:
            raise NotAuthenticated(MISSING, "api_key_missing")
        allow(request_of(framework_request.META), view.allowed_methods)
        return True


class KeyRateThrottle(BaseThrottle):
    """Reject what is over the limit of its key."""

    def allow_request(self, framework_request: FrameworkRequest, _view: "APIView") -> bool:
        """Return True, or raise `Throttled`. A request that the event loop has counted is not counted again."""
        request = request_of(framework_request.META)
        allow_one_more(request, request.quota or count(request.key))
        return True
