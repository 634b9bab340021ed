"""The bearer keys for Django REST framework (RFC 6750). docs/api-keys.md describes the keys."""

from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from petstore_site.apikeys import lookup
from petstore_site.apikeys.admission import accept_key, challenge, digest_of
from petstore_site.apikeys.lookup import CachedKey
from rest.request import request_of


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
