"""What an undo would do, in words, for the page that asks: how many, from what to what, and the first by name."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.utils.text import capfirst

from categories.models import Category
from changes.models import Change
from pets.activity import AnimalRow, beside, rows
from pets.columns import CATEGORY, STATUS
from pets.models import Pet, PetStatus
from pets.plan import BLOCK, CATEGORY_GONE, Planned, deleted_categories, planned, rows_before

LISTED = 50
"""Animals that are named; the others are counted."""

FLOWS = 12
"""Changes from one value to another that are shown; of more, only the animals are counted."""


@dataclass(frozen=True)
class Plan:
    """What an undo would do now. If there are too many animals to look, not `is_exact`: no one knows which stay."""

    sets: int
    restores: int
    deletes: int
    left_count: int
    is_exact: bool
    flows: Sequence[tuple[str, str, str, int]] = ()
    """A field, its value now, what it becomes, and of how many animals; nothing if they are too many to show."""
    back: Sequence[tuple[Any, str, list[tuple[str, str, str]]]] = ()
    """The row of history of an animal that changes, what is done with it as in `Planned`, and each field in words."""
    left: Sequence[tuple[AnimalRow, str]] = ()
    """An animal of which something stays, and why."""
    lost_category: bool = False
    """Whether one cannot come back, because its category is gone."""

    @property
    def count(self) -> int:
        return self.sets + self.restores + self.deletes


def plan(change: Change, *, named: bool = True) -> Plan:
    """Return what undoing a change would do now; only counts, unless animals shall be `named`.

    Of a large change only those that are named are looked at: what the others have now is found when they are undone.
    """
    is_exact = change.animals <= BLOCK
    most = change.animals if is_exact else LISTED * named
    numbers = rows_before(change, None, alike=False)[:most] if most else []
    found = [*planned(change, numbers)] if numbers else []
    does = Counter({"~": change.changed, "-": change.added, "+": change.deleted})
    if is_exact:
        does = Counter(each.does for each in found)
    counts = does["~"], does["+"], does["-"], sum(bool(each.reason) for each in found) if is_exact else 0
    if not named:
        return Plan(*counts, is_exact)
    shown = [each for each in found if each.does][:LISTED]
    left = [each for each in found if each.reason][:LISTED]
    named_rows = rows(change).filter(history_id__in=[each.row for each in (*shown, *left)])
    read = {row.row.history_id: row for row in beside(named_rows)}
    words = _Words(change)
    flows = Counter(flow for each in found if each.does == "~" and is_exact for flow in words.fields(each))
    return Plan(
        *counts,
        is_exact,
        [(*flow, count) for flow, count in flows.items()] if len(flows) <= FLOWS else [],
        [(read[each.row].row, each.does, words.fields(each)) for each in shown],
        [(read[each.row], each.reason) for each in left],
        any(each.reason == CATEGORY_GONE for each in found),
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
