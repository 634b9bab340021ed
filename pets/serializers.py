"""NewPet and Pet of the interface document (section 2), as they are described; `operations.py` reads a NewPet."""

from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiExample, extend_schema_serializer
from rest_framework import serializers

from categories.names import NAME_LENGTH
from pets.models import Pet, PetStatus
from rest.lists import INT64_MAX

NAME_IN_WORDS = (
    f"The animal's name: 1 to {NAME_LENGTH} Unicode characters. At least one must be visible: spaces, combining marks "
    "without a letter, zero-width characters and fillers are not. Control characters and lone surrogates are not "
    "allowed. It is stored exactly as sent."
)


class NewPetSerializer(serializers.ModelSerializer[Pet]):
    """NewPet: the request body that adds an animal."""

    name = serializers.CharField(min_length=1, max_length=NAME_LENGTH, help_text=NAME_IN_WORDS)
    categoryId = serializers.IntegerField(  # noqa: N815 - the interface document's name
        source="category_id",
        help_text="Identifier of the category the animal belongs to",
        min_value=1,
        max_value=INT64_MAX,
    )
    status = serializers.ChoiceField(choices=PetStatus.choices, required=False, help_text="Availability status")

    class Meta:
        model = Pet
        fields: ClassVar = ["name", "categoryId", "status"]


BISCUIT = {"id": 360, "name": "Biscuit", "categoryId": 5, "status": "available"}
SOLD = {"petId": 360, "change": "saved", "pet": {**BISCUIT, "status": "sold"}}


@extend_schema_serializer(examples=[OpenApiExample("Biscuit", BISCUIT, response_only=True)])
class PetSerializer(NewPetSerializer):
    """Pet: an animal as returned."""

    id = serializers.IntegerField(
        help_text="Unique identifier assigned by the service on creation", min_value=1, max_value=INT64_MAX
    )
    status = serializers.ChoiceField(choices=PetStatus.choices, help_text="Availability status")

    class Meta:
        model = Pet
        fields: ClassVar = ["id", "name", "categoryId", "status"]


CHANGES = ["saved", "removed"]
"""What a PetChange can be."""


@extend_schema_serializer(examples=[OpenApiExample("Biscuit was sold", SOLD, response_only=True)])
class PetChangeSerializer(serializers.Serializer[Any]):
    """PetChange: an animal that was added, changed or deleted."""

    petId = serializers.IntegerField(  # noqa: N815 - as categoryId
        help_text="Identifier of the animal", min_value=1, max_value=INT64_MAX
    )
    change = serializers.ChoiceField(choices=CHANGES, help_text="Whether your copy must save or remove the animal")
    pet = PetSerializer(required=False, help_text="The animal as it is now. Only sent with `saved`.")
