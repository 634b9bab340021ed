"""The list of keys: tabs for their states, and beside each key how it was used in the last days."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import PAGE_VAR, SEARCH_VAR, ChangeList
from django.db.models import Count, Q
from django.http import HttpRequest
from django.utils.functional import cached_property

from history.times import last_days
from petstore_site.apikeys.models import SOON, APIKey, APIKeyQuerySet, KeyState, KeyUsage
from petstore_site.apikeys.overview import RequestCount, counted, spark_of
from petstore_site.charts import Spark

DAYS = 14
"""Days of use beside each key, today included; its line ends yesterday, because today is not over."""

ALL = "all"
TABS: dict[str, tuple[str, Callable[[APIKeyQuerySet], APIKeyQuerySet]]] = {
    KeyState.ACTIVE: ("Active", lambda keys: keys.active()),
    KeyState.EXPIRING: ("Expiring", lambda keys: keys.expiring_within(SOON)),
    "rotating": ("Rotating", lambda keys: keys.active().exclude(replaced_by=None)),
    "ended": ("Ended", lambda keys: keys.ended()),
    ALL: ("All", lambda keys: keys.all()),
}
"""By the value in the query: what the tab is called, and its keys. Active includes expiring."""


class StateFilter(admin.SimpleListFilter):
    """The tabs. A search looks through all keys unless a tab is open."""

    title = "state"
    parameter_name = "state"

    def lookups(self, _request: HttpRequest, _model_admin: Any) -> list[tuple[str, str]]:
        return [(state, label) for state, (label, _) in TABS.items()]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        state = open_tab(self.value(), request.GET.get(SEARCH_VAR, ""))
        return TABS[state][1](queryset) if state in TABS else queryset.none()


def open_tab(state: str | None, needle: str) -> str:
    """Return the tab that is open: the one that is asked for, else all for a search, else the active keys."""
    return state or (ALL if needle else KeyState.ACTIVE)


class KeyList(ChangeList):
    """The list."""

    def tabs(self) -> list[dict[str, Any]]:
        here = open_tab(self.params.get("state"), self.query)
        counts = self._counts
        return [
            {
                "label": label,
                "is_here": state == here,
                "query": self.get_query_string({"state": state}, [PAGE_VAR]),
                "count": counts[state],
            }
            for state, (label, _) in TABS.items()
        ]

    def lines(self) -> list[tuple[APIKey, Spark, RequestCount]]:
        """Return the keys of the page, each with its days and its requests."""
        keys, days = list(self.result_list), last_days(DAYS)
        counts = counted(KeyUsage.objects.within(days).filter(key__in=keys).sums("key", "day"))
        use = [(key, [counts[key.pk, day] for day in days]) for key in keys]
        return [(key, spark_of(of_days), sum(of_days, RequestCount())) for key, of_days in use]

    def expiring(self) -> int:
        """Return how many keys expire soon, if the page is not about them."""
        return 0 if self.params.get("state") or self.query else self._counts[KeyState.EXPIRING]

    @cached_property
    def _counts(self) -> dict[str, int]:
        of_tab = {state: keys(APIKey.objects.order_by()).values("pk") for state, (_, keys) in TABS.items()}
        counts: dict[str, int] = APIKey.objects.order_by().aggregate(
            **{state: Count("pk", filter=Q(pk__in=keys)) for state, keys in of_tab.items()}
        )
        return counts
