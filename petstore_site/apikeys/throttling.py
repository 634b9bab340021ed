"""The rate limit of a key, for Django REST framework."""

from typing import TYPE_CHECKING

from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from petstore_site.apikeys.admission import allow_one_more
from rest.limits import count
from rest.request import request_of

if TYPE_CHECKING:
    from rest_framework.views import APIView  # it imports the classes that the settings name, this file's too


class KeyRateThrottle(BaseThrottle):
    """Reject what is over the limit of its key."""

    def allow_request(self, framework_request: Request, _view: "APIView") -> bool:
        """Return True, or raise `Throttled`. A request that the event loop has counted is not counted again."""
        request = request_of(framework_request.META)
        allow_one_more(request, request.quota or count(request.key))
        return True
