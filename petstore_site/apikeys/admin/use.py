"""The page of usage: the last days as figures, as a picture, by key and by operation."""

from typing import Any

from django.contrib import admin
from django.contrib.auth.decorators import permission_required
from django.http import HttpResponse
from django.template.response import TemplateResponse
from django.views.decorators.http import require_safe

from history.times import last_days
from petstore_site.apikeys.models import APIKey, KeyUsage
from petstore_site.apikeys.overview import ANSWERS, DAYS, RequestCount, by_operation, chart, counted
from petstore_site.charts import Row

MOST = 20
"""Keys that are shown. The list of keys has all."""


@require_safe
@permission_required("apikeys.view_keyusage", raise_exception=True)
def usage(request: Any) -> HttpResponse:
    """Show the page."""
    context = admin.site.each_context(request) | {"title": "Usage"} | _summary()
    return TemplateResponse(request, "admin/apikeys/keyusage/summary.html", context)


def _summary() -> dict[str, Any]:
    """Return what the page shows, by four queries."""
    days = last_days(DAYS)
    use = KeyUsage.objects.within(days)
    by_day, by_key = (counted(use.sums(column)) for column in ("day", "key"))
    return {
        "all": sum(by_day.values(), RequestCount()),
        "today": by_day[days[-1]],
        "chart": chart("Requests by day", {day: by_day[day] for day in days}),
        "keys": _keys(by_key),
        "more_keys": max(len(by_key) - MOST, 0),
        "operations": by_operation(use),
    }


def _keys(by_key: dict[int, RequestCount]) -> list[dict[str, Any]]:
    """Return the busiest keys, each with its requests and its bar: class, start and length of each piece."""
    busiest = sorted(by_key, key=lambda pk: (-by_key[pk].total, pk))[:MOST]
    keys = APIKey.objects.in_bulk(busiest)
    longest = by_key[busiest[0]].total if busiest else 0
    bars = {pk: [*Row("", by_key[pk].figures()).bar(longest, ANSWERS)] for pk in busiest}
    return [{"key": keys[pk], "tally": by_key[pk], "bar": bars[pk]} for pk in busiest if pk in keys]
