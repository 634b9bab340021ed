"""NewPet and Pet of the interface document (section 2), read strictly: a value of another JSON type is an error."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, ClassVar, TypeVar

from django.core.exceptions import ValidationError
from drf_spectacular.utils import OpenApiExample, extend_schema_field, extend_schema_serializer
from rest_framework import serializers

from categories.names import NAME_LENGTH
from pets import rules
from pets.models import Pet, PetStatus

T = TypeVar("T")

NAME_IN_WORDS = (
    f"The animal's name: 1 to {NAME_LENGTH} Unicode characters. At least one must be visible: spaces, combining marks "
    "without a letter, zero-width characters and fillers are not. Control characters and lone surrogates are not "
    "allowed. It is stored exactly as sent."
)


def _read(rule: Callable[[Any], T], data: Any) -> T:
    if data is serializers.empty:
        raise serializers.ValidationError(rules.REQUIRED, "required")
    try:
        return rule(data)
    except ValidationError as error:
        raise serializers.ValidationError(error.messages) from None


@extend_schema_field({"type": "string", "minLength": 1, "maxLength": NAME_LENGTH})
class PetNameField(serializers.CharField):
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

    name = PetNameField(help_text=NAME_IN_WORDS)
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


class NewPet:
    """A NewPet that was sent, read by the fields of `NewPetSerializer`. Whether its category exists is not asked."""

    def __init__(self, sent: Mapping[str, Any]) -> None:
        """Read the fields that the object has; others are ignored (docs/decisions/0001)."""
        self.values: dict[str, Any] = {}
        """Column → value of each valid field."""
        self.errors: dict[str, list[str]] = {}
        """Field → what is wrong with it."""
        self.meaning: dict[str, Any] = {}
        """Each field as it was read, however it was written, and an invalid one as it was sent."""
        for name, field in _fields_of_new_pet().items():
            try:
                value = field.run_validation(sent.get(name, serializers.empty))
                self.values[str(field.source)] = self.meaning[name] = value
            except serializers.ValidationError as error:
                self.errors[name] = error.detail  # type: ignore[assignment]  # a list: these are no nested fields
                self.meaning[name] = sent.get(name)


@cache
def _fields_of_new_pet() -> Mapping[str, serializers.Field[Any, Any, Any, Any]]:
    return NewPetSerializer().fields


@extend_schema_serializer(
    examples=[
        OpenApiExample(
            "Biscuit", {"id": 360, "name": "Biscuit", "categoryId": 5, "status": "available"}, response_only=True
        )
    ]
)
class PetSerializer(NewPetSerializer):
    """Pet: an animal as returned."""

    id = serializers.IntegerField(
        help_text="Unique identifier assigned by the service on creation", min_value=1, max_value=rules.INT64_MAX
    )
    status = serializers.ChoiceField(choices=PetStatus.choices, help_text="Availability status")  # type: ignore[assignment]  # for reading

    class Meta:
        """The fields of the interface document, and none of the store's own."""

        model = Pet
        fields: ClassVar = ["id", "name", "categoryId", "status"]


CHANGES = ["saved", "removed"]
"""What a PetChange can be."""


@extend_schema_serializer(
    examples=[
        OpenApiExample(
            "Biscuit was sold",
            {
                "petId": 360,
                "change": "saved",
                "pet": {"id": 360, "name": "Biscuit", "categoryId": 5, "status": "sold"},
            },
            response_only=True,
        )
    ]
)
class PetChangeSerializer(serializers.Serializer[Any]):
    """PetChange: an animal that was added, changed or deleted."""

    petId = serializers.IntegerField(  # noqa: N815 - as categoryId
        help_text="Identifier of the animal", min_value=1, max_value=rules.INT64_MAX
    )
    change = serializers.ChoiceField(choices=CHANGES, help_text="Whether your copy must save or remove the animal")
    pet = PetSerializer(required=False, help_text="The animal as it is now. Only sent with `saved`.")
