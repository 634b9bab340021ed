"""The stored responses to requests with an `Idempotency-Key`."""

from typing import ClassVar, Self

from django.conf import settings
from django.db import models
from django.utils import timezone


class IdempotentRequestQuerySet(models.QuerySet["IdempotentRequest"]):
    """Chainable filters on the stored responses."""

    def expired(self) -> Self:
        """Return the responses older than `settings.IDEMPOTENCY_LIFETIME`."""
        return self.filter(created_at__lte=timezone.now() - settings.IDEMPOTENCY_LIFETIME)


class IdempotentRequest(models.Model):
    """One request and its response: `status`, `body` (JSON text) and `location` are replayed unchanged."""

    api_key = models.ForeignKey("apikeys.APIKey", on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=255, help_text="The Idempotency-Key header, without quotes.")
    fingerprint = models.CharField(max_length=64, help_text="SHA-256 of the request's path and fields.")
    status = models.PositiveSmallIntegerField(default=0)
    body = models.TextField(default="")
    location = models.CharField(max_length=500, default="")
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)

    objects: ClassVar = IdempotentRequestQuerySet.as_manager()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["api_key", "key"], name="one_answer_per_idempotency_key")
        ]

    def __str__(self) -> str:
        return self.key
