"""Animals."""

from typing import ClassVar

from django.db import models

from categories.models import Category
from categories.names import NAME_LENGTH, NameField, validate_name


class PetStatus(models.TextChoices):
    """Availability of an animal (interface document, section 2)."""

    AVAILABLE = "available"
    PENDING = "pending"
    SOLD = "sold"


class Pet(models.Model):
    """An animal in the catalogue."""

    name = NameField(max_length=NAME_LENGTH, validators=[validate_name])
    category = models.ForeignKey(Category, on_delete=models.PROTECT, related_name="pets")
    status = models.CharField(max_length=9, choices=PetStatus, default=PetStatus.AVAILABLE)
    external_reference = models.CharField(
        max_length=100,
        null=True,
        blank=True,
        help_text="The store's own number for this animal. Imports update by it; the API never shows it.",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        """One index per shape of the list: the primary key, and status with it."""

        indexes: ClassVar = [models.Index(fields=["status", "id"], name="pet_status_id")]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["external_reference"],
                name="pet_external_reference_is_unique",
                violation_error_message="Another animal has this external reference.",
            ),
            models.CheckConstraint(condition=models.Q(status__in=PetStatus.values), name="pet_status_is_known"),
            models.CheckConstraint(condition=~models.Q(name=""), name="pet_name_is_not_empty"),
            models.CheckConstraint(condition=~models.Q(external_reference=""), name="pet_reference_is_not_empty"),
        ]

    def __str__(self) -> str:
        """Return the name."""
        return str(self.name)
