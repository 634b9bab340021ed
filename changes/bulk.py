"""Changes of animals that someone has seen and selected: what one would do, and doing it, block by block.

The blocks of a selection are rows, and a block is deleted in the transaction that does it. So a process can be killed
at any moment, two can work at once, and the record says what was done (docs/decisions/0060).
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal

from django.contrib.auth.base_user import AbstractBaseUser
from django.db import transaction
from django.db.models import Max, QuerySet
from django.utils import timezone

from categories.models import Category
from changes.models import AnyChange, Change, Kind, SelectedBlock, Selection, State
from changes.plan import BLOCK, CHANGED, GONE, LEFT_LISTED
from changes.write import change_animals, delete_animals
from history.conflicts import latest_change_of_each
from pets.columns import BY_NAME, NAMES
from pets.models import Pet

Value = str | int
Versions = Mapping[int, int | None]
"""The animals by their ids, each with the row of history that was its latest when someone looked."""


READ = 50_000  # animals that one statement selects: it takes a tenth of a statement's deadline

AT_MOST = 500_000
"""Animals in one bulk change: so many are selected within the deadline of a form."""

KEPT = timedelta(days=1)
CATEGORY_GONE = "Its category was deleted."


class SelectionTooLargeError(Exception):
    """More animals were selected than can be changed at once."""


@dataclass(frozen=True)
class Target:
    """What animals become: one column and its value, and the value in a word."""

    column: Literal["status", "category_id"]
    value: Value
    word: str

    def __str__(self) -> str:
        return f"{BY_NAME[self.column].title} becomes {self.word}"


@dataclass
class BulkPlan:
    """What would be done: the animals that get the value, how many have it already, and those that are left."""

    column: str
    value: Value
    changes: list[Pet] = field(default_factory=list)
    already: int = 0
    left: list[tuple[int, str, str]] = field(default_factory=list)
    """Id, name, reason."""


def bulk_plan(seen: Versions, column: str, value: Value, *, lock: bool = False) -> BulkPlan:
    """Sort the animals in `seen` into those to change, those that are so already, and those changed since."""
    made = BulkPlan(column, value)
    locked = Pet.objects.filter(pk__in=[*seen]).defer("created_at", "updated_at").order_by("pk")
    pets = {pet.pk: pet for pet in (locked.select_for_update() if lock else locked)}
    latest = dict(Pet.history.filter(id__in=[*seen]).order_by().values_list("id").annotate(Max("history_id")))
    for number in seen:
        pet = pets.get(number)
        if pet is None or latest.get(number) != seen[number]:
            made.left.append((number, pet.name if pet else "an animal", CHANGED if pet else GONE))
        elif getattr(pet, column) == value:
            made.already += 1
        else:
            made.changes.append(pet)
    return made


def write(made: BulkPlan, change: AnyChange) -> None:
    """Do it, and write the history as a part of the change, in the transaction that planned it."""
    values = {pet.pk: {name: getattr(pet, name) for name in NAMES} | {made.column: made.value} for pet in made.changes}
    if values:
        change_animals(values, timezone.now(), change)


def delete(seen: Versions, *, user: AbstractBaseUser) -> Change | None:
    """Delete the animals that are as they were seen, all or nothing; undoing the change restores them.

    Return None if there are none.
    """
    with transaction.atomic():
        made, now = bulk_plan(seen, "status", "", lock=True), timezone.now()
        if not made.changes:
            return None
        counts = {"deleted": len(made.changes), "left": made.left, "left_count": len(made.left)}
        change = Change.begin(kind=Kind.DELETION, user_id=user.pk, state=State.DONE, ended_at=now, **counts)
        delete_animals([pet.pk for pet in made.changes], now, change)
    return change


def select(animals: QuerySet[Pet], *, user: AbstractBaseUser, filters: str = "", most: int = AT_MOST) -> Selection:
    """Keep the animals as they are now, for a day. Raises `SelectionTooLargeError`."""
    Selection.objects.filter(made_at__lt=timezone.now() - KEPT).exclude(change__state=State.RUNNING).delete()
    selection = Selection.objects.create(user_id=user.pk, filters=filters)
    counts: Counter[tuple[str, int]] = Counter()
    latest = animals.order_by("pk").annotate(latest=latest_change_of_each(Pet.history))
    keys = latest.values_list("pk", "latest", "status", "category_id")
    last: int | None = 0
    while last is not None:
        rows = list(keys.filter(pk__gt=last)[:READ])
        last = rows[-1][0] if len(rows) == READ else None
        counts.update(row[2:] for row in rows)
        blocks = [[row[:2] for row in rows[start : start + BLOCK]] for start in range(0, len(rows), BLOCK)]
        kept = [SelectedBlock(selection=selection, size=len(block), animals=block) for block in blocks]
        SelectedBlock.objects.bulk_create(kept)
        selection.animals += len(rows)
        if selection.animals > most:
            selection.delete()
            raise SelectionTooLargeError
    selection.counts = [[*of, count] for of, count in counts.items()]
    selection.save()
    return selection


def begin(selection: Selection, target: Target) -> Change:
    """Create the bulk change that the selection is for, or return the one that was made of it before."""
    with transaction.atomic():
        kept = Selection.objects.select_for_update().get(pk=selection.pk)
        if kept.change is None:
            kept.value = str(target.value)
            kept.change = Change.begin(user_id=kept.user_id, what=str(target), column=target.column)
            kept.save()
    return kept.change


def change_block(bulk: Change) -> bool:
    """Change the next animals of a bulk change, and return whether it goes on."""
    selection = bulk.selection
    if bulk.column == "category_id" and not Category.objects.filter(pk=selection.value).exists():
        bulk.outcome = CATEGORY_GONE
        return False
    if block := selection.blocks.order_by("pk").first():
        value = selection.value if bulk.column == "status" else int(selection.value)
        made = bulk_plan(dict(block.animals), bulk.column, value, lock=True)
        write(made, bulk)
        block.delete()
        bulk.changed += len(made.changes)
        bulk.left_count += len(made.left)
        bulk.left = [*bulk.left, *made.left][:LEFT_LISTED]
    return bool(selection.blocks.exists())


def first_block(selection: Selection) -> Versions:
    """Return the first animals of a selection that are not done."""
    block = selection.blocks.order_by("pk").first()
    return dict(block.animals) if block else {}
