"""How the keys are used: by day, and by the busiest of them."""

from collections import defaultdict
from typing import Any

from django.db.models import Sum, Value

from history.times import last_days
from petstore_site.apikeys.models import KeyUsage
from petstore_site.apikeys.overview import DAYS, RequestCount, counted, spark_of
from petstore_site.back_office.addresses import listed, page_of

MOST = 5
"""Keys that are shown; the list behind has all."""


def in_use() -> dict[str, Any]:
    """Return the requests of each of the last days, and the keys with the most, by one statement.

    Each key has its days, and how many of its requests were errors.
    """
    days = last_days(DAYS)
    recent = KeyUsage.objects.within(days)
    most = recent.order_by().values("key").annotate(all=Sum("count")).order_by("-all", "key")[:MOST]
    of_keys = recent.filter(key__in=most.values("key")).sums("key", "key__name", "key__key_id", "key__contact", "day")
    everyone = {"of": Value(0), "name": Value(""), "number": Value(""), "contact": Value("")}
    of_all = recent.annotate(**everyone).sums(*everyone, "day")
    use: dict[Any, Any] = defaultdict(lambda: defaultdict(RequestCount))
    for (*key, day), count in counted(of_keys.union(of_all, all=True)).items():
        use[tuple(key)][day] = count
    per_day = use.pop((0, "", "", ""), defaultdict(RequestCount))
    keys = [
        {
            "name": name,
            "key_id": key_id,
            "contact": contact,
            "page": page_of("apikeys_apikey", pk),
            "tally": sum(of_days.values(), RequestCount()),
            "spark": spark_of([of_days[day] for day in days]),
        }
        for (pk, name, key_id, contact), of_days in sorted(use.items())
    ]
    return {
        "days": [per_day[day] for day in days],
        "keys": sorted(keys, key=lambda key: -key["tally"].total),
        "all": listed("apikeys_keyusage"),
    }
