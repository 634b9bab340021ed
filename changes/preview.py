"""What an undo would do, in words, for the page that asks: how many, from what to what, and each animal by page."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import NamedTuple

from categories.models import Category
from changes.log import AnimalRow, animals, beside, rows, undoings
from changes.models import AnyChange
from changes.plan import BLOCK, CATEGORY_GONE, AnimalUndo, deleted_categories, planned, rows_before
from changes.words import changes_between
from pets.columns import CATEGORY

LISTED = 25
"""Animals on a page of a change or its undo, and animals that stay that are named on each."""

FLOWS = 12
"""Changes from one value to another that are shown; of more, only the animals are counted."""

TABS = {"deleted": ("-", "added"), "set-back": ("~", "changed"), "restored": ("+", "deleted"), "stay": ("", "")}
"""Which animals a page has: what is done with them as in `AnimalUndo`, and what the change did."""


class AnimalPreview(NamedTuple):
    """An animal of a change, what an undo does with it, and each field that it sets back, in words."""

    row: AnimalRow
    undo: AnimalUndo
    fields: Sequence[tuple[str, str, str]]


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
    left: Sequence[AnimalPreview] = ()
    """The first animals of which something stays."""
    show: str = ""
    """The key in `TABS` of the animals on this page."""
    animals: Sequence[AnimalPreview] = ()
    next: int | None = None
    """The row of history after which the next page begins; None if there is none."""
    lost_category: bool = False
    """Whether one cannot come back, because its category is gone."""

    @property
    def count(self) -> int:
        return self.sets + self.restores + self.deletes

    @property
    def tabs(self) -> dict[str, int]:
        """Return how many animals each tab has; those that stay have one if they are too many to name."""
        stay = self.left_count if self.left_count > LISTED else 0
        counts = zip(TABS, (self.deletes, self.sets, self.restores, stay), strict=True)
        return {show: count for show, count in counts if count}


def undo_plan(
    change: AnyChange, *, named: bool = True, chosen: Sequence[int] | None = None, show: str = "", after: int = 0
) -> UndoPlan:
    """Return what undoing a change, or the `chosen` animals of it, would do now; only counts, unless `named`.

    Of a large change only those of the page are looked at: what the others have now is found when they are undone.
    """
    count = change.animals
    is_exact = chosen is not None or count <= BLOCK
    numbers = rows_before(change, None, chosen, alike=False)[:count] if is_exact else []
    undos = [*planned(change, numbers)][::-1] if numbers else []
    does = Counter({"~": change.changed, "-": change.added, "+": change.deleted})
    if is_exact:
        does = Counter(undo.does for undo in undos)
    stay = [undo for undo in undos if undo.reason]
    plan = UndoPlan(does["~"], does["+"], does["-"], len(stay), is_exact)
    if not named:
        return plan
    show = show if show in plan.tabs else next(iter(plan.tabs), "")
    does_it, did = TABS.get(show, ("", ""))
    if is_exact:
        of_tab = stay if show == "stay" else [undo for undo in undos if show and undo.does == does_it]
        part = [undo for undo in of_tab if undo.row > after]
        shown, older = part[:LISTED], part[LISTED - 1].row if len(part) > LISTED else None
        named_rows = rows(change).filter(history_id__in=[undo.row for undo in (*shown, *stay[:LISTED])])
        read = beside(named_rows, undoings(change))
    else:
        read, older = animals(change, show=did, after=after, count=LISTED)
        shown = [*planned(change, [row.row.history_id for row in read])][::-1]
    by_row = {row.row.history_id: row for row in read}
    categories = Category.objects.in_bulk()
    if {undo.values.get(CATEGORY.name) for undo in (*undos, *shown)} - {None, *categories}:
        categories |= {category.pk: category for category in deleted_categories(change)}
    flows = Counter(flow for undo in undos for flow in _fields(undo, categories))
    return replace(
        plan,
        flows=[(*flow, number) for flow, number in flows.items()] if len(flows) <= FLOWS else [],
        left=[AnimalPreview(by_row[undo.row], undo, ()) for undo in stay[:LISTED]],
        show=show,
        animals=[AnimalPreview(by_row[undo.row], undo, _fields(undo, categories)) for undo in shown],
        next=older,
        lost_category=any(undo.reason == CATEGORY_GONE for undo in undos or shown),
    )


def _fields(undo: AnimalUndo, categories: Mapping[int, Category]) -> list[tuple[str, str, str]]:
    """Return each field that goes back: its label, its value now, and what it becomes, as people read them."""
    if undo.does != "~":
        return []
    now, then = (
        SimpleNamespace(**values, category=categories.get(values[CATEGORY.name]))
        for values in (undo.former, undo.after)
    )
    return [(field.label, field.before, field.after) for field in changes_between(now, then).values()]
