"""Changes of animals that someone has seen: what one would do, and doing it. `pets.blocks` has those of many."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from django.db.models import Max
from django.utils import timezone

from changes.models import Change
from pets.columns import NAMES
from pets.models import Pet
from pets.plan import CHANGED, GONE
from pets.writing import change_animals

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


def plan(seen: Versions, column: str, value: Value, *, lock: bool = False) -> Plan:
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


def write(made: Plan, change: Change) -> None:
    """Do it, and write the history as a part of the change, in the transaction that planned it."""
    values = {
        pet.pk: {name: getattr(pet, name) for name in NAMES} | {made.column: value}
        for value, pets in made.changes.items()
        for pet in pets
    }
    if values:
        change_animals(values, timezone.now(), change)


def _now(numbers: Iterable[int], *, lock: bool) -> tuple[dict[int, Pet], dict[int, int]]:
    """Return the animals as they are, and the latest row of history of each."""
    pets = Pet.objects.filter(pk__in=[*numbers]).defer("created_at", "updated_at").order_by("pk")
    found = {pet.pk: pet for pet in (pets.select_for_update() if lock else pets)}
    newest = Pet.history.filter(id__in=[*numbers]).order_by().values_list("id").annotate(Max("history_id"))
    return found, dict(newest)
