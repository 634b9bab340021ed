"""What people selected in the list for a bulk change, and the views of the list that they saved."""

from typing import ClassVar

from django.conf import settings
from django.db import models

from changes.models import Change


class Selection(models.Model):
    """Animals that someone selected in the list, or that an undo is about: what is done with them is asked, then done.

    Once a bulk change was made of it, its blocks are what remains to be done.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    filters = models.TextField(blank=True, help_text="The query of the list, to go back to it.")
    animals = models.BigIntegerField(default=0, help_text="How many.")
    counts = models.JSONField(default=list, help_text="How many of what: a list of `[status, category, animals]`.")
    value = models.CharField(max_length=20, blank=True, help_text="What the column of the bulk change becomes.")
    change = models.OneToOneField(
        Change, on_delete=models.CASCADE, null=True, related_name="selection", db_column="bulk_change_id"
    )
    worked_at = models.DateTimeField(null=True, help_text="When the last block was done.")
    """Of release 1.6; now the change has it."""

    made_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        """Nobody is given permissions for it: it belongs to one person."""

        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.animals:,} animals"


class SelectedBlock(models.Model):
    """So many animals of a selection as fit into a short transaction."""

    selection = models.ForeignKey(Selection, on_delete=models.CASCADE, related_name="blocks")
    size = models.IntegerField()
    animals = models.JSONField(help_text="A list of `[id, row of history]`: the row that was the latest, or is undone.")

    class Meta:
        """As a selection."""

        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.size:,} animals"


class SavedView(models.Model):
    """A name that one person gave to a query of the list of animals."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=60)
    query = models.CharField(max_length=2_000, blank=True)

    class Meta:
        """By name."""

        ordering: ClassVar = ["name"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["user", "name"], name="saved_view_is_one")]

    def __str__(self) -> str:
        return self.name
