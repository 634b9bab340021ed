"""NewPet and Pet of the interface document (section 2), read strictly: a value of another JSON type is an error."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, ClassVar, TypeVar

from django.core.exceptions import ValidationError
from django.db import connection
from django.utils import timezone
from drf_spectacular.utils import OpenApiExample, extend_schema_field, extend_schema_serializer
from rest_framework import serializers
from rest_framework.utils.serializer_helpers import BindingDict

from categories.models import Category
from categories.names import NAME_LENGTH, PATTERN
from history.acting import acting
from pets import rules, statements
from pets.models import Pet, PetStatus
from rest.statements import Row, Steps, run

T = TypeVar("T")

NAME_IN_WORDS = (
    f"The animal's name: 1 to {NAME_LENGTH} Unicode characters, with at least one visible character, without control "
    "characters and lone surrogates. It is stored exactly as sent."
)


def _read(rule: Callable[[Any], T], data: Any) -> T:
    if data is serializers.empty:
        raise serializers.ValidationError(rules.REQUIRED, "required")
    try:
        return rule(data)
    except ValidationError as error:
        raise serializers.ValidationError(error.messages) from None


@extend_schema_field({"type": "string", "minLength": 1, "maxLength": NAME_LENGTH, "pattern": PATTERN})
class NameField(serializers.CharField):
    """A JSON string that is a valid name, kept exactly as sent."""

    def run_validation(self, data: Any = serializers.empty) -> Any:
        """Return the name; raises `ValidationError`."""
        return _read(rules.name, data)


class CategoryIdField(serializers.IntegerField):
    """A JSON number that is an int64 integer (`1.0` is one)."""

    def run_validation(self, data: Any = serializers.empty) -> Any:
        """Return the integer; raises `ValidationError`."""
        return _read(rules.identifier, data)


class StatusField(serializers.ChoiceField):
    """Exactly one of the three strings."""

    def run_validation(self, data: Any = serializers.empty) -> Any:
        """Return the status, `available` if there is none; raises `ValidationError`."""
        return PetStatus.AVAILABLE if data is serializers.empty else _read(rules.status, data)


class NewPetSerializer(serializers.ModelSerializer[Pet]):
    """NewPet: the request body that adds an animal."""

    name = NameField(help_text=NAME_IN_WORDS)
    categoryId = CategoryIdField(  # noqa: N815 - the interface document's name
        source="category_id",
        help_text="Identifier of the category the animal belongs to",
        min_value=1,
        max_value=rules.INT64_MAX,
    )
    status = StatusField(choices=PetStatus.choices, required=False, help_text="Availability status")

    class Meta:
        """The fields in the order in which their errors are listed."""

        model = Pet
        fields: ClassVar = ["name", "categoryId", "status"]
        validators: ClassVar[list[Any]] = []  # or the model would be searched for them at each request

    @property
    def fields(self) -> BindingDict:
        """Return the fields, which know nothing of a request: made once, not for each."""
        return _fields_of_new_pet()

    def to_internal_value(self, data: Any) -> Any:
        """Return the values; raises `ValidationError` with all that is wrong, a category that does not exist too.

        If nothing else is wrong, the statement that adds the animal looks for its category.
        """
        try:
            return super().to_internal_value(data)
        except serializers.ValidationError as error:
            wrong: Any = error.detail
        if "categoryId" not in wrong and not Category.objects.filter(pk=rules.identifier(data["categoryId"])).exists():
            wrong["categoryId"] = [rules.NO_SUCH_CATEGORY]
        raise serializers.ValidationError({name: wrong[name] for name in self.Meta.fields if name in wrong})

    def create(self, validated_data: dict[str, Any]) -> Pet:
        """Add the animal with its history; raises `ValidationError` if its category does not exist (any more)."""
        added = run(adding(validated_data))
        if not added:
            raise serializers.ValidationError({"categoryId": [rules.NO_SUCH_CATEGORY]})
        return Pet(pk=added[0][0], **validated_data)

    def to_representation(self, pet: Pet) -> dict[str, Any]:
        """Return the created animal, a Pet."""
        return PetSerializer(pet).data


@cache
def _fields_of_new_pet() -> BindingDict:
    return super(NewPetSerializer, NewPetSerializer()).fields


def values_of(data: dict[str, Any]) -> dict[str, Any]:
    """Return the values of the columns that a NewPet sets; raises `ValidationError` at the first that is wrong.

    Whether the category exists is not asked.
    """
    return {str(field.source): field.run_validation(field.get_value(data)) for field in _fields_of_new_pet().values()}


def adding(values: Mapping[str, Any]) -> Steps:
    """Return what adds an animal with its history by who acts now, and returns its ID; nothing without its category."""
    by = acting()
    now = connection.ops.adapt_datetimefield_value(timezone.now())
    history = {"now": now, "actor": by.actor, "request_id": by.request_id}
    return statements.add(connection.vendor, {**values, **history})


@extend_schema_serializer(
    examples=[
        OpenApiExample(
            "Biscuit", {"id": 360, "name": "Biscuit", "categoryId": 5, "status": "available"}, response_only=True
        )
    ]
)
class PetSerializer(serializers.ModelSerializer[Pet]):
    """Pet: an animal as returned."""

    id = serializers.IntegerField(
        help_text="Unique identifier assigned by the service on creation", min_value=1, max_value=rules.INT64_MAX
    )
    name = NameField(help_text=NAME_IN_WORDS)
    categoryId = serializers.IntegerField(  # noqa: N815 - the interface document's name
        source="category_id",
        help_text="Identifier of the category the animal belongs to",
        min_value=1,
        max_value=rules.INT64_MAX,
    )
    status = serializers.ChoiceField(choices=PetStatus.choices, required=False, help_text="Availability status")

    class Meta:
        """The fields of the interface document, and none of the store's own."""

        model = Pet
        fields: ClassVar = ["id", "name", "categoryId", "status"]

    def to_representation(self, pet: Pet) -> dict[str, Any]:
        """Return the four fields, for a page of 100 ten times as fast as DRF's fields."""
        return shown((pet.pk, pet.name, pet.category_id, pet.status))


def shown(row: Row) -> dict[str, Any]:
    """Return a row of `pets.statements` as the API shows it, a Pet."""
    return {"id": row[0], "name": row[1], "categoryId": row[2], "status": row[3]}
