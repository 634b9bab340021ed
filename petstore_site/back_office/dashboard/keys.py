"""How the keys are used: by day, and by the busiest of them."""

from collections.abc import Mapping
from typing import Any

from django.db.models import Q, Sum, Value

from history.times import last_days, short_day
from petstore_site.apikeys.models import KeyUsage
from petstore_site.apikeys.overview import DAYS
from petstore_site.back_office.addresses import listed, page_of
from petstore_site.charts import Figure, Row, Spark

MOST = 5
"""Keys that are shown; the list behind has all."""

SUMS = {
    "good": Sum("count", filter=Q(status_class__lt=4)),
    "rejected": Sum("count", filter=Q(status_class=4)),
    "failed": Sum("count", filter=Q(status_class=5)),
}

COLUMNS = ("key", "key__name", "key__key_id", "key__contact", "day")


def in_use() -> dict[str, Any]:
    """Return the requests of each of the last days, and the keys with the most, by one statement.

    Each key has its days, and how many of its requests were errors.
    """
    days = last_days(DAYS)
    recent = KeyUsage.objects.filter(day__gte=days[0], day__lte=days[-1]).order_by()
    most = recent.values("key").annotate(all=Sum("count")).order_by("-all", "key")[:MOST]
    of_keys = recent.filter(key__in=most.values("key")).values_list(*COLUMNS).annotate(all=Sum("count"), **SUMS)
    everyone = recent.annotate(key_=Value(0), name=Value(""), key_id_=Value(""), contact=Value(""))
    of_all = everyone.values_list("key_", "name", "key_id_", "contact", "day").annotate(all=Sum("count"), **SUMS)
    rows = [dict(zip((*COLUMNS, "all", *SUMS), row, strict=True)) for row in of_keys.union(of_all, all=True)]
    by_day = [row for row in rows if row["key"]]
    per_day = {row["day"]: row for row in rows if not row["key"]}
    counts = {(row["key"], row["day"]): row["all"] for row in by_day}
    return {
        "days": [_row(short_day(day), per_day.get(day, {})) for day in days],
        "keys": [
            {
                "name": row["key__name"],
                "key_id": row["key__key_id"],
                "contact": row["key__contact"],
                "page": page_of("apikeys_apikey", row["key"]),
                "row": _row(row["key__name"], row),
                "spark": Spark([counts.get((row["key"], day), 0) for day in days[:-1]], tone="quiet"),
            }
            for row in _by_key(by_day)
        ],
        "all": listed("apikeys_keyusage"),
    }


def _by_key(by_day: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a row for each key with the sums of its days, the busiest first."""
    keys: dict[int, dict[str, Any]] = {}
    for row in by_day:
        key = keys.setdefault(row["key"], row | dict.fromkeys(("all", *SUMS), 0))
        key |= {name: key[name] + (row[name] or 0) for name in ("all", *SUMS)}
    return sorted(keys.values(), key=lambda key: (-key["all"], key["key"]))


def _row(label: str, counts: Mapping[str, Any]) -> Row:
    return Row(label, [Figure(counts.get(name) or 0) for name in SUMS])
