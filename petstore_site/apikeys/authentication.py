"""What admits requests in Django REST framework: bearer keys (RFC 6750), what they allow, and their rate limits."""

from typing import TYPE_CHECKING

from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import NotAuthenticated
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from petstore_site.apikeys import lookup
from petstore_site.apikeys.admission import MISSING, accept_key, allow, allow_one_more, challenge, digest_of
from petstore_site.apikeys.lookup import CachedKey
from rest.limits import count
from rest.request import request_of

if TYPE_CHECKING:
    from rest_framework.views import APIView  # it imports the classes that the settings name, this file's too


class BearerKeyAuthentication(BaseAuthentication):
    """Sets `request.auth` to the `CachedKey`; there is no user, `request.user` stays None."""

    def authenticate(self, framework_request: Request) -> tuple[None, CachedKey]:
        """Return the key, or raise `AuthenticationFailed` with one of the four `api_key_…` codes."""
        request = request_of(framework_request.META)
        digest = digest_of(request)
        accept_key(request, lookup.find(digest) if digest else None)
        return None, request.key

    def authenticate_header(self, framework_request: Request) -> str:
        return challenge(request_of(framework_request.META))


class MethodIsAllowed(BasePermission):
    """405 for a method that the path does not support, 403 for one that the scope of the key does not allow.

    401 where no authentication class has found a key; `BearerKeyAuthentication` says it more precisely.
    """

    def has_permission(self, framework_request: Request, view: "APIView") -> bool:
        if framework_request.auth is None:
            raise NotAuthenticated(MISSING, "api_key_missing")
        allow(request_of(framework_request.META), view.allowed_methods)
        return True


class KeyRateThrottle(BaseThrottle):
    """Reject what is over the limit of its key."""

    def allow_request(self, framework_request: Request, _view: "APIView") -> bool:
        """Return True, or raise `Throttled`. A request that the event loop has counted is not counted again."""
        request = request_of(framework_request.META)
        allow_one_more(request, request.quota or count(request.key))
        return True
