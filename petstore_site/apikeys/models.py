"""API keys, their life from issue to revocation, and how much each was used."""

import unicodedata
from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from typing import Any, ClassVar, NamedTuple, Self

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import connections, models, transaction
from django.db.models import Exists, F, OuterRef, Q, Sum, Value
from django.db.models.functions import Length
from django.db.models.lookups import Exact, GreaterThanOrEqual
from django.utils import timezone
from django.utils.timesince import timeuntil
from simple_history.models import HistoricalRecords

from history.models import HistoryRow, staff_member
from petstore_site.apikeys import keys
from rest.rates import parse_rate

MANY_DAYS = 60
"""Days that are counted; beyond that, months are."""

LONGEST = timedelta(days=36_500)
"""A hundred years: far enough for everybody, and no date overflows."""

SOON = timedelta(days=14)
"""A key that expires within this time is shown as expiring."""


class RotationError(ValueError):
    """The key cannot be rotated; the text is a sentence for people that says why."""


class Scope(models.TextChoices):
    """What a key may do; write includes read."""

    READ = "read"
    WRITE = "write"


class KeyState(models.TextChoices):
    """Where a key is in its life; an expiring key is still active."""

    ACTIVE = "active"
    EXPIRING = "expiring"
    EXPIRED = "expired"
    REVOKED = "revoked"


def validate_line(text: str) -> None:
    """Reject an API key, and text that would break a table on a terminal: control characters, or nothing visible."""
    if not text.strip() or any(unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"} for character in text):
        raise ValidationError("This must be one line of visible text.")
    if keys.SECRET.search(text):
        raise ValidationError("This must not contain an API key.")


def validate_rate_limit(text: str) -> None:
    """Reject what `parse_rate` cannot read."""
    try:
        parse_rate(text)
    except ValueError as error:
        raise ValidationError(f"A rate limit {error}") from None


def validate_expiry(expires_at: datetime) -> None:
    """Reject an expiry that has passed, or that is so far away that adding to it overflows."""
    now = timezone.now()
    if not now < expires_at <= now + LONGEST:
        raise ValidationError(f"The expiry must lie in the future, at most {LONGEST.days} days from now.")


class APIKeyQuerySet(models.QuerySet["APIKey"]):
    """Chainable filters on the keys, and the ways to get new ones."""

    def active(self) -> Self:
        return self.filter(Q(expires_at=None) | Q(expires_at__gt=timezone.now()), revoked_at=None)

    def expiring_within(self, period: timedelta) -> Self:
        """Return the active keys that expire within `period` from now."""
        return self.active().filter(expires_at__lte=timezone.now() + period)

    def ended(self) -> Self:
        return self.filter(Q(expires_at__lte=timezone.now()) | Q(revoked_at__isnull=False))

    def not_replaced(self) -> Self:
        return self.filter(replaced_by=None)

    def to_be_rotated(self) -> Self:
        """Return the keys that no rotation has replaced, without those that a rotation made less than half a life ago.

        So that a rotation run twice does not replace the new keys too, however short their lives.
        """
        now = Value(timezone.now())
        second_half = GreaterThanOrEqual(now - F("created_at"), F("expires_at") - now)
        replacements = self.model.objects.filter(replaced_by=OuterRef("pk"))
        return self.not_replaced().filter(~Exists(replacements) | Q(second_half))

    def locked(self) -> Self:
        """Return the keys locked against other writers; requests that refer to them do not wait."""
        return self.select_for_update(no_key=True)

    def issue(self, **columns: Any) -> tuple["APIKey", str]:
        """Store a new key with these columns, and return it with its text, which is known only here.

        Raises `ValidationError` (by field) for values that the back office would reject too.
        """
        key = self.model(**columns)
        secret = key.give_secret()
        key.clean_fields(exclude=["created_by"])
        with transaction.atomic():  # its history with it
            key.save(force_insert=True)
        return key, secret

    def rotate(self, *, grace: timedelta) -> list[tuple["APIKey", "APIKey", str]]:
        """Rotate each of the keys, all or none, and return (old key, new key, its text) for each.

        Raises `RotationError` if one cannot be rotated.
        """
        with transaction.atomic():
            return [(key, *key.rotate(grace=grace)) for key in self.locked().order_by("pk")]


class APIKey(models.Model):
    """A bearer key of one client. Of the key itself only the id and a digest are stored."""

    name = models.CharField(max_length=100, validators=[validate_line], help_text="Who or what uses the key.")
    contact = models.CharField(
        max_length=200, blank=True, validators=[validate_line], help_text="Whom to ask or warn about the key."
    )
    key_id = models.CharField("key id", max_length=keys.KEY_ID_LENGTH, unique=True)
    digest = models.CharField(max_length=keys.DIGEST_LENGTH, unique=True, editable=False)
    scope = models.CharField(max_length=5, choices=Scope, default=Scope.WRITE, help_text="A write key may also read.")
    rate_limit = models.CharField(
        max_length=20,
        blank=True,
        validators=[validate_rate_limit],
        help_text="Such as 600/min; units are s, min, h and day. Empty: the service's own limit.",
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    expires_at = models.DateTimeField(
        null=True, blank=True, validators=[validate_expiry], help_text="In UTC. Empty: the key does not expire."
    )
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)
    replaced_by = models.OneToOneField(
        "self", on_delete=models.SET_NULL, null=True, blank=True, related_name="replaces"
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, editable=False, related_name="+"
    )

    objects = APIKeyQuerySet.as_manager()
    history = HistoricalRecords(
        bases=[HistoryRow],
        custom_model_name="APIKeyChange",
        verbose_name="change of an API key",
        verbose_name_plural="changes of API keys",
        history_id_field=models.BigAutoField(primary_key=True),
        # A secret, use, and what never changes.
        excluded_fields=["digest", "last_used_at", "created_at", "created_by"],
        no_db_index=["id", "key_id", "replaced_by"],  # the migration makes one of id and history_id
        get_user=staff_member,
    )

    secret = ""
    """The whole key, only in the process that has just made it; no column."""

    class Meta:
        """Constraints for what our code never writes."""

        verbose_name = "API key"
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(scope__in=Scope.values), name="api_key_scope_is_known"),
            models.CheckConstraint(
                condition=Exact(Length("key_id"), keys.KEY_ID_LENGTH), name="api_key_id_has_its_length"
            ),
            models.CheckConstraint(
                condition=Exact(Length("digest"), keys.DIGEST_LENGTH), name="api_key_digest_has_its_length"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.key_id})"

    @property
    def state(self) -> KeyState:
        """Where the key is in its life at this moment."""
        now = timezone.now()
        if self.revoked_at is not None:
            return KeyState.REVOKED
        if self.expires_at is None or self.expires_at > now + SOON:
            return KeyState.ACTIVE
        return KeyState.EXPIRING if self.expires_at > now else KeyState.EXPIRED

    @property
    def is_active(self) -> bool:
        return self.state in {KeyState.ACTIVE, KeyState.EXPIRING}

    @property
    def access(self) -> str:
        """What requests with the key can do, in words."""
        return "Read and add" if self.scope == Scope.WRITE else "Read"

    @property
    def state_in_words(self) -> tuple[str, str]:
        """The kind of a badge, and what it says: "Rotating", "Expires in 2 days"."""
        if self.is_active and self.replaced_by_id:
            return "rotating", "Rotating"
        if self.state == KeyState.EXPIRING and self.expires_at:
            return KeyState.EXPIRING, f"Expires {in_days(self.expires_at)}"
        return self.state, str(self.state.label)

    def give_secret(self, *, key_id: str = "") -> str:
        """Give the unsaved key its id, random unless given, and its digest; return the whole key."""
        self.secret = keys.generate(settings.API_KEY_PREFIX, key_id=key_id)
        self.key_id = self.secret.removeprefix(settings.API_KEY_PREFIX)[: keys.KEY_ID_LENGTH]
        self.digest = keys.digest(self.secret)
        return self.secret

    def rotate(self, *, grace: timedelta, created_by: User | None = None) -> tuple["APIKey", str]:
        """Store a key that replaces this one and return it with its text; this one works for `grace` longer.

        The new key lives as long as this one was meant to. Raises `RotationError` for a key that is
        not active or already replaced. Reloads the row, so unsaved changes are lost.
        """
        with transaction.atomic():
            self.refresh_from_db(from_queryset=APIKey.objects.locked())
            if not self.is_active:
                raise RotationError(f"Key {self.key_id} is {self.state} and cannot be rotated; issue a new one.")
            if self.replaced_by is not None:
                new_id = self.replaced_by.key_id
                raise RotationError(f"Key {self.key_id} was already replaced; rotate {new_id} instead.")
            now = timezone.now()
            new = APIKey(
                name=self.name,
                contact=self.contact,
                scope=self.scope,
                rate_limit=self.rate_limit,
                created_at=now,
                expires_at=self.expires_at and now + (self.expires_at - self.created_at),
                created_by=created_by,
            )
            secret = new.give_secret()
            new.save(force_insert=True)
            self.replaced_by = new
            self.expires_at = min(self.expires_at or now + grace, now + grace)
            self.save(update_fields=["replaced_by", "expires_at"])
        return new, secret

    def revoke(self) -> bool:
        """End the key's life for good and return True; False if it was revoked before, which changes nothing."""
        with transaction.atomic():
            self.refresh_from_db(from_queryset=APIKey.objects.locked())
            if self.revoked_at is not None:
                return False
            self.revoked_at = timezone.now()
            self.save(update_fields=["revoked_at"])
        return True


def in_days(at: datetime) -> str:
    """Return "tomorrow", "in 9 days", "in 4 months"."""
    days = (at.date() - timezone.now().date()).days
    if days > MANY_DAYS:
        return f"in {timeuntil(at, depth=1)}"
    return {0: "today", 1: "tomorrow"}.get(days, f"in {days} days")


class Use(NamedTuple):
    """What uses of a key are counted under; `key` is the row's primary key, `day` is in UTC."""

    key: int
    day: date
    route: str
    status_class: int


# Django's bulk_create can overwrite on conflict, but not add.
ADD_USE = """
    INSERT INTO apikeys_keyusage (key_id, day, route, status_class, count) VALUES (%s, %s, %s, %s, %s)
    ON CONFLICT (key_id, day, route, status_class) DO UPDATE SET count = apikeys_keyusage.count + excluded.count
"""


class KeyUsageQuerySet(models.QuerySet["KeyUsage"]):
    """The ways to add to the counts, and to sum them."""

    def within(self, days: Sequence[date]) -> Self:
        """Return the counts of these days, which follow each other."""
        return self.filter(day__range=(days[0], days[-1]))

    def sums(self, *columns: str) -> Any:
        """Return rows of these columns, a status class, and how many requests that were."""
        return self.order_by().values_list(*columns, "status_class").annotate(Sum("count"))

    def add_all(self, counts: Iterable[tuple[Use, int]]) -> None:
        """Add to the rows of these uses, which are made where there are none yet."""
        rows = [(use.key, use.day.isoformat(), use.route, use.status_class, count) for use, count in counts]
        with connections[self.db].cursor() as cursor:
            cursor.executemany(ADD_USE, rows)


class KeyUsage(models.Model):
    """How many requests a key made on a day (UTC), by route name and status class (2 for 2xx).

    A method that does not read follows the name, as in "pet-list POST": one path can be read and written.
    """

    key = models.ForeignKey(APIKey, on_delete=models.CASCADE, db_index=False, related_name="usage")
    day = models.DateField()
    route = models.CharField(max_length=200)
    status_class = models.PositiveSmallIntegerField()
    count = models.BigIntegerField()

    objects = KeyUsageQuerySet.as_manager()

    class Meta:
        """One row for each combination; its index also finds a key's rows, the other one those of the last days."""

        verbose_name_plural = "key usage"
        indexes: ClassVar = [models.Index(fields=["day"], name="key_usage_day")]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["key", "day", "route", "status_class"], name="one_count_per_use"),
            models.CheckConstraint(condition=Q(status_class__range=(1, 5)), name="key_usage_status_class_is_known"),
            models.CheckConstraint(condition=Q(count__gt=0), name="key_usage_count_is_positive"),
        ]

    def __str__(self) -> str:
        return f"{self.count:,} times {self.status_class}xx on {self.day}"
