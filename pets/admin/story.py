"""What happened to an animal, in words, newest first: for the card beside its form, and for its history by day."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date
from itertools import pairwise
from typing import Any, NamedTuple

from changes.undoing import REASON, RESTORED
from changes.values import in_words
from pets.columns import CATEGORY, ON_PAGES, STATUS, Column
from pets.models import Pet

SHOWN = 6
"""Changes beside the form; the history has all."""


class Changed(NamedTuple):
    """One value that became another; `status` is what a badge of it is of."""

    label: str
    before: str
    after: str
    status: str = ""

    @property
    def word(self) -> str:
        """Return what it became within a sentence."""
        return self.status or self.after


@dataclass
class Happened:
    """A row of history, in words; `name_actors` adds `who` and `contact`."""

    row: Any
    verb: str
    icon: str
    mark: str
    """What the colour behind the icon says: added, deleted, or one of many; empty for nothing."""
    changes: list[Changed]

    who: str = ""
    contact: str = ""
    change: Any = None
    """The change that the row is, or is a part of, where it is shown with its Undo."""

    @property
    def day(self) -> date:
        day: date = self.row.history_date.astimezone(UTC).date()
        return day

    @property
    def actor(self) -> str:
        """Return who did it: of an import, who ran it."""
        return str(self.row.import_run.who if self.row.import_run else self.row.actor)


def history_of(pet: Pet) -> list[Any]:
    """Return the newest rows of history, one more than is shown: a change is what differs from the row before."""
    return list(history_rows(pet.pk).order_by("-history_id")[: SHOWN + 1])


def history_rows(number: int) -> Any:
    """Return the query for all rows of history of an animal, with what a sentence about each needs."""
    rows = Pet.history.filter(id=number).select_related("category", "import_run", "change")
    return rows.defer("import_run__rejects", "change__left")


def first_of(pet: Pet, newest: list[Any]) -> Any:
    """Return the row that says where the animal came from."""
    if len(newest) <= SHOWN:
        return newest[-1] if newest else None
    return Pet.history.filter(id=pet.pk).order_by("history_id").select_related("import_run").first()


def told(rows: Sequence[Any], former: Any = None) -> list[Happened]:
    """Return what each row says happened; `former` is the one before the oldest of them."""
    return [_told(row, before) for row, before in pairwise([*rows, former])]


def _told(row: Any, before: Any) -> Happened:
    is_edit = before is not None and row.history_type == "~"
    changes = changes_between(before, row) if is_edit else {}
    verb = _verb(row, changes, is_back=before is not None)
    return Happened(row, verb, _icon(row, verb, changes), _mark(row), list(changes.values()))


def _verb(row: Any, changes: Mapping[Column, Changed], *, is_back: bool) -> str:
    if row.undo_of_id:
        return f"undid import {row.undo_of_id}{', which deleted it' if row.history_type == '-' else ''}"
    if row.import_run_id:
        return "updated it" if row.history_type == "~" else "imported it"
    if row.history_type == "-":
        return "deleted it"
    if row.history_type == "+":
        return "restored it" if is_back else "added it"
    if (row.history_change_reason or "").startswith(RESTORED.format("")):
        return "restored an old version"
    return _edit(row, changes)


def _edit(row: Any, changes: Mapping[Column, Changed]) -> str:
    if len(changes) != 1:
        return "undid a change" if _is_undo(row) else "changed it"
    [(column, changed)] = changes.items()
    return column.say(column.undoing if _is_undo(row) else column.verb, after=changed.word)


def _is_undo(row: Any) -> bool:
    """Return whether it undid an edit, or a bulk change."""
    change = row.change
    return (row.history_change_reason or "").startswith(REASON.format("")) or bool(change and change.is_undo)


def _is_one_of_many(row: Any) -> bool:
    return bool(row.import_run_id or (row.change and row.change.changed > 1))


def _icon(row: Any, verb: str, changes: Mapping[Column, Changed]) -> str:
    if row.history_type == "-":
        return "trash-2"
    if verb.startswith(("undid", "restored")):
        return "undo-2"
    if _is_one_of_many(row):
        return "file-up" if row.import_run_id else "layers"
    return "plus" if row.history_type == "+" else "tags" if [*changes] == [CATEGORY] else "pencil"


def _mark(row: Any) -> str:
    return {"+": "good", "-": "bad"}.get(row.history_type) or ("info" if _is_one_of_many(row) else "")


def changes_between(before: Any, after: Any) -> dict[Column, Changed]:
    """Return by column what one row of history has otherwise than the one before."""
    different = [column for column in ON_PAGES if getattr(before, column.name) != getattr(after, column.name)]
    return {column: _changed(column, before, after) for column in different}


def values_of(row: Any) -> list[Changed]:
    """Return all values of a row of history, as if it had them from nothing."""
    return [_changed(column, None, row) for column in ON_PAGES]


def _changed(column: Column, before: Any, after: Any) -> Changed:
    return Changed(
        column.title, _shown(before, column), _shown(after, column), after.status if column is STATUS else ""
    )


def _shown(row: Any, column: Column) -> str:
    if row is None:
        return ""
    if column is CATEGORY:
        return row.category.name if row.category else "a deleted category"
    return in_words(Pet, column.name, getattr(row, column.name)) or "none"


def cells(row: Any) -> list[str]:
    """Return the values of a row of history as a file has them, in the order of `ON_PAGES`."""
    return [
        (row.category.name if row.category else "") if column is CATEGORY else getattr(row, column.name) or ""
        for column in ON_PAGES
    ]
