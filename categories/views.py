"""`/v1/categories`: read-only, so that a client can learn valid values of `categoryId`."""

from typing import ClassVar

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema, extend_schema_view
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from categories import statements
from categories.models import Category
from categories.serializers import CategorySerializer, shown
from rest.description import LIST_ERRORS
from rest.errors import ErrorCode
from rest.ids import find
from rest.paging import KeysetPagination
from rest.statements import Statements


class CategoryPagination(KeysetPagination):
    """Pages of categories."""

    statements: ClassVar[Statements] = statements
    shown: ClassVar = staticmethod(shown)


ADDITION = "Categories are an addition of this service to version 1.0.0 of the interface."


@extend_schema_view(
    list=extend_schema(
        operation_id="listCategories",
        tags=["categories"],
        summary="List categories",
        description=f"Returns the categories, newest first, in pages. {ADDITION}",
        responses={200: OpenApiResponse(CategorySerializer(many=True), "A page of categories, newest first.")},
    ),
    retrieve=extend_schema(
        operation_id="getCategory",
        tags=["categories"],
        summary="Get a category",
        description=f"Returns one category. {ADDITION}",
        responses={200: OpenApiResponse(CategorySerializer, "The category.")},
        parameters=[
            OpenApiParameter("categoryId", OpenApiTypes.INT64, "path", description="Identifier of the category.")
        ],
    ),
)
class CategoryViewSet(GenericViewSet[Category]):
    """The categories of the catalogue."""

    queryset = Category.objects.only("id", "name")
    serializer_class = CategorySerializer
    pagination_class = CategoryPagination
    errors: ClassVar = {"list": LIST_ERRORS, "retrieve": [ErrorCode.CATEGORY_NOT_FOUND]}

    def list(self, request: Request) -> Response:
        """Return a page of categories."""
        return CategoryPagination().respond(request)

    def retrieve(self, _request: Request, categoryId: str) -> Response:  # noqa: N803 - as in the description
        """Return the category that the path names, or raise `APIError`."""
        return Response(shown(find(statements, categoryId, missing=ErrorCode.CATEGORY_NOT_FOUND)))
