"""`/v1/categories`: read-only, so that a client can learn valid values of `categoryId`."""

from typing import ClassVar

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema, extend_schema_view

from categories.operations import CATEGORIES, get_category, list_categories
from categories.serializers import CategorySerializer
from rest.description import LIST_ERRORS
from rest.errors import ErrorCode
from rest.viewsets import OperationViewSet

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
class CategoryViewSet(OperationViewSet):
    """The categories of the catalogue."""

    serializer_class = CategorySerializer
    listing = CATEGORIES
    operations: ClassVar = {"list": list_categories, "retrieve": get_category}
    errors: ClassVar = {"list": LIST_ERRORS, "retrieve": [ErrorCode.CATEGORY_NOT_FOUND]}
