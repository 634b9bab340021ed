"""Who changed what, newest first: the newest changes of the animals, as Activity lists them, of categories and keys."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from django.db.models import Case, F, OuterRef, Subquery, Value, When

from categories.models import Category
from changes import log
from changes.admin.change import describe
from petstore_site.apikeys.models import APIKey
from petstore_site.back_office.addresses import page_of

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

    @property
    def day(self) -> date:
        return self.at.astimezone(UTC).date()


def activity(user: Any) -> dict[str, Any] | None:
    """Return the newest lines that are for `user` to see; None if there are none for them."""
    others = [part() for permission, part in OTHERS.items() if user.has_perm(permission)]
    events = []
    if user.has_perm("pets.view_pet"):
        changes, _ = log.changes(log.Filters(), count=MOST)
        describe(changes, user)
        events = [Event(change.made_at, change=change) for change in changes]
    elif not others:
        return None
    if others:
        rows = others[0].union(*others[1:], all=True).order_by()
        events += map(event, rows)
    return {"events": sorted(events, key=lambda event: event.at, reverse=True)[:MOST]}


def event(row: Any) -> Event:
    """Return the line of the values of a row."""
    at, actor, verb, what, note, page, number = row
    return Event(at, actor, verb, what, page_of(page, number) if number else "", note)


def categories() -> Any:
    """Return the newest changes of categories, as values for `event`."""
    verbs = {"+": "added the category", "~": "changed the category", "-": "deleted the category"}
    verb = Case(*(When(history_type=kind, then=Value(words)) for kind, words in verbs.items()))
    there = Category.objects.filter(pk=OuterRef("id")).values("pk")
    return _in_words(_newest(Category.history), "categories_category", verb, Value(""), Subquery(there))


def keys(before: datetime | None = None, most: int = MOST) -> Any:
    """Return the newest changes of keys, those before a time, as values for `event`."""
    former = APIKey.history.filter(id=OuterRef("id"), history_id__lt=OuterRef("history_id")).order_by("-history_id")
    verb = Case(
        When(history_type="+", then=Value("issued the key")),
        When(was_revoked=None, revoked_at__isnull=False, then=Value("revoked the key")),
        When(was_replaced=None, replaced_by__isnull=False, then=Value("rotated the key")),
        default=Value("changed the key"),
    )
    was = {"was_revoked": former.values("revoked_at")[:1], "was_replaced": former.values("replaced_by")[:1]}
    return _in_words(_newest(APIKey.history, before, most), "apikeys_apikey", verb, F("key_id"), F("id"), **was)


def _newest(history: Any, before: datetime | None = None, most: int = MOST) -> Any:
    # The limit is in a query within: SQLite takes none in a part of a statement.
    older = history.filter(history_date__lt=before) if before else history.all()
    return history.filter(pk__in=older.order_by("-history_date", "-history_id").values("pk")[:most]).order_by()


def _in_words(rows: Any, page: str, verb: Any, note: Any, number: Any, **was: Any) -> Any:
    rows = rows.annotate(**{name: Subquery(values) for name, values in was.items()})
    rows = rows.annotate(verb=verb, note=note, page=Value(page), number=number)
    return rows.values_list("history_date", "actor", "verb", "name", "note", "page", "number")


OTHERS: dict[str, Callable[[], Any]] = {"categories.view_category": categories, "apikeys.view_apikey": keys}
"""By permission what else is in the list; all of it is read by one statement."""
