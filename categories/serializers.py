"""A category as the API shows it."""

from typing import ClassVar

from drf_spectacular.utils import OpenApiExample, extend_schema_serializer
from rest_framework import serializers

from categories.models import Category
from rest.lists import INT64_MAX


@extend_schema_serializer(examples=[OpenApiExample("Dogs", {"id": 5, "name": "Dogs"}, response_only=True)])
class CategorySerializer(serializers.ModelSerializer[Category]):
    """Category = `{id, name}`."""

    id = serializers.IntegerField(help_text="Unique identifier.", min_value=1, max_value=INT64_MAX)
    name = serializers.CharField(help_text="The category's name.")

    class Meta:
        model = Category
        fields: ClassVar = ["id", "name"]
