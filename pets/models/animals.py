"""Animals, their history, and what the database counts of them."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from simple_history.models import HistoricalRecords

from categories.models import Category
from categories.names import NAME_LENGTH, NameField, validate_name, validate_text
from history.models import HistoryRow, change_of_row, staff_member
from pets.models.imports import ImportRun

REFERENCE_LENGTH = 100


class PetStatus(models.TextChoices):
    """Availability of an animal (interface document, section 2)."""

    AVAILABLE = "available"
    PENDING = "pending"
    SOLD = "sold"


def validate_reference(reference: str) -> None:
    """Raise `ValidationError` unless `reference` has 1 to 100 code points, one of them visible, none a control."""
    validate_text(reference, longest=REFERENCE_LENGTH)


class ChangeOfPet(HistoryRow):
    """What a change was a part of, if it was no change by itself."""

    import_line = models.BigIntegerField(null=True, blank=True, help_text="Where in the file, from 1.")
    undo_of = models.ForeignKey(
        ImportRun,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        db_constraint=False,
        db_index=False,  # looked for by the animal
        help_text="The import that this change undid for the animal.",
    )
    change = change_of_row(column="bulk_change_id")
    sold_on = models.DateField(null=True, blank=True, editable=False)
    """As of the animal; a trigger copies it. Rows of before 2.0 have it where the sale ended with the next row."""

    class Meta:
        """A part of `PetChange`."""

        abstract = True


class Pet(models.Model):
    """An animal in the catalogue."""

    name = NameField(max_length=NAME_LENGTH, validators=[validate_name])
    category = models.ForeignKey(Category, on_delete=models.PROTECT, related_name="pets", db_index=False)
    status = models.CharField(max_length=9, choices=PetStatus, default=PetStatus.AVAILABLE)
    external_reference = NameField(
        max_length=REFERENCE_LENGTH,
        null=True,
        blank=True,
        validators=[validate_reference],
        help_text="The store's own number for this animal. Imports update by it; the API never shows it.",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    sold_on = models.DateField(
        null=True,
        editable=False,
        help_text="In UTC. Kept by a trigger. Not known of an animal that was sold when it was added.",
    )

    history = HistoricalRecords(
        bases=[ChangeOfPet],
        custom_model_name="PetChange",
        verbose_name="change of an animal",
        verbose_name_plural="changes of animals",
        history_id_field=models.BigAutoField(primary_key=True),
        excluded_fields=["created_at", "updated_at", "sold_on"],
        no_db_index=["id", "category"],  # the migration makes one of id and history_id, for "the change before"
        get_user=staff_member,
    )

    class Meta:
        """One index per shape of the list: before the primary key status, category and status, or the day of sale."""

        verbose_name = "animal"
        permissions: ClassVar = [("export_pet", "Can export animals"), ("restore_pet", "Can restore deleted animals")]
        indexes: ClassVar = [
            models.Index(fields=["status", "id"], name="pet_status_id"),
            models.Index(fields=["category", "status", "id"], name="pet_category_status_id"),
            models.Index(fields=["sold_on", "id"], condition=models.Q(sold_on__isnull=False), name="pet_sold_on"),
        ]
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
        return str(self.name)


class StockMovement(models.Model):
    """So many animals more, or fewer. Triggers of the database write it, whichever way an animal is changed.

    The sum by category and status is the stock; the sum by day is how many animals of the catalogue were added then.
    `pets.stock` sums, and compacts: what was counted again has a day, or a category and a status, and not all three.
    """

    day = models.DateField(null=True, help_text="When the animals were added, in UTC.")
    category = models.ForeignKey(
        Category, on_delete=models.DO_NOTHING, null=True, related_name="+", db_constraint=False, db_index=False
    )
    status = models.CharField(max_length=9, choices=PetStatus, null=True)
    animals = models.BigIntegerField()

    def __str__(self) -> str:
        return f"{self.animals:+} {self.status}, added on {self.day}"


class SavedView(models.Model):
    """A name that one person gave to a query of the list of animals."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=60)
    query = models.CharField(max_length=2_000, blank=True)
    is_shared = models.BooleanField("share with everyone", default=False, db_default=False)

    class Meta:
        """By name."""

        ordering: ClassVar = ["name"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["user", "name"], name="saved_view_is_one")]

    def __str__(self) -> str:
        return self.name
