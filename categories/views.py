"""`/v1/categories`: read-only, so that a client can learn valid values of `categoryId`."""

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework import mixins
from rest_framework.exceptions import NotFound
from rest_framework.viewsets import GenericViewSet

from categories.models import Category
from categories.serializers import CategorySerializer

ADDITION = "Categories are an addition of this service to version 1.0.0 of the interface."


@extend_schema_view(
    list=extend_schema(
        operation_id="listCategories",
        tags=["categories"],
        summary="List categories",
        description=f"Returns the categories, newest first, in pages. {ADDITION}",
    ),
    retrieve=extend_schema(
        operation_id="getCategory",
        tags=["categories"],
        summary="Get a category",
        description=f"Returns one category. {ADDITION}",
        parameters=[
            OpenApiParameter("categoryId", OpenApiTypes.INT64, "path", description="Identifier of the category.")
        ],
    ),
)
class CategoryViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, GenericViewSet[Category]):
    """The categories of the catalogue."""

    queryset = Category.objects.only("id", "name")
    serializer_class = CategorySerializer

    def get_object(self) -> Category:
        """Return the category that the path names, or raise `NotFound`."""
        pk = self.kwargs["categoryId"]
        category = self.get_queryset().filter(pk=pk).first() if pk else None
        if category is None:
            message = "No category has this ID."
            raise NotFound(message, "category_not_found")
        return category
