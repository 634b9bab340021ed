"""What needs attention: a line for each kind of work that waits, with the list of it."""

from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from typing import Any, NamedTuple

from django.conf import settings
from django.db.models import F, Q, QuerySet, Value
from django.urls import reverse
from django.utils import timezone

from changes.models import late
from history.naming import who
from history.times import in_sentence, last_days
from pets.models import ENDED_EARLY, ImportRun, ImportState
from petstore_site.apikeys.models import SOON, APIKey, KeyUsage
from petstore_site.apikeys.overview import DAYS
from petstore_site.apikeys.routes import operation
from petstore_site.back_office.addresses import listed

LONG = timedelta(days=7)
"""How long an import with errors is shown."""

NEAR = timedelta(days=365)
"""How long before an operation is removed its callers become work. Until then the list of usage has their calls."""

COUNTED = 100
"""Animals that are counted; beyond that the line says that there are more."""

NAMED = 2
"""Things that a line names."""


class Matter(NamedTuple):
    """A line: "3 keys" (which leads to the list) "expire within 14 days", and which ones."""

    icon: str
    what: str
    why: str
    detail: str
    url: str
    tone: str = "warn"


class WorkItem(NamedTuple):
    """A row of what waits, of any kind: `Concern.columns` says what it has."""

    name: str
    word: str
    at: datetime
    number: int
    pk: int


def _imports(runs: list[WorkItem]) -> Matter:
    what = _so_many(len(runs), "import", "imports")
    detail = _names([_import(run) for run in sorted(runs, key=lambda run: run.pk, reverse=True)])
    behind = reverse("admin:activity", query={"kind": "import", "day_from": _week_ago()})
    return Matter("file-up", what, "had errors this week", detail, behind, "bad")


def _import(run: WorkItem) -> str:
    rejected = f"{run.number:,} row{'s' * (run.number != 1)} rejected" if run.number else run.word
    return f"{run.name}: {rejected}"


def _changes(stuck: list[WorkItem]) -> Matter:
    why = f"wait{'s' * (len(stuck) == 1)} for the worker"
    newest = sorted(stuck, key=lambda change: change.pk, reverse=True)
    detail = _names([f"{change.name}, by {who(change.word)}" for change in newest])
    url = reverse("admin:activity_change", args=[newest[0].pk]) if len(stuck) == 1 else reverse("admin:activity")
    return Matter("layers", _so_many(len(stuck), "change", "changes"), why, detail, url, "bad")


def _keys(keys: list[WorkItem]) -> Matter:
    first = sorted(keys, key=lambda key: (key.at, key.pk))
    detail = _names([f"{key.name} {in_sentence(key.at)}" for key in first])
    why = f"expire{'s' * (len(keys) == 1)} within {SOON.days} days"
    return Matter(
        "key-round", _so_many(len(keys), "key", "keys"), why, detail, listed("apikeys_apikey", state="expiring")
    )


def _calling(route: str) -> QuerySet[Any]:
    calls = KeyUsage.objects.within(last_days(DAYS)).filter(route=route).order_by()
    return APIKey.objects.filter(pk__in=calls.values("key"))


def _callers(route: str, keys: list[WorkItem]) -> Matter:
    why = f"call{'s' * (len(keys) == 1)} {operation(route)}"
    sunset = settings.API_DEPRECATIONS[route]["sunset"]
    names = _names([key.name for key in sorted(keys, key=lambda key: key.pk)])
    detail = f"{names}. It will be removed {in_sentence(sunset.date())}."
    return Matter("clock", _so_many(len(keys), "key", "keys"), why, detail, listed("apikeys_keyusage"))


def _week_ago() -> date:
    return timezone.now().date() - LONG


def _so_many(count: int, one: str, several: str) -> str:
    return f"More than {COUNTED} {several}" if count > COUNTED else f"{count} {one if count == 1 else several}"


def _names(names: list[str]) -> str:
    rest = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (" and others" if rest > 0 else "")


class Concern(NamedTuple):
    """What you need to see something that waits (the permissions of its list), its rows, and the line that it makes."""

    permissions: tuple[str, ...]
    query: QuerySet[Any]
    """Those that are named first come first."""
    columns: tuple[str, str, str, str]
    """Of each row: the name, the word, the time and the number of `WorkItem`."""
    tell: Callable[[list[WorkItem]], Matter]


def _concerns() -> list[Concern]:
    of_key = ("name", "contact", "expires_at", "pk")
    use = ("apikeys.view_apikey", "apikeys.view_keyusage")
    real = ImportRun.objects.filter(started_at__gte=datetime.combine(_week_ago(), time(), UTC))
    real = real.exclude(state__in=(ImportState.DRY_RUN, ImportState.UNDONE))
    troubled = real.filter(Q(rejected__gt=0) | Q(state__in=ENDED_EARLY))
    expiring = APIKey.objects.expiring_within(SOON).order_by("expires_at", "pk")
    routes = [
        route
        for route, deprecation in settings.API_DEPRECATIONS.items()
        if deprecation["sunset"] - timezone.now() < NEAR
    ]
    return [
        Concern(("pets.change_pet",), late(), ("what", "who", "made_at", "pk"), _changes),
        Concern(("pets.view_importrun",), troubled, ("file_name", "state", "started_at", "rejected"), _imports),
        Concern(("apikeys.view_apikey",), expiring, of_key, _keys),
        *(Concern(use, _calling(route), of_key, partial(_callers, route)) for route in routes),
    ]


def attention(user: Any) -> dict[str, Any] | None:
    """Return what needs attention and is for `user` to see; None if none of it could be."""
    concerns = [concern for concern in _concerns() if user.has_perms(concern.permissions)]
    if not concerns:
        return None
    waiting = _waiting(concerns)
    return {"matters": [concern.tell(waiting[kind]) for kind, concern in enumerate(concerns) if kind in waiting]}


def _waiting(concerns: list[Concern]) -> dict[int, list[WorkItem]]:
    """Return what waits, by the position of its concern: all of it by one statement."""
    first, *others = [_part(kind, concern) for kind, concern in enumerate(concerns)]
    items = defaultdict(list)
    for kind, *row in first.union(*others, all=True).order_by():
        items[kind].append(WorkItem(*row))
    return items


def _part(kind: int, concern: Concern) -> Any:
    # The limit is in a query within: SQLite takes none in a part of a statement.
    rows = concern.query.values("pk")[: COUNTED + 1]
    first = QuerySet[Any](concern.query.model).filter(pk__in=rows).order_by()
    return first.annotate(concern=Value(kind), place=F("pk")).values_list("concern", *concern.columns, "place")
