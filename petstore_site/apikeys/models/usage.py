"""How much each API key was used."""

from collections.abc import Iterable
from datetime import date
from typing import ClassVar, NamedTuple

from django.db import connections, models
from django.db.models import Q

from petstore_site.apikeys.models.api_keys import APIKey


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
    """The way to add to the counts."""

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
