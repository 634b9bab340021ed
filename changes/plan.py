"""What undoing a change does with each of its animals: what goes back, and what stays and why.

Values decide. A field goes back if it still has the value that the change gave it. What an earlier undo of the same
change has put back is done: what happened to it since has nothing to do with the change.
"""
# ruff: noqa: S608 - put together from constants

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from django.db import connection

from categories.models import Category
from changes.models import AnyChange, State
from pets.columns import CATEGORY, NAME, NAMES, REFERENCE, STATUS, each
from pets.models import PetStatus
from pets.rules import INT64_MAX
from pets.sql import AMONG, DIFFERS, listed, read

BLOCK = 1_000
"""Animals that are locked and written in one transaction."""

LEFT_LISTED = 1_000
"""Animals that were left and are listed in the record; the others are counted."""

CHANGED, GONE = "changed since", "deleted since"
CATEGORY_GONE = "its former category was deleted"
NAME_TAKEN = "another category has the name of its former one now"
REFERENCE_TAKEN = "its former reference belongs to another animal now"


class AnimalUndo(NamedTuple):
    """What an undo does with the animal of one row of history; nothing if it is as before already."""

    row: int
    animal: int
    name: str = ""
    """Its last one if it was deleted."""
    does: str = ""
    """`+` adds it again, `~` sets values back, `-` deletes it."""
    former: Mapping[str, Any] = {}
    """By column what it has now; nothing if it is deleted."""
    values: Mapping[str, Any] = {}
    """By column the values that it gets; of one that comes back, all."""
    day_of: int | None = None
    """The row of history that has the day of its sale, if it is sold again."""
    reason: str = ""
    """Why it, or a field of it, stays; empty if nothing stays."""

    @property
    def after(self) -> dict[str, Any]:
        """Return by column what it has after it."""
        return {**self.former, **self.values}


def source(change: AnyChange) -> tuple[str, int]:
    """Return the column of the history, and its value, that the rows of this change have."""
    if change.row is not None:
        return "history_id", change.row
    return "bulk_change_id", change.pk or 0  # of an import that changed nothing, none


ALONG = {
    "postgresql": "({column}, pets_petchange.history_id) {sign} (%s, %s) AND NOT {column} {sign} %s",
    "sqlite": "{column} = %s AND pets_petchange.history_id {sign} %s AND NOT {column} {sign} %s",
}


def along(column: str, sign: str) -> str:
    """Return the condition for rows of a change beyond one of them; its parameters are the value, that row, the value.

    PostgreSQL would order rows whose column is equal by the primary key, and read all that others changed since.
    """
    return ALONG[connection.vendor].format(column=f"pets_petchange.{column}", sign=sign)


def rows_before(
    change: AnyChange, reached: int | None, animals: Sequence[int] | None = None, *, alike: bool = True
) -> list[int]:
    """Return the next rows of history to undo, newest first: at most a block, of which all did the same if `alike`.

    So what a change added goes before what it changed comes back, and frees its references.
    """
    column, value = source(change)
    where = along(column, "<")
    parameters: list[Any] = [value, INT64_MAX if reached is None else reached, value]
    if animals is not None:
        where, parameters = f"{where} AND id {AMONG[connection.vendor]}", [*parameters, listed(animals)]
    next_rows = read(
        f"SELECT history_id, history_type FROM pets_petchange WHERE {where} "
        f"ORDER BY {column} DESC, history_id DESC LIMIT {BLOCK}",
        parameters,
    )
    return [row for row, did in next_rows if did == next_rows[0][1] or not alike]


LOCK = f"""
SELECT id FROM pets_pet WHERE id IN (SELECT h.id FROM pets_petchange h WHERE h.history_id {AMONG["postgresql"]})
ORDER BY id FOR UPDATE
"""

# `b` is what the animal had before, `p` what it has now, `u` what the last undo of this change made of it.
ROWS = """
SELECT h.history_id, h.history_type, h.id, {h}, b.history_id, {b}, p.id, {p}, u.history_id, {u},
    EXISTS (SELECT 1 FROM pets_petchange n WHERE ({other}) AND n.history_id =
            (SELECT max(x.history_id) FROM pets_petchange x WHERE x.id = h.id)),
    EXISTS (SELECT 1 FROM categories_category c
            WHERE c.id = CASE h.history_type WHEN '-' THEN h.category_id ELSE b.category_id END),
    EXISTS (SELECT 1 FROM pets_pet o WHERE o.id <> h.id AND o.{reference} =
            CASE h.history_type WHEN '-' THEN h.{reference} ELSE b.{reference} END)
FROM pets_petchange h
LEFT JOIN pets_pet p ON p.id = h.id
LEFT JOIN pets_petchange b ON b.history_id =
    (SELECT max(x.history_id) FROM pets_petchange x WHERE x.id = h.id AND x.history_id < h.history_id)
LEFT JOIN pets_petchange u ON {undone}
WHERE h.history_id {among} ORDER BY h.history_id DESC
"""

# An undo counts until it is undone. `+ 0` keeps PostgreSQL from reading all rows of the undo for each animal.
UNDONE = """
u.history_id = (SELECT max(x.history_id) FROM pets_petchange x
    WHERE x.id = h.id AND x.history_id > h.history_id AND x.bulk_change_id + 0 {among})
AND NOT EXISTS (SELECT 1 FROM pets_petchange w JOIN pets_bulkchange r ON r.id = w.bulk_change_id + 0
    WHERE w.id = h.id AND w.history_id > u.history_id AND r.undo_of_id = u.bulk_change_id)
"""

NOT_UNDONE = "u.history_id = NULL"
"""SQLite finds none of them by the key; for FALSE it would read the whole history for each animal."""


def planned(change: AnyChange, rows: Sequence[int], *, category: int | None = None) -> Iterator[AnimalUndo]:
    """Yield what undoing the change does with the animals of these rows of it.

    `category` is for animals that come back and whose category is gone.
    """
    among = AMONG[connection.vendor]
    undoings = [undo.pk for undo in change.undos if undo.state != State.RUNNING]
    statement = ROWS.format(
        **{alias: each(f"{alias}.{{c}}") for alias in "hbpu"},
        reference=REFERENCE.name,
        undone=UNDONE.format(among=among) if undoings else NOT_UNDONE,
        other=each(f"n.{{c}} {DIFFERS[connection.vendor]} h.{{c}}", " OR "),
        among=among,
    )
    read_rows = read(statement, [*([listed(undoings)] if undoings else []), listed(rows)])
    is_complete = all(row[-2] or row[1] == "+" for row in read_rows)  # what was added had no category before
    gone = {} if is_complete else {deleted.pk: deleted.name for deleted in deleted_categories(change)}
    taken = {*Category.objects.filter(name__in=gone.values()).values_list("name", flat=True)} if gone else set()
    reasons = {number: NAME_TAKEN if name in taken else "" for number, name in gone.items()}
    yield from (_Decision(row, category, reasons).decide() for row in read_rows)


def lock(rows: Sequence[int]) -> None:
    """Lock the animals of these rows of history until the transaction ends; SQLite has one writer."""
    if connection.vendor == "postgresql":
        read(LOCK, [listed(rows)])


def deleted_categories(change: AnyChange) -> list[Category]:
    """Return the categories, as they were, that the change deleted and that are gone: its undo brings them back."""
    if change.row is not None:
        return []
    gone = Category.history.filter(change=change.pk, history_type="-").exclude(id__in=Category.objects.values("pk"))
    return [row.instance for row in gone]


class _Decision:
    """A row of a change, with its animal before it, now, and after the last undo of the change."""

    def __init__(self, row: tuple[Any, ...], category: int | None, deleted: Mapping[int, str]) -> None:
        values = iter(row)
        self.history_id, self.did, self.animal = islice(values, 3)
        self.after = dict(zip(NAMES, values, strict=False))
        (self.row_before, self.before), (self.is_there, self.now), (self.is_done, self.undone) = (
            (next(values), dict(zip(NAMES, values, strict=False))) for _ in range(3)
        )
        self.was_changed, has_category, self.is_taken = values
        former = (self.after if self.did == "-" else self.before)[CATEGORY.name]
        self.without_category = "" if has_category else deleted.get(former, CATEGORY_GONE)
        self.category = category

    def decide(self) -> AnimalUndo:
        return {"+": self._delete, "~": self._set_back, "-": self._add}[self.did]()

    def _planned(self, does: str = "", reason: str = "", values: Mapping[str, Any] = {}) -> AnimalUndo:
        former = self.now if self.is_there else {}
        name = (former or self.after)[NAME.name]
        day_of = self.row_before if self.did == "~" else self.history_id
        day_of = day_of if values.get(STATUS.name) == PetStatus.SOLD else None
        return AnimalUndo(self.history_id, self.animal, name, does, former, values, day_of=day_of, reason=reason)

    def _delete(self) -> AnimalUndo:
        if self.is_done:
            return self._planned()
        if not self.is_there:
            return self._planned(reason=GONE)
        return self._planned("-") if self.now == self.after else self._planned(reason=CHANGED)

    def _add(self) -> AnimalUndo:
        if self.is_done or self.is_there:
            return self._planned()
        if self.was_changed:
            return self._planned(reason=GONE)
        if self.is_taken:
            return self._planned(reason=REFERENCE_TAKEN)
        if not self.without_category:
            return self._planned("+", values=self.after)
        if self.category is None:
            return self._planned(reason=self.without_category)
        return self._planned("+", values=self.after | {CATEGORY.name: self.category})

    def _set_back(self) -> AnimalUndo:
        if not self.is_there:
            return self._planned(reason="" if self.is_done else GONE)
        reasons = {name: self._why_not(name) for name in NAMES if self._differs(name)}
        back = [name for name, reason in reasons.items() if not reason]
        return self._planned(
            "~" if back else "",
            next(filter(None, reasons.values()), ""),
            {name: self.before[name] for name in back},
        )

    def _differs(self, name: str) -> bool:
        """Return whether the change gave the field a value that it still has to lose."""
        is_done = self.is_done and self.undone[name] == self.before[name]
        is_changed = self.row_before and self.after[name] != self.before[name]
        return is_changed and not is_done and self.now[name] != self.before[name]

    def _why_not(self, name: str) -> str:
        if self.now[name] != self.after[name]:
            return CHANGED
        if name == CATEGORY.name:
            return self.without_category
        return REFERENCE_TAKEN if name == REFERENCE.name and self.is_taken else ""
