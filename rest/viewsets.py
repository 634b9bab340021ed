"""Operations as Django REST framework's actions: it checks the request, describes it and renders the result."""

from collections.abc import Mapping
from typing import Any, ClassVar

from rest_framework.exceptions import NotFound
from rest_framework.pagination import BasePagination
from rest_framework.permissions import BasePermission
from rest_framework.request import Request as FrameworkRequest
from rest_framework.response import Response
from rest_framework.views import APIView
from rest_framework.viewsets import GenericViewSet

from database.statements import run
from rest.errors import ErrorCode
from rest.lists import DEFAULT_LIMIT, MOST, Listing
from rest.request import Operation, request_of


class KeysetPagination(BasePagination):
    """Describes the parameters of the list that a view declares as its `listing`."""

    def get_paginated_response_schema(self, schema: Any) -> Any:
        """Return the schema of a page for the API description; of an example, drf-spectacular passes no dict."""
        return schema | {"maxItems": MOST} if isinstance(schema, dict) else schema

    def get_schema_operation_parameters(self, view: APIView) -> list[dict[str, Any]]:
        listing: Listing = view.listing  # type: ignore[attr-defined]  # of `OperationViewSet`
        return [
            *(
                {"name": name, "in": "query", "required": False, "description": one.description, "schema": one.schema}
                for name, one in listing.filters.items()
            ),
            {
                "name": "limit",
                "in": "query",
                "required": False,
                "description": "The maximum number of items in the response, in digits only.",
                "schema": {"type": "integer", "minimum": 1, "maximum": MOST, "default": DEFAULT_LIMIT},
            },
            {
                "name": "cursor",
                "in": "query",
                "required": False,
                "description": "Where the page starts. Opaque: copy it from the previous page's `next` link. "
                "Use it unchanged.",
                "schema": {"type": "string", "minLength": 1},
            },
        ]


class OperationViewSet(GenericViewSet[Any]):
    """A viewset whose actions are operations."""

    operations: ClassVar[Mapping[str, Operation]]
    """Action → operation."""

    errors: ClassVar[Mapping[str, list[ErrorCode]]]
    """Action → its errors besides those of every operation, for the description."""

    listing: ClassVar[Listing]
    """What the action `list` lists, for the description."""

    pagination_class = KeysetPagination

    def respond(self, framework_request: FrameworkRequest, **_arguments: Any) -> Response:
        """Run the operation of the action."""
        request = request_of(framework_request.META)
        result = run(self.operations[str(self.action)](request))
        return Response(result.data, result.status, headers=dict(result.headers))

    list = create = retrieve = respond


class RouteIsKnown(BasePermission):
    """Reject a path that does not exist (404), after the key is checked and before its rate limit is."""

    def has_permission(self, _request: FrameworkRequest, _view: APIView) -> bool:
        raise NotFound("This path does not exist.", "route_not_found")


class UnknownRouteView(APIView):
    """Respond to unknown paths under /v1: 401 without a key, else 404."""

    schema = None  # not in the description
    permission_classes = [RouteIsKnown]
    throttle_classes = []
