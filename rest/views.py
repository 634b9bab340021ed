"""The view of every path under /v1 that does not exist."""

from rest_framework.views import APIView

from rest.permissions import RouteIsKnown


class UnknownRouteView(APIView):
    """Respond to unknown paths under /v1: 401 without a key, else 404."""

    schema = None  # not in the description
    permission_classes = [RouteIsKnown]
    throttle_classes = []
