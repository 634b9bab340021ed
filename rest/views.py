"""The view of every address under /v1 that does not exist."""

from drf_spectacular.utils import extend_schema
from rest_framework.views import APIView

from rest.permissions import RouteIsKnown


@extend_schema(exclude=True)
class UnknownRouteView(APIView):
    """Answers every unknown path under /v1: 401 without a key, then 404."""

    permission_classes = [RouteIsKnown]
    throttle_classes = []
