"""The view of every path under /v1 that does not exist."""

from rest_framework.exceptions import NotFound
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView


class RouteIsKnown(BasePermission):
    """Reject a path that does not exist (404), after the key is checked and before its rate limit is."""

    def has_permission(self, _request: Request, _view: APIView) -> bool:
        message = "This path does not exist."
        raise NotFound(message, "route_not_found")


class UnknownRouteView(APIView):
    """Respond to unknown paths under /v1: 401 without a key, else 404."""

    schema = None  # not in the description
    permission_classes = [RouteIsKnown]
    throttle_classes = []
