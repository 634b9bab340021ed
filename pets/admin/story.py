"""What the page of an animal shows beside its form: what happened to it, newest first, and where it came from."""

from itertools import pairwise
from typing import Any, NamedTuple

from django.contrib.admin.utils import label_for_field
from django.utils.text import capfirst

from pets.columns import CATEGORY, COLUMNS, STATUS
from pets.models import Pet, PetStatus

SHOWN = 6
"""Changes on the page; the history has all."""

VERBS = {
    "status": "marked it",
    "category": "moved it",
    "name": "renamed it",
    "external_reference": "changed its reference",
}


class Changed(NamedTuple):
    """One value that became another; `status` is what a badge of it is of."""

    label: str
    before: str
    after: str
    status: str = ""


class Happened(NamedTuple):
    """A row of history, in words."""

    row: Any
    verb: str
    icon: str
    changes: list[Changed]


def history_of(pet: Pet) -> list[Any]:
    """Return the newest rows of history, one more than is shown: a change is what differs from the row before."""
    rows = Pet.history.filter(id=pet.pk).order_by("-history_id")
    return list(rows.select_related("category", "import_run", "bulk_change").defer("bulk_change__left")[: SHOWN + 1])


def first_of(pet: Pet, newest: list[Any]) -> Any:
    """Return the row that says where the animal came from."""
    if len(newest) <= SHOWN:
        return newest[-1] if newest else None
    return Pet.history.filter(id=pet.pk).order_by("history_id").select_related("import_run").first()


def told(newest: list[Any]) -> list[Happened]:
    """Return what each row says happened."""
    return [_told(row, before) for row, before in pairwise([*newest, None])][:SHOWN]


def _told(row: Any, before: Any) -> Happened:
    if row.history_type == "-":
        return Happened(row, "deleted it", "trash-2", [])
    if row.history_type == "+":
        restored = before is not None
        return Happened(row, "restored it" if restored else "added it", "undo-2" if restored else "plus", [])
    changes = changes_between(before, row) if before is not None else {}
    column = next(iter(changes)) if len(changes) == 1 else ""
    icon = "tags" if column == "category" else "pencil"
    return Happened(row, VERBS.get(column, "changed it"), icon, list(changes.values()))


def changes_between(before: Any, after: Any) -> dict[str, Changed]:
    """Return by column what one row of history has otherwise than the one before."""
    found = {}
    if before.status != after.status:
        found["status"] = Changed("Status", PetStatus(before.status).label, PetStatus(after.status).label, after.status)
    if before.category_id != after.category_id:
        found["category"] = Changed("Category", _name(before), _name(after))
    for column in (column.name for column in COLUMNS if column not in {STATUS, CATEGORY}):
        old, new = getattr(before, column), getattr(after, column)
        if old != new:
            label = capfirst(str(label_for_field(column, Pet)))
            found[column] = Changed(label, old or "none", new or "none")
    return found


def _name(row: Any) -> str:
    return row.category.name if row.category else "a deleted category"
