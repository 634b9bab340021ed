"""The stored responses to requests with an `Idempotency-Key`."""

from typing import ClassVar, Self

from django.conf import settings
from django.db import models
from django.db.models import Max, Min
from django.utils import timezone

ONE_ANSWER = "one_answer_per_idempotency_key"

PURGED_AT_ONCE = 2_000
"""IDs of rows that one statement of `purge` looks at."""


class IdempotentRequestQuerySet(models.QuerySet["IdempotentRequest"]):
    """Chainable filters on the stored responses."""

    def expired(self) -> Self:
        """Return the responses older than `settings.IDEMPOTENCY_LIFETIME`."""
        return self.filter(created_at__lte=timezone.now() - settings.IDEMPOTENCY_LIFETIME)

    def purge(self) -> int:
        """Delete the expired responses, and return how many.

        In small steps, so that no request waits long for SQLite's lock, and no statement takes longer than the deadline
        of a role. There is no index of times, so the steps are ranges of IDs.
        """
        ends = self.aggregate(first=Min("pk"), last=Max("pk"))
        starts = range(ends["first"] or 0, (ends["last"] or -1) + 1, PURGED_AT_ONCE)
        return sum(self.expired().filter(pk__range=(at, at + PURGED_AT_ONCE - 1)).delete()[0] for at in starts)


class IdempotentRequest(models.Model):
    """One request and its response: `status`, `body` (JSON text) and `location` are replayed unchanged."""

    # A constraint would lock the row of the key, which all of its requests share, twice for each. No key is deleted.
    api_key = models.ForeignKey(
        "apikeys.APIKey", on_delete=models.CASCADE, related_name="+", db_constraint=False, db_index=False
    )
    key = models.CharField(max_length=255, help_text="The Idempotency-Key header, without quotes.")
    fingerprint = models.CharField(max_length=64, help_text="SHA-256 of the request's path and fields.")
    status = models.PositiveSmallIntegerField(default=0)
    body = models.TextField(default="")
    location = models.CharField(max_length=500, default="")
    created_at = models.DateTimeField(auto_now_add=True)

    objects: ClassVar = IdempotentRequestQuerySet.as_manager()

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["api_key", "key"], name=ONE_ANSWER)]

    def __str__(self) -> str:
        return self.key
