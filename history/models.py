"""What each row of history says beside the values."""

from typing import Any

from django.contrib.auth.base_user import AbstractBaseUser
from django.db import models
from django.http import HttpRequest


class HistoryRow(models.Model):
    """A row of history: django-simple-history adds the values after it, the time, the kind, the staff user."""

    actor = models.CharField(
        max_length=200, blank=True, help_text='Who, in words that stay: "staff anna", "key Ab3dE6gH", "import 12".'
    )
    request_id = models.CharField(max_length=128, blank=True, help_text="The X-Request-ID of the request, if any.")

    class Meta:
        """Each history has a table of its own."""

        abstract = True


def change_of_row(column: str | None = None) -> Any:
    """Return the field of a row of history that names the change that it is a part of, if it is no change itself."""
    return models.ForeignKey(
        "changes.Change",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="%(class)s_rows",
        db_constraint=False,
        db_index=False,
        db_column=column,
    )


def staff_member(request: HttpRequest | None, **_given: Any) -> AbstractBaseUser | None:
    """Return who is signed in to the back office; an API client has no account there."""
    user = getattr(request, "user", None)
    return user if isinstance(user, AbstractBaseUser) else None
