"""Categories of animals."""

from typing import ClassVar

from django.db import models
from simple_history.models import HistoricalRecords

from categories.names import NAME_LENGTH, NameField, validate_name
from history.models import HistoryRow, change_of_row, staff_member


class CategoryIcon(models.TextChoices):
    """The pictures to choose from, by their names among the icons of the back office."""

    PAW = "", "Paw"
    BIRD = "bird"
    BUG = "bug"
    CAT = "cat"
    DOG = "dog"
    FISH = "fish"
    RABBIT = "rabbit"
    RAT = "rat"
    SHRIMP = "shrimp"
    SNAIL = "snail"
    SQUIRREL = "squirrel"
    TURTLE = "turtle"
    WORM = "worm"


class ChangeOfCategory(HistoryRow):
    """What a change was a part of, if it was no change by itself."""

    change = change_of_row()

    class Meta:
        """A part of `CategoryChange`."""

        abstract = True


class Category(models.Model):
    """A kind of animal, such as "Dogs"; it cannot be deleted while an animal belongs to it."""

    name = NameField(max_length=NAME_LENGTH, unique=True, validators=[validate_name])
    icon = models.CharField(
        max_length=20,
        choices=CategoryIcon,
        blank=True,
        default=CategoryIcon.PAW,
        db_default="",
        help_text="Beside the animals of the category, for staff only: the API does not show it.",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    history = HistoricalRecords(
        bases=[ChangeOfCategory],
        custom_model_name="CategoryChange",
        verbose_name="change of a category",
        verbose_name_plural="changes of categories",
        history_id_field=models.BigAutoField(primary_key=True),
        excluded_fields=["created_at", "updated_at"],
        no_db_index=["id", "name"],  # the migration makes one of id and history_id, for "the change before"
        get_user=staff_member,
    )

    class Meta:
        """Ordered by name for people; the API orders by id."""

        ordering: ClassVar = ["name"]
        verbose_name_plural = "categories"
        constraints: ClassVar = [
            models.CheckConstraint(condition=~models.Q(name=""), name="category_name_is_not_empty")
        ]

    def __str__(self) -> str:
        return str(self.name)
