"""What needs attention: a line for each kind of work that waits, with the list of it."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, time, timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.utils import timezone

from history.times import in_sentence
from pets.blocks import interrupted
from pets.models import ImportRun, Pet, PetStatus
from petstore_site.apikeys.models import SOON, APIKey, KeyUsage
from petstore_site.apikeys.routes import operation
from petstore_site.back_office.dashboard.addresses import listed, page_of
from petstore_site.back_office.dashboard.days import last_days

LONG = timedelta(days=7)
"""How long an animal can be pending, and an import with errors is shown."""

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


def _imports() -> Iterator[Matter]:
    since = timezone.now().date() - LONG
    runs = list(ImportRun.objects.troubled_since(since)[: COUNTED + 1])
    if runs:
        what, detail = _so_many(len(runs), "import", "imports"), _names([_import(run) for run in runs])
        yield Matter("file-up", what, "had errors this week", detail, listed("pets_importrun", trouble="week"), "bad")


def _bulk_changes() -> Iterator[Matter]:
    stuck = interrupted()
    if stuck:
        why = f"{'was' if len(stuck) == 1 else 'were'} interrupted"
        detail = _names([f"{bulk.what}, by {bulk.who}" for bulk in stuck])
        url = page_of("pets_bulkchange", stuck[0].pk) if len(stuck) == 1 else listed("pets_bulkchange")
        yield Matter("layers", _so_many(len(stuck), "bulk change", "bulk changes"), why, detail, url, "bad")


def _import(run: ImportRun) -> str:
    rejected = f"{run.rejected:,} row{'s' * (run.rejected != 1)} rejected" if run.rejected else str(run.state)
    return f"{run.file_name}: {rejected}"


def _keys() -> Iterator[Matter]:
    keys = list(APIKey.objects.expiring_within(SOON).order_by("expires_at", "pk")[: COUNTED + 1])
    if keys:
        detail = _names([f"{key.name} {in_sentence(key.expires_at)}" for key in keys])
        why = f"expire{'s' * (len(keys) == 1)} within {SOON.days} days"
        yield Matter(
            "key-round", _so_many(len(keys), "key", "keys"), why, detail, listed("apikeys_apikey", state="expiring")
        )


def _callers() -> Iterator[Matter]:
    since = last_days()[0]
    near = {route: each for route, each in settings.API_DEPRECATIONS.items() if each["sunset"] - timezone.now() < NEAR}
    for route, deprecation in near.items():
        calls = KeyUsage.objects.filter(route=route, day__gte=since).order_by()
        callers = calls.values_list("key").distinct()[: COUNTED + 1].count()
        if callers:
            why = f"call{'s' * (callers == 1)} {operation(route)}"
            detail = f"It will be removed {in_sentence(deprecation['sunset'].date())}."
            behind = listed("apikeys_keyusage", route__exact=route, day__gte=since)
            yield Matter("clock", _so_many(callers, "key", "keys"), why, detail, behind)


def _pending() -> Iterator[Matter]:
    day = timezone.now().date() - LONG
    # As a range that leads the order: asked for an equality, PostgreSQL walks the primary key past all other statuses.
    pending = Pet.objects.filter(status__gte=PetStatus.PENDING, status__lte=PetStatus.PENDING)
    waiting = pending.filter(updated_at__lt=datetime.combine(day, time(), UTC)).order_by("status", "pk")
    names = list(waiting.values_list("name", flat=True)[: COUNTED + 1])
    if names:
        why = f"{'is' if len(names) == 1 else 'are'} pending for more than a week"
        behind = listed("pets_pet", status__exact=PetStatus.PENDING.value, unchanged_since=day)
        yield Matter("hourglass", _so_many(len(names), "animal", "animals"), why, _names(names), behind)


def _so_many(count: int, one: str, several: str) -> str:
    return f"More than {COUNTED} {several}" if count > COUNTED else f"{count} {one if count == 1 else several}"


def _names(names: list[str]) -> str:
    rest = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (" and others" if rest > 0 else "")


CHECKS: list[tuple[tuple[str, ...], Callable[[], Iterator[Matter]]]] = [
    (("pets.change_pet",), _bulk_changes),
    (("pets.view_importrun",), _imports),
    (("apikeys.view_apikey",), _keys),
    (("apikeys.view_apikey", "apikeys.view_keyusage"), _callers),
    (("pets.view_pet",), _pending),
]
"""What is looked for, and what you need to see it: the permissions of the lists."""


def attention(user: Any) -> dict[str, Any] | None:
    """Return what needs attention and is for `user` to see; None if none of it could be."""
    checks = [check for permissions, check in CHECKS if user.has_perms(permissions)]
    return {"matters": [matter for check in checks for matter in check()]} if checks else None
