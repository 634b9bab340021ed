"""Who changed what, newest first: the newest changes of the animals, as Activity lists them, of categories and keys."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, Subquery

from categories.models import Category
from pets import activity as of_animals
from pets.admin.activity import tell
from petstore_site.apikeys.models import APIKey
from petstore_site.back_office.dashboard.addresses import page_of

MOST = 6
"""Lines of the card."""


@dataclass
class Event:
    """A line: "anna" "issued the key" "Web shop" (which leads to `url`); `change` is that of animals, instead."""

    at: datetime
    actor: str = ""
    verb: str = ""
    what: str = ""
    url: str = ""
    note: str = ""
    change: Any = None


def activity(user: Any) -> dict[str, Any] | None:
    """Return the newest lines that are for `user` to see; None if there are none for them."""
    sources = [source for permission, source in SOURCES if user.has_perm(permission)]
    if not sources:
        return None
    events = sorted((event for source in sources for event in source(user)), key=lambda event: event.at, reverse=True)
    return {"events": events[:MOST]}


def _animals(user: Any) -> Iterator[Event]:
    found = of_animals.changes(of_animals.Filters(), count=MOST).changes
    tell(found, user)
    for change in found:
        yield Event(change.made_at, change=change)


def _categories(_user: Any) -> Iterator[Event]:
    verbs = {"+": "added the category", "~": "changed the category", "-": "deleted the category"}
    is_there = Exists(Category.objects.filter(pk=OuterRef("id")))
    for row in Category.history.order_by("-history_id").annotate(is_there=is_there)[:MOST]:
        url = page_of("categories_category", row.id) if row.is_there else ""
        yield Event(row.history_date, row.actor, verbs[row.history_type], row.name, url)


def _keys(_user: Any) -> Iterator[Event]:
    former = APIKey.history.filter(id=OuterRef("id"), history_id__lt=OuterRef("history_id")).order_by("-history_id")
    was_revoked, was_replaced = (Subquery(former.values(name)[:1]) for name in ("revoked_at", "replaced_by"))
    rows = APIKey.history.order_by("-history_id").annotate(was_revoked=was_revoked, was_replaced=was_replaced)
    for row in rows[:MOST]:
        page = page_of("apikeys_apikey", row.id)
        yield Event(row.history_date, row.actor, _of_key(row), row.name, page, note=row.key_id)


def _of_key(row: Any) -> str:
    if row.history_type == "+":
        return "issued the key"
    if row.revoked_at and not row.was_revoked:
        return "revoked the key"
    return "rotated the key" if row.replaced_by_id and not row.was_replaced else "changed the key"


SOURCES: list[tuple[str, Callable[[Any], Iterator[Event]]]] = [
    ("pets.view_pet", _animals),
    ("categories.view_category", _categories),
    ("apikeys.view_apikey", _keys),
]
