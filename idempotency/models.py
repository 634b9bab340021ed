"""The stored responses to requests with an `Idempotency-Key`."""

from typing import ClassVar, Self

from django.conf import settings
from django.db import IntegrityError, models, transaction
from django.utils import timezone


class IdempotentRequestQuerySet(models.QuerySet["IdempotentRequest"]):
    """Chainable filters on the stored responses."""

    def expired(self) -> Self:
        """Return the responses older than `settings.IDEMPOTENCY_LIFETIME`."""
        return self.filter(created_at__lte=timezone.now() - settings.IDEMPOTENCY_LIFETIME)

    def claim(self, *, api_key_id: int, key: str, fingerprint: str) -> tuple["IdempotentRequest", bool]:
        """Return the row of this key and whether it is new; one transaction at a time can claim it.

        Must run in the transaction that does the work: the row is only there if the work is. A
        concurrent claim waits for the other transaction's end (PostgreSQL: until `lock_timeout`).
        """
        mine = self.filter(api_key_id=api_key_id, key=key)
        mine.expired().delete()
        if (earlier := mine.first()) is not None:
            return earlier, False
        try:
            with transaction.atomic():
                return self.create(api_key_id=api_key_id, key=key, fingerprint=fingerprint), True
        except IntegrityError:
            return mine.get(), False


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

    def keep(self, *, status: int, body: str, location: str) -> None:
        """Store the response."""
        self.status, self.body, self.location = status, body, location
        self.save(update_fields=["status", "body", "location"])
