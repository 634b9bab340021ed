"""Changes of many animals at once: what one would do, doing it, and undoing it."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from django.contrib.auth.base_user import AbstractBaseUser
from django.db import connection, transaction
from django.db.models import Max, OuterRef, Subquery
from django.utils import timezone

from categories.models import Category
from history.acting import acting
from pets.columns import each
from pets.importing.sql import execute
from pets.models import BulkChange, EndedSale, Pet, PetStatus, Sale

AT_MOST = 10_000
"""Animals in one bulk change; they are held in memory, and locked while it is made."""

WHAT_LENGTH = 400
CHANGED, GONE, CATEGORY_GONE = "changed since", "deleted since", "its former category was deleted"

Value = str | int
Seen = Mapping[int, int]
"""The animals by their ids, each with the row of history that was its latest when someone looked."""


AMONG = {"postgresql": "= ANY(%s)", "sqlite": "IN (SELECT value FROM json_each(%s))"}
HISTORY = {
    vendor: f"""
    INSERT INTO pets_petchange (id, {each("{c}")},
        history_type, history_date, history_user_id, actor, request_id, bulk_change_id)
    SELECT id, {each("{c}")}, '~', %s, %s, %s, %s, %s FROM pets_pet WHERE id {among} ORDER BY id
    """
    for vendor, among in AMONG.items()
}
"""By the database: the rows of history in one statement. A row as an object of Python takes longer than its change."""


class UndoRejectedError(Exception):
    """The bulk change cannot be undone by this person now; the text says why."""


@dataclass(frozen=True)
class Target:
    """What animals become: one column and its value, and the value in a word."""

    column: Literal["status", "category_id"]
    value: Value
    word: str

    def __str__(self) -> str:
        """Return it as a sentence."""
        return f"{'Status' if self.column == 'status' else 'Category'} becomes {self.word}"


@dataclass
class Plan:
    """What would be done: the animals by their new values, those that need nothing, and those that are left."""

    column: str
    changes: dict[Value, list[Pet]] = field(default_factory=lambda: defaultdict(list))
    already: list[Pet] = field(default_factory=list)
    left: list[tuple[int, str, str]] = field(default_factory=list)
    """Id, name, reason."""

    @property
    def count(self) -> int:
        """How many animals would change."""
        return sum(map(len, self.changes.values()))


def plan(seen: Seen, target: Target, *, lock: bool = False) -> Plan:
    """Sort the animals in `seen` into those to change, those that are so already, and those changed since."""
    made = Plan(target.column)
    pets, latest = _now(seen, lock=lock)
    for number in seen:
        pet = pets.get(number)
        if pet is None or latest.get(number) != seen[number]:
            made.left.append((number, pet.name if pet else "an animal", CHANGED if pet else GONE))
        elif getattr(pet, target.column) == target.value:
            made.already.append(pet)
        else:
            made.changes[target.value].append(pet)
    return made


def make(seen: Seen, target: Target, *, user: AbstractBaseUser) -> BulkChange:
    """Change the animals that are as they were seen, and write their history; all or nothing.

    If none is, the record is not saved: it says only what was left. Raises `IntegrityError` if the category was deleted
    meanwhile.
    """
    with transaction.atomic():
        made = plan(seen, target, lock=True)
        if not made.count:
            return BulkChange(what=str(target), column=made.column, left=made.left)
        return _write(made, str(target), user)


def plan_undo(bulk: BulkChange, *, lock: bool = False) -> Plan:
    """Sort the animals of a bulk change into those that get their former values back, and those that are left.

    The value in the column that it changed decides. What has its former value already needs nothing.
    """
    made = Plan(bulk.column)
    rows = {change.id: change for change in Pet.history.filter(bulk_change=bulk).order_by("history_id")}
    pets, _ = _now(rows, lock=lock)
    before = _before(bulk)
    categories = set(Category.objects.values_list("pk", flat=True)) if bulk.column == "category_id" else set()
    for number, row in rows.items():
        pet, left_as = pets.get(number), getattr(row, bulk.column)
        value = getattr(pet, bulk.column, None)
        if pet is not None and value == before[number]:
            made.already.append(pet)
        elif pet is None or value != left_as:
            made.left.append((number, row.name, CHANGED if pet else GONE))
        elif bulk.column == "category_id" and before[number] not in categories:
            made.left.append((number, row.name, CATEGORY_GONE))
        else:
            made.changes[before[number]].append(pet)
    return made


def undo(bulk: BulkChange, *, user: AbstractBaseUser) -> BulkChange:
    """Give the animals their former values, except those changed since; returns the bulk change that did it.

    That one can be undone too, and this one again: by then animals that were left may be as it left them. Raises
    `UndoRejectedError`.
    """
    with transaction.atomic():
        check_undo(bulk, user=user)
        made = plan_undo(bulk, lock=True)
        if not made.count and not made.left:
            message = f"Nothing changed. {str(bulk).capitalize()} is already undone."
            raise UndoRejectedError(message)
        undone = _write(made, f"Undo of {bulk}: {bulk.what}"[:WHAT_LENGTH], user, undo_of=bulk)
        _restore_sales(bulk, made.changes.get(PetStatus.SOLD, []))
    return undone


def check_undo(bulk: BulkChange, *, user: AbstractBaseUser) -> None:
    """Raise `UndoRejectedError` unless `user` made this bulk change and it changed something."""
    if not bulk.changed:
        message = f"Nothing changed. {str(bulk).capitalize()} changed nothing, so there is nothing to undo."
        raise UndoRejectedError(message)
    if bulk.user_id != user.pk:
        message = (
            f"Nothing changed. {str(bulk).capitalize()} was made by someone else ({bulk.who}). Only they can undo it."
        )
        raise UndoRejectedError(message)


def _restore_sales(bulk: BulkChange, pets: list[Pet]) -> None:
    """Let animals that are sold again be sold on the day that the bulk change ended, not today."""
    numbers = [pet.pk for pet in pets]
    changed_at = Pet.history.filter(bulk_change=bulk).values("history_date")[:1]
    ended = EndedSale.objects.filter(pet__in=numbers, ended_at=Subquery(changed_at)).order_by("-pk")
    days = dict(ended.values_list("pet", "day"))
    Sale.objects.filter(pet__in=numbers).delete()
    Sale.objects.bulk_create(Sale(pet_id=number, day=day) for number, day in days.items())


def _now(numbers: Iterable[int], *, lock: bool) -> tuple[dict[int, Pet], dict[int, int]]:
    """Return the animals as they are, and the latest row of history of each."""
    pets = Pet.objects.filter(pk__in=[*numbers]).order_by("pk")
    found = {pet.pk: pet for pet in (pets.select_for_update() if lock else pets)}
    newest = Pet.history.filter(id__in=[*numbers]).order_by().values_list("id").annotate(Max("history_id"))
    return found, dict(newest)


def _before(bulk: BulkChange) -> dict[int, Any]:
    """Return what each animal had in the column before."""
    earlier = Pet.history.filter(id=OuterRef("id"), history_id__lt=OuterRef("history_id")).order_by("-history_id")
    former = Subquery(earlier.values(bulk.column)[:1])
    return dict(Pet.history.filter(bulk_change=bulk).annotate(former=former).values_list("id", "former"))


def _write(made: Plan, what: str, user: AbstractBaseUser, *, undo_of: BulkChange | None = None) -> BulkChange:
    by = acting()
    bulk = BulkChange.objects.create(
        user_id=user.pk,
        who=by.actor,
        what=what,
        column=made.column,
        changed=made.count,
        left=made.left,
        undo_of=undo_of,
    )
    now = timezone.now()
    written_at = connection.ops.adapt_datetimefield_value(now)
    for value, pets in made.changes.items():
        numbers = [pet.pk for pet in pets]
        Pet.objects.filter(pk__in=numbers).update(**{made.column: value, "updated_at": now})
        execute(HISTORY[connection.vendor], [written_at, user.pk, by.actor, by.request_id, bulk.pk, _array(numbers)])
    return bulk


def _array(numbers: list[int]) -> list[int] | str:
    return numbers if connection.vendor == "postgresql" else json.dumps(numbers)
