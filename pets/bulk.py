"""Changes of animals that someone has seen: what one would do, and doing it. `pets.blocks` has those of many."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from django.contrib.auth.base_user import AbstractBaseUser
from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from changes.acting import acting
from changes.models import Change, Kind
from pets.columns import NAMES
from pets.models import Pet
from pets.plan import CHANGED, GONE
from pets.writing import change_animals, delete_animals

Value = str | int
Versions = Mapping[int, int | None]
"""The animals by their ids, each with the row of history that was its latest when someone looked."""


@dataclass(frozen=True)
class Target:
    """What animals become: one column and its value, and the value in a word."""

    column: Literal["status", "category_id"]
    value: Value
    word: str

    def __str__(self) -> str:
        return f"{'Status' if self.column == 'status' else 'Category'} becomes {self.word}"


@dataclass
class Plan:
    """What would be done: the animals that get the value, how many have it already, and those that are left."""

    column: str
    value: Value
    changes: list[Pet] = field(default_factory=list)
    already: int = 0
    left: list[tuple[int, str, str]] = field(default_factory=list)
    """Id, name, reason."""


def plan(seen: Versions, column: str, value: Value, *, lock: bool = False) -> Plan:
    """Sort the animals in `seen` into those to change, those that are so already, and those changed since."""
    made = Plan(column, value)
    found = Pet.objects.filter(pk__in=[*seen]).defer("created_at", "updated_at").order_by("pk")
    pets = {pet.pk: pet for pet in (found.select_for_update() if lock else found)}
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


def write(made: Plan, change: Change) -> None:
    """Do it, and write the history as a part of the change, in the transaction that planned it."""
    values = {pet.pk: {name: getattr(pet, name) for name in NAMES} | {made.column: made.value} for pet in made.changes}
    if values:
        change_animals(values, timezone.now(), change)


def delete(seen: Versions, *, user: AbstractBaseUser) -> Change:
    """Delete the animals that are as they were seen, all or nothing; undoing the change restores them.

    If none is, the record is not saved: it says only what was left.
    """
    with transaction.atomic():
        made, now = plan(seen, "status", "", lock=True), timezone.now()
        change = Change(
            kind=Kind.DELETION,
            user_id=user.pk,
            who=acting().actor,
            deleted=len(made.changes),
            left=made.left,
            left_count=len(made.left),
            request_id=acting().request_id,
            ended_at=now,
        )
        if made.changes:
            change.save()
            delete_animals([pet.pk for pet in made.changes], now, change)
    return change
