"""All changes to the animals, newest first: what one page of them needs, whatever they are, and the animals of one.

A change of one animal is a row of history, all others have a record. Both are read by time along an index and merged,
so a page takes as long after an import of a million as after none.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from types import SimpleNamespace
from typing import Any, NamedTuple

from django.db.models import BooleanField, Count, Exists, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.expressions import RawSQL
from django.db.models.functions import Coalesce, JSONObject

from categories.models import Category
from changes.models import AnyChange, Change, Kind, UnrecordedChange, undos_of
from changes.plan import along, source
from database.search import fold_needle
from history.values import row_number
from pets.columns import NAMES
from pets.models import Pet, PetStatus

SEARCHED = 10_000
"""Rows of history, the newest, that are looked through: history is indexed by animal only."""

PART = 1_000

PEOPLE = "people"
"""Asked for as `who`: all people, no keys and commands."""

STAFF = Q(who__startswith="staff ")

KINDS: dict[str, tuple[str, set[str], str]] = {
    Kind.EDIT: ("Edits", set(), "~"),
    "added": ("Added", {Kind.ADDITION}, "+"),
    Kind.BULK: ("Bulk", {Kind.BULK, Kind.MERGE}, ""),
    Kind.IMPORT: ("Imports", {Kind.IMPORT}, ""),
    Kind.DELETION: ("Deletions", {Kind.DELETION}, "-"),
    Kind.UNDO: ("Undo", {Kind.UNDO, Kind.RESTORE}, ""),
}
"""What can be asked for: its tab, the kinds of records, and the type of the rows of history, if any."""

COMPARED = 2_000
"""Animals of a change whose values before it and later rows are looked up to be counted."""


@dataclass(frozen=True)
class Filters:
    """What the list is asked for: `kind` is one of `KINDS`, `who` an actor as the history has it, `animals` are IDs."""

    kind: str = ""
    who: str = ""
    day_from: date | None = None
    day_to: date | None = None
    animals: Sequence[int] | None = None


class AnimalRow(NamedTuple):
    """An animal of a change: after it, before it (None if it was added), now (None if it is deleted).

    Of one that is otherwise now than the change left it, `since` is the newest later row of its history that no undo
    of the change made, and `undo` the newest that one made; else both are None.
    """

    row: Any
    former: Any
    now: Any = None
    since: Any = None
    undo: Any = None


def changes(filters: Filters, *, before: str = "", count: int = 50) -> tuple[list[AnyChange], str]:
    """Return a page of the changes, newest first, and what is `before` the next one; nothing if there is none."""
    place = _place(before)
    rows = _singles(filters, place, count + 1)
    listed: list[AnyChange] = [*_records(filters, place, count + 1), *map(UnrecordedChange.of_row, rows)]
    listed.sort(key=_order, reverse=True)
    shown = listed[:count]
    older = "" if len(listed) <= count else "~".join(map(str, (shown[-1].made_at.isoformat(), *_order(shown[-1])[1:])))
    note(shown, rows)
    return shown, older


def find(key: str) -> AnyChange | None:
    """Return the change with this key, as a list has it; None if there is none."""
    if key.startswith("r"):
        row = _rows().filter(history_id=row_number(key[1:])).first()
        if row is None or row.change:
            return row and row.change
        single = UnrecordedChange.of_row(row)
        note([single], [row])
        return single
    record = with_undone(Change.objects.filter(pk=row_number(key) or 0)).first()
    if record is not None:
        note([record])
    return record


def part_of(change: AnyChange, key: str) -> list[int] | None:
    """Return the animal of a key that was that of one addition when a page showed it, and is a part of a change now."""
    if change.key == key or not key.startswith("r"):
        return None
    return [*Pet.history.filter(history_id=row_number(key[1:])).values_list("id", flat=True)]


def actors() -> set[str]:
    """Return who changed something lately."""
    rows = newest(Pet.history.all()).filter(change=None).values_list("actor")
    records = newest(Change.objects.all()).values_list("who")
    return {actor for (actor,) in rows.union(records).order_by() if actor}


def newest(rows: QuerySet[Any]) -> QuerySet[Any]:
    """Return the newest `SEARCHED` of the rows, in no order. PostgreSQL reads them along the primary key."""
    first = Subquery(rows.order_by("-pk").values("pk")[SEARCHED - 1 : SEARCHED])
    return rows.filter(pk__gte=Coalesce(first, 0)).order_by()


def animals_named(needle: str) -> set[int]:
    """Return the IDs of animals that had a name or a reference with this part, or were deleted with it, lately."""
    fits = Q(name__matches=needle) | Q(external_reference__matches=needle)
    ids = newest(Pet.history.all()).filter(fits).values_list("id", flat=True)
    return {*ids[:SEARCHED]} if fold_needle(needle) else set()


def rows(change: AnyChange) -> QuerySet[Any]:
    """Return the rows of history of a change, in the order of its animals, which is that of a file."""
    of = {"history_id": change.row} if change.row is not None else {"change": change.pk or 0}
    queryset: QuerySet[Any] = _rows().filter(**of).order_by("history_id")
    return queryset


SHOWN = {"all": "", "changed": "~", "added": "+", "deleted": "-"}
LATER = Pet.history.filter(id=OuterRef("id"), history_id__gt=OuterRef("history_id"))
DELETED = Category.history.filter(id=OuterRef("category_id"), history_type="-").order_by("-history_id")
CATEGORY = Coalesce("category__name", Subquery(DELETED.values("name")[:1]))
"""The name of a category, also of one that was deleted."""

EARLIER = Pet.history.filter(id=OuterRef("id"), history_id__lt=OuterRef("history_id")).order_by("-history_id")


def animals(
    change: AnyChange, *, show: str = "all", among: Sequence[int] | None = None, after: int = 0, count: int = 15
) -> tuple[list[AnimalRow], int | None]:
    """Return a page of the animals of a change, of those that it changed, added or deleted, of some, or of all.

    With it comes the row after which the next page begins; None if there is none.
    """
    column, value = source(change)
    beyond = RawSQL(along(column, ">"), [value, after, value], output_field=BooleanField())  # noqa: S611 - constants
    wanted = _rows().filter(beyond).order_by("change_id", "history_id")
    if among is not None:
        wanted = wanted.filter(id__in=among)
    if show == "since":
        wanted = wanted.filter(Exists(LATER.filter(_by_others(undoings(change)))))
    elif SHOWN[show]:
        wanted = wanted.filter(history_type=SHOWN[show])
    read = list(wanted[: count + 1])
    return beside(read[:count], undoings(change)), read[count - 1].history_id if len(read) > count else None


def changed_since(change: AnyChange) -> int:
    """Return how many of its animals others changed since; 0 if it is about too many to look."""
    if change.animals > COMPARED:
        return 0
    return rows(change).filter(Exists(LATER.filter(_by_others(undoings(change))))).count()


def undoings(change: AnyChange) -> set[int]:
    """Return the changes that undid it, did it again, and so on."""
    found, level = {undo.pk for undo in change.undos}, [undo.pk for undo in change.undos if undo.redone]
    while level:
        level = [*Change.objects.filter(undo_of__in=level).values_list("pk", flat=True)]
        found.update(level)
    return found


def _by_others(changes: set[int]) -> Q:
    return Q(change=None) | ~Q(change__in=changes) if changes else Q()


def flows(change: AnyChange) -> list[tuple[str, str, int]]:
    """Return from which value to which a bulk change or its undo changed how many; nothing if it is about too many."""
    if not change.column or change.animals > COMPARED:
        return []
    value = F("status") if change.column == "status" else CATEGORY
    words: dict[str | None, str] = dict(PetStatus.choices) | {None: "a deleted category"}
    moved = rows(change).filter(history_type="~").order_by()
    counted = moved.values_list(Subquery(EARLIER.values_list(value)[:1]), value).annotate(count=Count("pk"))
    counts = [(words.get(before, before), words.get(after, after), count) for before, after, count in counted]
    return sorted(counts, key=lambda flow: -flow[2])


def animals_in_parts(change: AnyChange) -> Iterator[list[AnimalRow]]:
    """Yield all animals of a change, read in parts."""
    after: int | None = 0
    while after is not None:
        rows, after = animals(change, after=after, count=PART)
        yield rows


def beside(rows: Iterable[Any], undos: set[int]) -> list[AnimalRow]:
    """Return these rows of a change with their animals before, now and since; `undos` are its `undoings`."""
    rows = [*rows]
    now = Pet.objects.select_related("category").in_bulk([row.id for row in rows])
    read = [AnimalRow(row, former_of(row), now.get(row.id)) for row in rows]
    otherwise = [row.row for row in read if not _is_as_set(row)]
    newest = _newest(otherwise, undos) if otherwise else []
    since, undone = (
        {row.id: row for row in newest if (row.change_id in undos) == is_undo} for is_undo in (False, True)
    )
    return [row._replace(since=since.get(row.row.id), undo=undone.get(row.row.id)) for row in read]


def former_of(row: Any) -> Any:
    """Return the values of an animal before a row of history as `rows` has it; None if it was not there."""
    if row.former is None:
        return None
    name = row.former["category"]
    return SimpleNamespace(**{**row.former, "category": SimpleNamespace(name=name) if name else None})


def _is_as_set(of: AnimalRow) -> bool:
    """Return whether the fields that a row changed have the values that it gave them."""
    row, former, now = of.row, of.former, of.now
    if row.history_type == "-":
        return now is None
    is_new = row.history_type == "+" or former is None
    names = [name for name in NAMES if is_new or getattr(row, name) != getattr(former, name)]
    return now is not None and all(getattr(now, name) == getattr(row, name) for name in names)


def _newest(rows: Sequence[Any], undos: set[int]) -> Iterable[Any]:
    """Return the newest later row of each animal of these rows that one of the undos made, and that others did."""
    these = Pet.history.filter(history_id__in=[row.history_id for row in rows]).order_by()
    parts = [_by_others(undos), *([Q(change__in=undos)] if undos else [])]
    last = (LATER.filter(part).order_by("-history_id").values("history_id")[:1] for part in parts)
    first, *others = (these.values_list(Subquery(one)) for one in last)
    return _rows().filter(history_id__in=first.union(*others) if others else first)


def categories(change: AnyChange) -> list[Any]:
    """Return the rows of history of the categories that a merge deleted, or that an undo deleted or brought back."""
    of = change
    while of.undo_of is not None:
        of = of.undo_of
    if of.kind != Kind.MERGE and (of.kind != Kind.IMPORT or of is change):
        return []
    return [*Category.history.filter(change=change.pk).exclude(history_type="~").order_by("name")]


def _rows() -> QuerySet[Any]:
    former = JSONObject(category=CATEGORY, **{name: name for name in NAMES})
    read: QuerySet[Any] = Pet.history.select_related("category", "change")
    read = read.annotate(former=Subquery(EARLIER.values(values=former)[:1]))
    return read.defer("change__left")


def with_undone(records: QuerySet[Change]) -> QuerySet[Change]:
    """Return the records with what their sentences need of others."""
    undone = "undo_of__imported", "undo_of__undo_of__imported", "undo_of__undo_of__undo_of__imported"
    return records.select_related("imported", "selection", *undone)


Place = tuple[datetime, int, int]
"""When, whether it is a row of history, and its number: the order of all changes."""


def _order(change: AnyChange) -> Place:
    return change.made_at, int(change.row is not None), change.row or change.pk


def _place(before: str) -> Place | None:
    try:
        at, is_row, number = before.split("~")
        return datetime.fromisoformat(at), int(is_row), int(number)
    except ValueError:
        return None


def _records(filters: Filters, place: Place | None, count: int) -> list[Change]:
    records = with_undone(Change.objects.order_by("-made_at", "-pk")).defer("left")
    if filters.kind:
        records = records.filter(kind__in=KINDS[filters.kind][1])
    records = filtered(records, filters, "made_at")
    if filters.animals is not None:
        history = Pet.history.filter(id__in=filters.animals)
        records = records.filter(pk__in=history.exclude(change=None).values("change"))
    if place is not None:
        at, is_row, number = place
        records = records.filter(made_at__lte=at) if is_row else records.filter(_before("made_at", "pk", at, number))
    return list(records[:count])


def _singles(filters: Filters, place: Place | None, count: int) -> list[Any]:
    did = KINDS[filters.kind][2] if filters.kind else ""
    if filters.kind and not did:
        return []
    rows = _rows().filter(change=None, undo_of=None)
    rows = rows.order_by("-history_date", "-history_id")
    if did:
        rows = rows.filter(history_type=did)
    rows = filtered(rows, filters, "history_date", who="actor", people=Q(history_user__isnull=False))
    if filters.animals is not None:
        rows = rows.filter(id__in=filters.animals)
    if place is not None:
        at, is_row, number = place
        same = _before("history_date", "history_id", at, number) if is_row else Q(history_date__lt=at)
        rows = rows.filter(same)
    return list(rows[:count])


def _before(when: str, pk: str, at: datetime, number: int) -> Q:
    """Return the condition for what comes after this in the list; the first part is what the index is read by."""
    return Q(**{f"{when}__lte": at}) & (Q(**{f"{when}__lt": at}) | Q(**{f"{pk}__lt": number}))


def filtered(
    queryset: QuerySet[Any], filters: Filters, at: str, *, who: str = "who", people: Q = STAFF
) -> QuerySet[Any]:
    """Return what is by whom, and of the days, that are asked for; `at` and `who` are columns."""
    if filters.who:
        queryset = queryset.filter(people if filters.who == PEOPLE else Q(**{who: filters.who}))
    if filters.day_from:
        queryset = queryset.filter(**{f"{at}__gte": datetime.combine(filters.day_from, time(), UTC)})
    if filters.day_to and filters.day_to < date.max:
        queryset = queryset.filter(**{f"{at}__lt": datetime.combine(filters.day_to, time(), UTC) + timedelta(days=1)})
    return queryset


def note(changes: Sequence[AnyChange], rows: Sequence[Any] = ()) -> None:
    """Read for all of them at once what undid each, and the one animal of those that are about one, but for imports.

    `rows` are those rows of history that were read before.
    """
    undos: dict[str, list[Change]] = {}
    for undo in undos_of(changes):
        undos.setdefault(str(undo.undo_of_id or f"r{undo.undo_of_row}"), []).append(undo)
    for change in changes:
        change.undos = undos.get(change.key, [])
    ones = {change.key: change for change in changes if change.animals == 1 and change.run is None}
    missing = ones.keys() - {f"r{row.history_id}" for row in rows}
    if missing:
        of = Q(history_id__in=[key[1:] for key in missing if key.startswith("r")])
        rows = [*rows, *_rows().filter(of | Q(change__in=[key for key in missing if not key.startswith("r")]))]
    for row in rows:
        one = ones.get(f"r{row.history_id}") or ones.get(str(row.change_id))
        if one is not None:
            one.animal = AnimalRow(row, former_of(row))
