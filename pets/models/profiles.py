"""How the columns of a supplier's files are read, once a person has said it."""

from typing import Any, ClassVar

from django.db import models


class ColumnProfile(models.Model):
    """What the columns under one header are; the next file with this header is read in the same way."""

    name = models.CharField(max_length=60, unique=True)
    header = models.JSONField(help_text="The titles of the columns, in lower case and without blanks around them.")
    columns = models.JSONField(help_text="What each of them is in an import; empty for one that is left out.")
    encoding = models.CharField(max_length=40, blank=True, help_text="Of files that are not UTF-8.")
    sheet = models.CharField(max_length=255, blank=True, db_default="", help_text="Of workbooks that have several.")
    defaults = models.JSONField(default=dict, help_text="The category and status of new animals without one.")
    fill_merged = models.BooleanField(null=True, help_text="Whether merged cells have the value of the first.")
    values: Any = models.JSONField(null=True, help_text="What the values of its columns become, by column.")
    saved_by = models.CharField(max_length=150, help_text='"staff anna", or the account that ran the command.')
    saved_at = models.DateTimeField(auto_now=True)

    class Meta:
        """By name."""

        ordering: ClassVar = ["name"]

    def __str__(self) -> str:
        return self.name
