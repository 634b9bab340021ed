"""What an undo would do, in words, for the page that asks: how many, from what to what, and the first by name."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from django.utils.text import capfirst

from categories.models import Category
from changes.models import Change
from pets.activity import beside, rows
from pets.columns import CATEGORY, STATUS
from pets.models import Pet, PetStatus
from pets.plan import BLOCK, Planned, deleted_categories, planned, rows_before

LISTED = 100
"""Animals that are named; the others are counted."""


class PlannedRow(NamedTuple):
    """An animal that an undo changes: its row of history, as `AnimalRow`, and each field in words, before and after."""

    row: Any
    former: Any
    now: Any
    fields: list[tuple[str, str, str]]
    deletes: bool
    restores: bool


class LeftRow(NamedTuple):
    """An animal of which something stays, why, and the newest change of it since."""

    row: Any
    now: Any
    reason: str
    since: Any


@dataclass(frozen=True)
class Plan:
    """What an undo would do now. Only the first block is exact if there are more animals: `is_exact` is false then."""

    sets: int
    restores: int
    deletes: int
    left_count: int
    flows: list[tuple[str, str, str, int]]
    """A field, its value now, what it becomes, and of how many animals."""
    back: list[PlannedRow]
    left: list[LeftRow]
    is_exact: bool

    @property
    def count(self) -> int:
        """How many animals it changes."""
        return self.sets + self.restores + self.deletes


def plan(
    change: Change, *, animals: Sequence[int] | None = None, category: int | None = None, named: bool = True
) -> Plan:
    """Return what undoing a change, or these animals of it, would do now; only counts, unless they shall be `named`."""
    found: list[Planned] = []
    reached = None
    most = BLOCK if animals else min(BLOCK, change.animals)
    while len(found) < most and (block := rows_before(change, reached, animals)):
        found += planned(change, block, category=category)
        reached = block[-1]
    does = Counter(each.does for each in found)
    is_exact = animals is not None or change.animals <= BLOCK
    if not is_exact:  # what the others have now is found when they are undone
        does = Counter({"~": change.changed, "-": change.added, "+": change.deleted})
    left = [each for each in found if each.reason]
    if not named:
        return Plan(does["~"], does["+"], does["-"], len(left), [], [], [], is_exact)
    shown = [each for each in found if each.does][:LISTED]
    numbers = [each.row for each in (*shown, *left[:LISTED])]
    read = {row.row.history_id: row for row in beside(rows(change).filter(history_id__in=numbers))}
    words = _Words(change)
    flows = Counter(flow for each in found if each.does == "~" for flow in words.fields(each))
    return Plan(
        does["~"],
        does["+"],
        does["-"],
        len(left),
        [(*flow, count) for flow, count in flows.items()],
        [PlannedRow(*read[each.row][:3], words.fields(each), each.does == "-", each.does == "+") for each in shown],
        [LeftRow(read[each.row].row, read[each.row].now, each.reason, read[each.row].since) for each in left[:LISTED]],
        is_exact,
    )


class _Words:
    """Fields and values as people read them."""

    def __init__(self, change: Change) -> None:
        self.change = change
        self.categories = Category.objects.in_bulk()
        fields: Any = Pet._meta.fields  # noqa: SLF001 - Django's documented name
        self.labels = {field.attname: capfirst(str(field.verbose_name)) for field in fields}

    @cached_property
    def deleted(self) -> dict[int, Category]:
        """Return the categories that the undo brings back."""
        return {each.pk: each for each in deleted_categories(self.change)}

    def fields(self, planned: Planned) -> list[tuple[str, str, str]]:
        """Return each field that goes back: its label, its value now, and what it becomes."""
        if planned.does != "~":
            return []
        return [
            (self.labels[name], self._value(name, planned.former[name]), self._value(name, value))
            for name, value in planned.values.items()
        ]

    def _value(self, name: str, value: Any) -> str:
        if name == CATEGORY.name:
            return str(self.categories.get(value) or self.deleted.get(value) or "a deleted category")
        return str(PetStatus(value).label) if name == STATUS.name else value or "none"
