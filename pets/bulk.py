"""Changes of several animals at once: what one would do, doing it, and undoing it. `pets.blocks` has those of many."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from django.contrib.auth.base_user import AbstractBaseUser
from django.db import transaction
from django.db.models import Max, OuterRef, Subquery
from django.utils import timezone

from categories.models import Category
from changes.acting import acting
from changes.models import Change, State
from changes.naming import who
from pets.columns import NAMES
from pets.models import BulkChange, EndedSale, Pet, PetStatus, Sale
from pets.plan import CATEGORY_GONE, CHANGED, GONE, LEFT_LISTED
from pets.writing import change_animals

WHAT_LENGTH = 400
Value = str | int
Seen = Mapping[int, int | None]
"""The animals by their ids, each with the row of history that was its latest when someone looked."""


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


def plan(seen: Seen, column: str, value: Value, *, lock: bool = False) -> Plan:
    """Sort the animals in `seen` into those to change, those that are so already, and those changed since."""
    made = Plan(column)
    pets, latest = _now(seen, lock=lock)
    for number in seen:
        pet = pets.get(number)
        if pet is None or latest.get(number) != seen[number]:
            made.left.append((number, pet.name if pet else "an animal", CHANGED if pet else GONE))
        elif getattr(pet, column) == value:
            made.already.append(pet)
        else:
            made.changes[value].append(pet)
    return made


def make(seen: Seen, target: Target, *, user: AbstractBaseUser) -> BulkChange:
    """Change a few animals that are as they were seen, and write their history; all or nothing.

    If none is, the record is not saved: it says only what was left.
    """
    with transaction.atomic():
        made = plan(seen, target.column, target.value, lock=True)
        if not made.count:
            return BulkChange(what=str(target), column=made.column, left=made.left, left_count=len(made.left))
        bulk = BulkChange.objects.create(
            user_id=user.pk, who=acting().actor, what=str(target), column=target.column, changed=0, state=State.DONE
        )
        write(bulk, made)
    return bulk


def plan_undo(bulk: Change, rows: Iterable[int], *, lock: bool = False) -> Plan:
    """Sort the animals of these rows of a bulk change into those that get their former values back, and those left.

    The value in the column that it changed decides. What has its former value already needs nothing.
    """
    made = Plan(bulk.column)
    changes = {change["id"]: change for change in _rows(rows, bulk.column)}
    pets, _ = _now(changes, lock=lock)
    categories = set(Category.objects.values_list("pk", flat=True)) if bulk.column == "category_id" else set()
    for number, row in changes.items():
        pet, before, left_as = pets.get(number), row["former"], row[bulk.column]
        value = getattr(pet, bulk.column, None)
        if pet is not None and value == before:
            made.already.append(pet)
        elif pet is None or value != left_as:
            made.left.append((number, row["name"], CHANGED if pet else GONE))
        elif bulk.column == "category_id" and before not in categories:
            made.left.append((number, row["name"], CATEGORY_GONE))
        else:
            made.changes[before].append(pet)
    return made


def check_undo(bulk: BulkChange, *, user: AbstractBaseUser) -> None:
    """Raise `UndoRejectedError` unless `user` made this bulk change, it changed something, and nothing of it runs."""
    name = str(bulk).capitalize()
    if bulk.state == State.RUNNING:
        message = f"Nothing changed. {name} is running. Wait, or stop it, then undo it."
    elif not bulk.changed:
        message = f"Nothing changed. {name} changed nothing, so there is nothing to undo."
    elif bulk.user_id != user.pk:
        message = f"Nothing changed. {name} was made by someone else ({who(bulk.who)}). Only they can undo it."
    elif bulk.undoings.filter(state=State.RUNNING).exists():
        message = f"Nothing changed. {name} is being undone."
    else:
        return
    raise UndoRejectedError(message)


def write(bulk: BulkChange, made: Plan) -> None:
    """Do it, and add it to the record, in the transaction that planned it."""
    bulk.changed += made.count
    bulk.left_count += len(made.left)
    bulk.left = [*bulk.left, *made.left][:LEFT_LISTED]
    bulk.save(update_fields=["changed", "left_count", "left", "passed"])
    if not made.count:
        return
    values = {
        pet.pk: {name: getattr(pet, name) for name in NAMES} | {made.column: value}
        for value, pets in made.changes.items()
        for pet in pets
    }
    change_animals(values, timezone.now(), bulk)


def restore_sales(rows: Iterable[int], pets: Iterable[Pet]) -> None:
    """Let animals that are sold again be sold on the day that these rows of a bulk change ended, not today."""
    numbers = [pet.pk for pet in pets]
    changed = Pet.history.filter(history_id__in=[*rows], id=OuterRef("pet")).values("history_date")[:1]
    ended = EndedSale.objects.filter(pet__in=numbers, ended_at=Subquery(changed)).order_by("-pk")
    days = dict(ended.values_list("pet", "day"))
    Sale.objects.filter(pet__in=numbers).delete()
    Sale.objects.bulk_create(Sale(pet_id=number, day=day) for number, day in days.items())


def is_sold(made: Plan) -> list[Pet]:
    """Return the animals that become sold."""
    return made.changes.get(PetStatus.SOLD, []) if made.column == "status" else []


def _now(numbers: Iterable[int], *, lock: bool) -> tuple[dict[int, Pet], dict[int, int]]:
    """Return the animals as they are, and the latest row of history of each."""
    pets = Pet.objects.filter(pk__in=[*numbers]).defer("created_at", "updated_at").order_by("pk")
    found = {pet.pk: pet for pet in (pets.select_for_update() if lock else pets)}
    newest = Pet.history.filter(id__in=[*numbers]).order_by().values_list("id").annotate(Max("history_id"))
    return found, dict(newest)


def _rows(numbers: Iterable[int], column: str) -> Any:
    """Return these rows of history, each with what its animal had before."""
    earlier = Pet.history.filter(id=OuterRef("id"), history_id__lt=OuterRef("history_id")).order_by("-history_id")
    former = Subquery(earlier.values(column)[:1])
    rows = Pet.history.filter(history_id__in=[*numbers]).annotate(former=former).order_by("history_id")
    return rows.values("id", "name", column, "former")
