"""How keys are used, which of them expire soon, and which still call deprecated operations."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import Max, Q, Sum

from petstore_site.apikeys.models import SOON, APIKey, KeyUsage
from petstore_site.apikeys.overview import ANSWERS
from petstore_site.back_office.charts import Chart, Figure, Row
from petstore_site.back_office.dashboard.addresses import listed, page_of
from petstore_site.back_office.dashboard.days import last_days, name

MOST = 10
"""Keys that are shown; the list behind has all."""

KINDS = [{"status_class__lt": 4}, {"status_class__exact": 4}, {"status_class__exact": 5}]
"""The filters behind each of `ANSWERS`."""

SUMS = {f"kind{position}": Sum("count", filter=Q(**kind)) for position, kind in enumerate(KINDS)}


def use() -> dict[str, Any]:
    """Return the charts of requests by day and by key, of the last days."""
    days = last_days()
    recent = KeyUsage.objects.filter(day__gte=days[0], day__lte=days[-1])
    counts = {row["day"]: row for row in recent.values("day").annotate(**SUMS)}
    of_days = [_row(name(day), counts.get(day, {}), day__exact=day) for day in days]
    keys = recent.values("key", "key__name", "key__key_id").annotate(all=Sum("count"), **SUMS).order_by("-all", "key")
    of_keys = [
        _row(f"{row['key__name']} ({row['key__key_id']})", row, key__id__exact=row["key"], day__gte=days[0])
        for row in keys[:MOST]
    ]
    return {
        "per_day": Chart("daily", "Requests on each day", ANSWERS, of_days),
        "per_key": Chart("keys", "Requests by key", ANSWERS, of_keys, lying=True),
        "newest_first": of_days[::-1],
        "most": MOST,
    }


def _row(label: str, counts: Mapping[str, Any], **behind: Any) -> Row:
    figures = [
        Figure(counts.get(f"kind{position}") or 0, listed("apikeys_keyusage", **behind, **kind))
        for position, kind in enumerate(KINDS)
    ]
    return Row(label, figures, listed("apikeys_keyusage", **behind))


def expiring() -> dict[str, Any]:
    """Return the keys that expire within `SOON`, the first of them first."""
    keys = APIKey.objects.expiring_within(SOON).order_by("expires_at", "pk")
    return {
        "days": SOON.days,
        "keys": [(key, page_of("apikeys_apikey", key.pk)) for key in keys[:MOST]],
        "all": Figure(keys.count(), listed("apikeys_apikey", state="expiring")),
    }


def deprecated() -> dict[str, Any]:
    """Return who called each deprecated operation in the last days, and when it will be removed."""
    return {
        "operations": [
            _operation(route, deprecation["sunset"]) for route, deprecation in settings.API_DEPRECATIONS.items()
        ]
    }


def _operation(route: str, sunset: datetime) -> dict[str, Any]:
    since = last_days()[0]
    calls = KeyUsage.objects.filter(route=route, day__gte=since)
    callers = calls.values("key", "key__name", "key__key_id").annotate(all=Sum("count"), last=Max("day"))
    rows = [
        (
            f"{row['key__name']} ({row['key__key_id']})",
            page_of("apikeys_apikey", row["key"]),
            Figure(
                row["all"], listed("apikeys_keyusage", route__exact=route, key__id__exact=row["key"], day__gte=since)
            ),
            row["last"],
        )
        for row in callers.order_by("-all", "key")[:MOST]
    ]
    behind = listed("apikeys_keyusage", route__exact=route, day__gte=since)
    return {"route": route, "sunset": sunset, "callers": rows, "all": behind}
