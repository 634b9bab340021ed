"""What an undo would do, in words, for the page that asks: how many, from what to what, and the first by name."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.text import capfirst

from categories.models import Category
from changes.log import AnimalRow, beside, rows
from changes.models import AnyChange
from changes.plan import BLOCK, CATEGORY_GONE, AnimalUndo, deleted_categories, planned, rows_before
from pets.columns import CATEGORY, STATUS
from pets.models import Pet, PetStatus

LISTED = 50
"""Animals that are named; the others are counted."""

FLOWS = 12
"""Changes from one value to another that are shown; of more, only the animals are counted."""


@dataclass(frozen=True)
class UndoPlan:
    """What an undo would do now. If there are too many animals to look, not `is_exact`: no one knows which stay."""

    sets: int
    restores: int
    deletes: int
    left_count: int
    is_exact: bool
    flows: Sequence[tuple[str, str, str, int]] = ()
    """A field, its value now, what it becomes, and of how many animals; nothing if they are too many to show."""
    back: Sequence[tuple[Any, str, list[tuple[str, str, str]]]] = ()
    """The row of history of an animal that changes, what is done as in `AnimalUndo`, and each field in words."""
    left: Sequence[tuple[AnimalRow, str]] = ()
    """An animal of which something stays, and why."""
    lost_category: bool = False
    """Whether one cannot come back, because its category is gone."""

    @property
    def count(self) -> int:
        return self.sets + self.restores + self.deletes


def undo_plan(change: AnyChange, *, named: bool = True) -> UndoPlan:
    """Return what undoing a change would do now; only counts, unless animals shall be `named`.

    Of a large change only those that are named are looked at: what the others have now is found when they are undone.
    """
    is_exact = change.animals <= BLOCK
    most = change.animals if is_exact else LISTED * named
    numbers = rows_before(change, None, alike=False)[:most] if most else []
    undos = [*planned(change, numbers)] if numbers else []
    does = Counter({"~": change.changed, "-": change.added, "+": change.deleted})
    if is_exact:
        does = Counter(undo.does for undo in undos)
    counts = does["~"], does["+"], does["-"], sum(bool(undo.reason) for undo in undos) if is_exact else 0
    if not named:
        return UndoPlan(*counts, is_exact)
    shown = [undo for undo in undos if undo.does][:LISTED]
    left = [undo for undo in undos if undo.reason][:LISTED]
    named_rows = rows(change).filter(history_id__in=[undo.row for undo in (*shown, *left)])
    read = {row.row.history_id: row for row in beside(named_rows)}
    fields = _in_words(change)
    flows = Counter(flow for undo in undos if undo.does == "~" and is_exact for flow in fields(undo))
    return UndoPlan(
        *counts,
        is_exact,
        [(*flow, count) for flow, count in flows.items()] if len(flows) <= FLOWS else [],
        [(read[undo.row].row, undo.does, fields(undo)) for undo in shown],
        [(read[undo.row], undo.reason) for undo in left],
        any(undo.reason == CATEGORY_GONE for undo in undos),
    )


def _in_words(change: AnyChange) -> Callable[[AnimalUndo], list[tuple[str, str, str]]]:
    """Return what gives each field that goes back: its label, its value now, and what it becomes, as people read them.

    Categories that the undo brings back are named too.
    """
    categories = {category.pk: str(category) for category in Category.objects.all()}
    fields: Any = Pet._meta.fields  # noqa: SLF001 - Django's documented name
    labels = {field.attname: capfirst(str(field.verbose_name)) for field in fields}

    def word(name: str, value: Any) -> str:
        if name == CATEGORY.name:
            if value not in categories:
                back = {category.pk: str(category) for category in deleted_categories(change)}
                categories.update({value: "a deleted category"} | back)
            return categories[value]
        return str(PetStatus(value).label) if name == STATUS.name else value or "none"

    def fields_of(planned: AnimalUndo) -> list[tuple[str, str, str]]:
        sets = planned.values if planned.does == "~" else {}
        return [(labels[name], word(name, planned.former[name]), word(name, value)) for name, value in sets.items()]

    return fields_of
