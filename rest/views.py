"""The view of every address under /v1 that does not exist."""

from rest_framework.views import APIView

from rest.permissions import RouteIsKnown


class UnknownRouteView(APIView):
    """Answers every unknown path under /v1: 401 without a key, then 404."""

    schema = None  # not in the description
    permission_classes = [RouteIsKnown]
    throttle_classes = []
