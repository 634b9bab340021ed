"""The stored responses to requests with an `Idempotency-Key`."""

from typing import ClassVar, Self

from django.conf import settings
from django.db import models
from django.utils import timezone

ONE_ANSWER = "one_answer_per_idempotency_key"


class IdempotentRequestQuerySet(models.QuerySet["IdempotentRequest"]):
    """Chainable filters on the stored responses."""

    def expired(self) -> Self:
        """Return the responses older than `settings.IDEMPOTENCY_LIFETIME`."""
        return self.filter(created_at__lte=timezone.now() - settings.IDEMPOTENCY_LIFETIME)


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
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["api_key", "key"], name=ONE_ANSWER),
        ]

    def __str__(self) -> str:
        return self.key
