"""Counts each request that an API key made."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from petstore_site.apikeys import usage
from petstore_site.apikeys.lookup import CachedKey


class KeyUseMiddleware:
    """Looks at `request.auth` after the answer is made; requests without a key are not counted."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        """Take the next layer."""
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Pass the request on and count it."""
        response = self.get_response(request)
        key = getattr(request, "auth", None)
        if isinstance(key, CachedKey):
            route = request.resolver_match.view_name if request.resolver_match else ""
            usage.count(key, route=route, status=response.status_code)
        return response
