"""Categories of animals."""

from typing import ClassVar

from django.db import models

from categories.names import NAME_LENGTH, NameField, validate_name


class Category(models.Model):
    """A kind of animal, such as "Dogs"; it cannot be deleted while an animal belongs to it."""

    name = NameField(max_length=NAME_LENGTH, unique=True, validators=[validate_name])
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        """Ordered by name for people; the API orders by id."""

        ordering: ClassVar = ["name"]
        verbose_name_plural = "categories"
        constraints: ClassVar = [
            models.CheckConstraint(condition=~models.Q(name=""), name="category_name_is_not_empty")
        ]

    def __str__(self) -> str:
        """Return the name."""
        return str(self.name)
