"""Bulk changes with what was selected for them, and the views of the list that people saved."""

from typing import ClassVar

from django.conf import settings
from django.db import models


class BulkState(models.TextChoices):
    """How far a bulk change came."""

    RUNNING = "running"
    DONE = "done"
    STOPPED = "stopped"


class BulkChange(models.Model):
    """One change of many animals at once by one person, or the undoing of one; its rows of history point to it.

    It is made in blocks, each in a transaction of its own that also counts here: what it says was done was done.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    who = models.CharField(max_length=200)
    what = models.CharField(max_length=400)
    """Both in words that stay: "staff anna", "Status becomes sold"."""
    column = models.CharField(max_length=11, choices=[("status", "Status"), ("category_id", "Category")])
    changed = models.BigIntegerField(default=0, help_text="Animals that were changed.")
    left = models.JSONField(
        default=list, help_text="The animals that were left as they are: a list of `[id, name, reason]`."
    )
    left_count = models.BigIntegerField(db_default=0, help_text="How many were left. `left` has the first.")
    state = models.CharField(max_length=7, choices=BulkState, db_default=BulkState.DONE.value)
    outcome = models.CharField(max_length=300, db_default="", help_text="Why it was stopped.")
    unreached = models.BigIntegerField(db_default=0, help_text="Animals that it was stopped before.")
    made_at = models.DateTimeField(auto_now_add=True)
    undo_of = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="undoings")

    class Meta:
        """Newest first."""

        ordering: ClassVar = ["-id"]

    def __str__(self) -> str:
        """Return what it is called everywhere."""
        return f"bulk change {self.pk}"

    @property
    def becomes(self) -> str:
        """Return what its animals became, a status or the name of a category. Of an undo, nothing."""
        return "" if self.undo_of_id else self.what.partition(" becomes ")[2]


class Selection(models.Model):
    """Animals that someone selected in the list, or that an undo is about: what is done with them is asked, then done.

    Once a bulk change was made of it, its blocks are what remains to be done.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    filters = models.TextField(blank=True, help_text="The query of the list, to go back to it.")
    animals = models.BigIntegerField(default=0, help_text="How many.")
    counts = models.JSONField(default=list, help_text="How many of what: a list of `[status, category, animals]`.")
    value = models.CharField(max_length=20, blank=True, help_text="What the column of the bulk change becomes.")
    bulk_change = models.OneToOneField(BulkChange, on_delete=models.CASCADE, null=True, related_name="selection")
    worked_at = models.DateTimeField(null=True, help_text="When the last block was done.")
    made_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        """Nobody is given permissions for it: it belongs to one person."""

        default_permissions = ()

    def __str__(self) -> str:
        """Return how many animals there are."""
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
        """Return how many animals there are."""
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
        """Return the name."""
        return self.name
