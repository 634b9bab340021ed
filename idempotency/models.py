"""The stored responses to requests with an `Idempotency-Key`."""

from typing import ClassVar, Self

from django.conf import settings
from django.db import connections, models
from django.utils import timezone

# One statement: it adds the row, or takes over one that has expired.
CLAIM = """
    INSERT INTO idempotency_idempotentrequest (api_key_id, key, fingerprint, status, body, location, created_at)
    VALUES (%s, %s, %s, 0, '', '', %s)
    ON CONFLICT (api_key_id, key) DO UPDATE
    SET fingerprint = excluded.fingerprint, status = 0, body = '', location = '', created_at = excluded.created_at
    WHERE idempotency_idempotentrequest.created_at <= %s
    RETURNING id
"""


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
        now = timezone.now()
        connection = connections[self.db]
        created_at, expired_at = map(
            connection.ops.adapt_datetimefield_value, (now, now - settings.IDEMPOTENCY_LIFETIME)
        )
        with connection.cursor() as cursor:
            cursor.execute(CLAIM, [api_key_id, key, fingerprint, created_at, expired_at])
            claimed = cursor.fetchall()
        if not claimed:
            return self.get(api_key_id=api_key_id, key=key), False
        return self.model(pk=claimed[0][0], api_key_id=api_key_id, key=key, fingerprint=fingerprint), True


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
