"""The records of requests that support may be asked about."""

from datetime import timedelta
from typing import ClassVar, Self

from django.db import models
from django.db.models import Max, Q
from django.utils import timezone

from petstore_site.apikeys.models import APIKey

KEPT = timedelta(days=7)
"""How long the record of a request is kept."""

MOST_RECORDS = 2_000_000
"""How many records are kept, whatever their age: a week of floods does not fill the disk."""

PURGED_AT_ONCE = 2_000
"""Rows that one purge looks at; more than one flush of a process writes."""

LONGEST_METHOD = 20
LONGEST_MESSAGE = 300


class RequestRecordQuerySet(models.QuerySet["RequestRecord"]):
    """Filter the records, and delete old ones."""

    def kept(self) -> Self:
        return self.filter(at__gt=timezone.now() - KEPT)

    def errors(self) -> Self:
        return self.filter(status__gte=400)

    def newest(self, number: int) -> Self:
        """Return, unordered, about the last `number` records that were written; a range of the primary key."""
        return self.filter(pk__gt=(self._last_pk() or 0) - number)

    def expired(self) -> Self:
        """Return the records that are too old or too many."""
        too_many = Q(pk__lte=(self._last_pk() or 0) - MOST_RECORDS)
        return self.filter(Q(at__lte=timezone.now() - KEPT) | too_many)

    def purge(self) -> int:
        """Delete the expired among the oldest `PURGED_AT_ONCE` rows; return how many that were."""
        oldest = self.order_by("pk").values("pk")[:PURGED_AT_ONCE]
        return self.expired().filter(pk__in=oldest).delete()[0]

    def _last_pk(self) -> int | None:
        last: int | None = self.aggregate(last=Max("pk"))["last"]
        return last


class RequestRecord(models.Model):
    """What happened to a request under /v1: nothing of its header, query or body."""

    request_id = models.CharField("request ID", max_length=128, help_text="X-Request-ID. The caller can choose it.")
    key = models.ForeignKey(
        APIKey, on_delete=models.CASCADE, null=True, db_index=False, related_name="+", verbose_name="API key"
    )
    at = models.DateTimeField(help_text="When the response was sent.")
    method = models.CharField(max_length=LONGEST_METHOD)
    route = models.CharField(max_length=200, help_text="The route's name. Empty if no route was reached.")
    status = models.PositiveSmallIntegerField()
    code = models.CharField(max_length=50, blank=True, help_text="The Error's code.")
    message = models.CharField(
        max_length=LONGEST_MESSAGE, blank=True, help_text="The Error's message, or its beginning."
    )
    milliseconds = models.PositiveIntegerField()

    objects = RequestRecordQuerySet.as_manager()

    class Meta:
        """One index for the desk, one for a key's recent errors; the primary key finds the oldest rows."""

        verbose_name = "request"
        default_permissions = ("view",)
        indexes: ClassVar = [
            models.Index(fields=["request_id", "id"], name="request_record_request_id"),
            models.Index(fields=["key", "id"], condition=Q(status__gte=400), name="request_record_errors"),
        ]

    def __str__(self) -> str:
        return self.request_id
