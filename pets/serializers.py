"""NewPet and Pet of the interface document (section 2), read strictly: a value of another JSON type is a mistake."""

from decimal import Decimal
from typing import Any, ClassVar

from django.core.exceptions import ValidationError
from rest_framework import serializers

from categories.models import Category
from categories.names import NAME_LENGTH, validate_name
from pets.models import Pet, PetStatus

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
EXACT_IN_A_DOUBLE = 2**53
"""From here on neighbouring integers written as `1.0` cannot be told apart by other JSON readers."""

REQUIRED: dict[str, Any] = {"required": "is required."}


class NameField(serializers.CharField):
    """A JSON string that is a valid name, kept exactly as sent."""

    def run_validation(self, data: Any = serializers.empty) -> Any:
        """Return the name; raises `ValidationError`."""
        if data is serializers.empty:
            self.fail("required")
        if not isinstance(data, str):
            message = "must be a string."
            raise serializers.ValidationError(message)
        try:
            validate_name(data)
        except ValidationError as error:
            raise serializers.ValidationError(error.messages) from None
        return data


class CategoryIdField(serializers.IntegerField):
    """A JSON number that is an int64 integer (`1.0` is one) and names a category."""

    def run_validation(self, data: Any = serializers.empty) -> Any:
        """Return the category's id; raises `ValidationError`."""
        if data is serializers.empty:
            self.fail("required")
        number = _int64(data)
        if number is None:
            message = "must be an integer of 64 bits."
            raise serializers.ValidationError(message)
        if not Category.objects.filter(pk=number).exists():
            raise serializers.ValidationError(NO_SUCH_CATEGORY)
        return number


NO_SUCH_CATEGORY = "must be the id of an existing category."


def _int64(value: object) -> int | None:
    if isinstance(value, Decimal) and -EXACT_IN_A_DOUBLE < value < EXACT_IN_A_DOUBLE and value == int(value):
        return int(value)
    if type(value) is int and INT64_MIN <= value <= INT64_MAX:
        return value
    return None


class StatusField(serializers.ChoiceField):
    """Exactly one of the three strings."""

    def run_validation(self, data: Any = serializers.empty) -> Any:
        """Return the status, `available` if there is none; raises `ValidationError`."""
        if data is serializers.empty:
            return PetStatus.AVAILABLE
        if not isinstance(data, str) or data not in PetStatus.values:
            message = f"must be one of {', '.join(PetStatus.values)}."
            raise serializers.ValidationError(message)
        return data


class NewPetSerializer(serializers.ModelSerializer[Pet]):
    """NewPet: the request body that adds an animal."""

    name = NameField(help_text="The animal's name", min_length=1, max_length=NAME_LENGTH, error_messages=REQUIRED)
    categoryId = CategoryIdField(  # noqa: N815 - the interface document's name
        source="category_id",
        help_text="Identifier of the category the animal belongs to",
        min_value=1,
        max_value=INT64_MAX,
        error_messages=REQUIRED,
    )
    status = StatusField(choices=PetStatus.choices, required=False, help_text="Availability status")

    class Meta:
        """The members in the order in which mistakes are told."""

        model = Pet
        fields: ClassVar = ["name", "categoryId", "status"]

    def to_representation(self, pet: Pet) -> dict[str, Any]:
        """Return the animal that was made, a Pet."""
        return PetSerializer(pet).data


class PetSerializer(serializers.ModelSerializer[Pet]):
    """Pet: an animal as returned."""

    id = serializers.IntegerField(
        help_text="Unique identifier assigned by the service on creation", min_value=1, max_value=INT64_MAX
    )
    name = serializers.CharField(help_text="The animal's name", min_length=1, max_length=NAME_LENGTH)
    categoryId = serializers.IntegerField(  # noqa: N815 - the interface document's name
        source="category_id",
        help_text="Identifier of the category the animal belongs to",
        min_value=1,
        max_value=INT64_MAX,
    )
    status = serializers.ChoiceField(choices=PetStatus.choices, required=False, help_text="Availability status")

    class Meta:
        """What the interface document shows, and nothing of the store's own."""

        model = Pet
        fields: ClassVar = ["id", "name", "categoryId", "status"]

    def to_representation(self, pet: Pet) -> dict[str, Any]:
        """Return the four members; a page of 100 takes a tenth of what walking the fields takes."""
        return {"id": pet.pk, "name": pet.name, "categoryId": pet.category_id, "status": pet.status}
