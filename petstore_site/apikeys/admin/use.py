"""The page of usage: the last days as figures, as a picture, by key and by operation."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.contrib.auth.decorators import permission_required
from django.db.models import Sum
from django.http import HttpResponse
from django.template.response import TemplateResponse
from django.views.decorators.http import require_safe

from history.times import last_days, short_day
from petstore_site.apikeys.models import APIKey, KeyUsage
from petstore_site.apikeys.overview import ANSWERS, DAYS, RequestCount
from petstore_site.apikeys.routes import operation
from petstore_site.charts import Chart, Row

MOST = 20
"""Keys that are shown. The list of keys has all."""


@require_safe
@permission_required("apikeys.view_keyusage", raise_exception=True)
def usage(request: Any) -> HttpResponse:
    """Show the page."""
    context = {"title": "Usage", "may_see_keys": request.user.has_perm("apikeys.view_apikey"), **_summary()}
    shared = admin.site.each_context(request)
    return TemplateResponse(request, "admin/apikeys/keyusage/summary.html", shared | context)


def _summary() -> dict[str, Any]:
    """Return what the page shows, by four queries."""
    days = last_days(DAYS)
    use = KeyUsage.objects.filter(day__gte=days[0], day__lte=days[-1])
    by_day, by_key, by_route = (_tallies(use, column) for column in ("day", "key", "route"))
    rows = [Row(short_day(day), by_day[day].figures()) for day in days]
    return {
        "all": _sum(by_day.values()),
        "today": by_day[days[-1]],
        "chart": Chart("Requests by day", ANSWERS, rows, is_last_open=True),
        "keys": _keys(by_key),
        "more_keys": max(len(by_key) - MOST, 0),
        "operations": [
            {
                "operation": operation(route),
                "tally": tally,
                "sunset": settings.API_DEPRECATIONS.get(route, {}).get("sunset"),
            }
            for route, tally in sorted(by_route.items(), key=lambda row: -row[1].total)
        ],
    }


def _tallies(use: Any, column: str) -> dict[Any, RequestCount]:
    tallies: dict[Any, RequestCount] = defaultdict(RequestCount)
    counts = use.order_by().values_list(column, "status_class").annotate(Sum("count"))
    for value, status_class, count in counts:
        tallies[value].add(status_class, count)
    return tallies


def _sum(tallies: Iterable[RequestCount]) -> RequestCount:
    every = list(tallies)
    return RequestCount(*(sum(getattr(tally, part) for tally in every) for part in ("total", "rejected", "failed")))


def _keys(by_key: dict[int, RequestCount]) -> list[dict[str, Any]]:
    """Return the busiest keys, each with its requests and its bar: class, start and length of each piece."""
    busiest = sorted(by_key, key=lambda pk: (-by_key[pk].total, pk))[:MOST]
    keys = APIKey.objects.in_bulk(busiest)
    longest = by_key[busiest[0]].total if busiest else 0
    bars = {pk: [*Row("", by_key[pk].figures()).bar(longest, ANSWERS)] for pk in busiest}
    return [{"key": keys[pk], "tally": by_key[pk], "bar": bars[pk]} for pk in busiest if pk in keys]
