"""Operations as Django REST framework's actions: it checks the request, describes it and renders the result."""

from collections.abc import Mapping
from typing import Any, ClassVar

from rest_framework.request import Request as FrameworkRequest
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from database.statements import run
from rest.errors import ErrorCode
from rest.operations import Operation
from rest.paging import KeysetPagination, Listing
from rest.requests import request_of


class OperationViewSet(GenericViewSet[Any]):
    """A viewset whose actions are operations."""

    operations: ClassVar[Mapping[str, Operation]]
    """Action → operation."""

    errors: ClassVar[Mapping[str, list[ErrorCode]]]
    """Action → its errors besides those of every operation, for the description."""

    listing: ClassVar[Listing]
    """What the action `list` lists, for the description."""

    pagination_class = KeysetPagination

    def list(self, request: FrameworkRequest) -> Response:
        """Return a page."""
        return self.respond(request)

    def create(self, request: FrameworkRequest) -> Response:
        """Create an object."""
        return self.respond(request)

    def retrieve(self, request: FrameworkRequest, **_arguments: Any) -> Response:
        """Return the object that the path names."""
        return self.respond(request)

    def respond(self, request: FrameworkRequest) -> Response:
        """Run the operation of the action."""
        asked = request_of(request.META)
        result = run(self.operations[str(self.action)](asked), reads=asked.reads)
        return Response(result.data, result.status, headers=dict(result.headers))
