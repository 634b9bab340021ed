"""Who changed what, newest first. Rows of history that belong together are one line: "anna marked 24 animals sold".

The newest rows are read by their key, a few hundred at a time. An import or a bulk change has its rows one after the
other, so the rest of a large one is skipped: the feed takes as long after an import of a million as after none.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Any, NamedTuple

from django.db.models import CharField, Exists, OuterRef, Subquery, Value
from django.db.models.functions import Cast, Concat
from django.urls import reverse

from categories.models import Category
from changes.undoing import REASON
from pets.admin.story import changes_between
from pets.models import STANDING, BulkChange, ImportRun, Pet
from petstore_site.apikeys.models import APIKey
from petstore_site.back_office.callers import name_of_key
from petstore_site.back_office.dashboard.addresses import page_of

MOST = 6
"""Lines of the feed."""

WINDOW = 200
"""Rows of the history of animals that are read at once."""

READS = 4
"""How often, at most."""


@dataclass
class Event:
    """A line: "anna" "marked" "24 animals" (which leads to `url`) "sold"."""

    at: datetime
    actor: str
    verb: str
    what: str
    url: str = ""
    rest: str = ""
    note: str = ""
    undo: str = ""
    """The address that undoes it with one click."""
    page: tuple[str, str] | None = None
    """A word and the address of the page where it can be undone."""
    who: str = ""
    """The name of the client, if it may be shown."""
    each: list[tuple[str, str]] = field(default_factory=list)
    """The name and address of each of several things that have no page together."""


def activity(user: Any) -> dict[str, Any] | None:
    """Return the newest lines that are for `user` to see; None if there are none for them."""
    sources = [source for permission, source in SOURCES if user.has_perm(permission)]
    if not sources:
        return None
    events = sorted((event for source in sources for event in source(user)), key=lambda event: event.at, reverse=True)
    return {"events": events[:MOST]}


# --- Animals ---------------------------------------------------------------------------------------------------------


@dataclass
class Group:
    """Rows of history that belong together: those of an import, of a bulk change, or alike within an hour."""

    newest: dict[str, Any]
    rows: list[dict[str, Any]] = field(default_factory=list)
    is_cut: bool = False
    """Whether there may be more rows than were read."""


SIZES = (
    *("change__changed", "import_run__created", "import_run__updated"),
    *("undo_of__created", "undo_of__updated"),
)
"""How many rows the import or bulk change of a row wrote: of these, one source has a value."""

COLUMNS = (
    *("history_id", "history_date", "history_type", "id", "name", "actor"),
    *("import_run_id", "undo_of_id", "change_id", "history_change_reason"),
    *("import_run__who", "import_run__file_name", "import_run__state", "import_run__rejected"),
    *(
        "change__who",
        "change__what",
        "change__column",
        "change__made_at",
        "change__user_id",
        "change__undo_of_id",
    ),
    *SIZES,
)


def _animals(user: Any) -> Iterator[Event]:
    groups = list(_groups(user))[:MOST]
    told = _told([group.newest["history_id"] for group in groups if _is_one_edit(group)])
    for group in groups:
        row = group.newest
        if row["change_id"]:
            yield _bulk(group, user)
        elif row["import_run_id"]:
            yield _import(row, user)
        elif row["undo_of_id"]:
            yield Event(
                row["history_date"], row["actor"], "undid", f"import {row['undo_of_id']}", _run(row["undo_of_id"], user)
            )
        else:
            edit = told.get(row["history_id"])
            event = _edits(group, edit.changed if edit else {}, user)
            if edit and not edit.is_undone and user.has_perm("pets.change_pet"):
                event.undo = reverse("admin:pets_pet_undo_edit", args=[row["id"], row["history_id"]])
            yield event


def _groups(user: Any) -> Iterable[Group]:
    """Return the groups, the one with the newest row first."""
    groups: dict[Any, Group] = {}
    undoings = BulkChange.objects.filter(undo_of=OuterRef("change")).order_by().values("pk")[:1]
    before = None
    for _ in range(READS):
        newest = Pet.history.order_by("-history_id").values(
            *COLUMNS, bulk_undone_by=Subquery(undoings), client=name_of_key(user)
        )
        rows = list((newest if before is None else newest.filter(history_id__lt=before))[:WINDOW])
        for row in rows:
            groups.setdefault(_kind(row), Group(row)).rows.append(row)
        if len(rows) < WINDOW or len(groups) > MOST:
            break
        last = groups[_kind(rows[-1])]
        last.is_cut = True
        before = rows[-1]["history_id"] - max(_size(rows[-1]) - len(last.rows), 0)
    return groups.values()


def _kind(row: dict[str, Any]) -> tuple[Any, ...]:
    """Return what rows have in common that belong together."""
    source = row["import_run_id"], row["undo_of_id"], row["change_id"]
    hour = row["history_date"].replace(minute=0, second=0, microsecond=0)
    return source if any(source) else (row["actor"], row["history_type"], row["history_change_reason"], hour)


def _size(row: dict[str, Any]) -> int:
    """Return how many rows the import or bulk change of this one wrote."""
    return sum(row[size] or 0 for size in SIZES)


def _bulk(group: Group, user: Any) -> Event:
    row = group.newest
    bulk = BulkChange(pk=row["change_id"], **_joined(row, "change"))
    one = bulk.changed == 1
    what = row["name"] if one else f"{bulk.changed:,} animals"
    url = page_of("pets_pet", row["id"]) if one else page_of("pets_bulkchange", bulk.pk)
    note = "" if one else str(bulk)
    verb, rest = ("marked", bulk.becomes) if bulk.column == "status" else ("moved", f"to {bulk.becomes}")
    if bulk.undo_of_id:
        verb, rest, note = "gave", "the former value again", f"undo of bulk change {bulk.undo_of_id}"
    may_undo = bulk.user_id == user.pk and user.has_perm("pets.change_pet") and row["bulk_undone_by"] is None
    undo = reverse("admin:pets_bulkchange_undo", args=[bulk.pk])
    return Event(bulk.made_at, bulk.who, verb, what, url, rest, note, undo=undo if may_undo else "")


def _joined(row: dict[str, Any], relation: str) -> dict[str, Any]:
    """Return the columns that were read with a row from what it points to, by their names there."""
    names = [name for name in COLUMNS if name.startswith(f"{relation}__")]
    return {name.removeprefix(f"{relation}__"): row[name] for name in names}


def _import(row: dict[str, Any], user: Any) -> Event:
    run = ImportRun(pk=row["import_run_id"], **_joined(row, "import_run"))
    counts = ((run.created, "added"), (run.updated, "changed"), (run.rejected, "rejected"))
    note = ", ".join(f"{count:,} {word}" for count, word in counts if count)
    may_undo = run.state in STANDING and user.has_perm("pets.add_importrun")
    page = ("Undo…", reverse("admin:pets_importrun_undo", args=[run.pk])) if may_undo else None
    return Event(row["history_date"], run.who, "imported", run.file_name, _run(run.pk, user), note=note, page=page)


def _run(number: int, user: Any) -> str:
    return page_of("pets_importrun", number) if user.has_perm("pets.view_importrun") else ""


def _is_one_edit(group: Group) -> bool:
    source = group.newest["import_run_id"] or group.newest["undo_of_id"] or group.newest["change_id"]
    return group.newest["history_type"] == "~" and len(group.rows) == 1 and not source


class Edit(NamedTuple):
    """What a row of history changed, and whether that was undone since."""

    changed: dict[str, Any]
    is_undone: bool


def _told(numbers: list[int]) -> dict[int, Edit]:
    """Return what each of these rows of history changed; one statement reads them and the rows before them."""
    if not numbers:
        return {}
    of_animal = Pet.history.filter(id=OuterRef("id")).order_by("-history_id")
    former = of_animal.filter(history_id__lt=OuterRef("history_id")).values("history_id")[:1]
    edits = Pet.history.filter(history_id__in=numbers).order_by()
    both = edits.values("history_id").union(edits.annotate(former=Subquery(former)).values("former"), all=True)
    reason = Concat(Value(REASON.format("")), Cast(OuterRef("history_id"), CharField()), output_field=CharField())
    is_undone = Exists(of_animal.filter(history_change_reason=reason))
    found = Pet.history.filter(history_id__in=both).annotate(is_undone=is_undone).select_related("category")
    rows = list(found.order_by("id", "history_id"))
    return {
        after.history_id: Edit(changes_between(before, after), after.is_undone)
        for before, after in pairwise(rows)
        if before.id == after.id and after.history_id in numbers
    }


VERBS = {"+": "added", "~": "changed", "-": "deleted"}


def _edits(group: Group, changed: dict[str, Any], user: Any) -> Event:
    row, several = group.newest, len({row["id"] for row in group.rows})
    who = row["client"] or ""
    verb = "restored" if row["history_change_reason"] == "Restored" else VERBS[row["history_type"]]
    address = _deleted(user) if row["history_type"] == "-" else lambda number: page_of("pets_pet", number)
    if several > 1:
        many = f"{'more than ' if group.is_cut else ''}{several:,} animals"
        names = {row["id"]: row["name"] for row in group.rows}
        each = [(name, address(number)) for number, name in list(names.items())[:MOST]]
        return Event(row["history_date"], row["actor"], verb, many, who=who, each=each)
    event = Event(row["history_date"], row["actor"], verb, row["name"], address(row["id"]), who=who)
    if row["history_type"] == "-" and user.has_perm("pets.restore_pet"):
        event.page = ("Restore…", event.url)
    if len(changed) == 1:
        [(column, change)] = changed.items()
        words = {
            "status": ("marked", change.after.lower()),
            "category": ("moved", f"to {change.after}"),
            "name": ("renamed", f"from {change.before}"),
        }
        event.verb, event.rest = words.get(column, (verb, ""))
    return event


def _deleted(user: Any) -> Callable[[int], str]:
    """Return where a deleted animal is: where it can be restored, or its history."""
    if user.has_perm("pets.restore_pet"):
        return lambda number: reverse("admin:pets_pet_deleted", query={"q": number})
    return lambda number: reverse("admin:pets_pet_history", args=[number])


# --- Categories and keys ---------------------------------------------------------------------------------------------


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
