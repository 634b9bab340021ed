"""Changes in words, for lists, pages, messages and files: what each did, and what happened to an animal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date
from itertools import pairwise
from typing import Any, NamedTuple

from django.utils.text import capfirst

from changes.log import AnimalRow
from changes.models import Kind, State
from history.edits import REASON, RESTORED
from history.naming import name_actors
from history.values import in_words as value_in_words
from pets.columns import BY_NAME, CATEGORY, ON_PAGES, Column
from pets.models import IMPORTED, STANDARD_INPUT, ImportState, Pet

DID = {"+": "added", "~": "changed", "-": "deleted"}
IMPORTS = {ImportState.RUNNING: "is importing", ImportState.DRY_RUN: "previewed"}
MOST = 60
"""Characters of a name within a sentence."""

_, *OTHERS = (column.header for column in ON_PAGES)
HEADER = [
    *("id", "name", "what", "changed", *OTHERS),
    *("now", "changed_since_by", "changed_since_at"),
]
"""Of a file of the animals of a change."""

SHOWN = 6
"""Changes beside the form; the history has all."""


class ValueChange(NamedTuple):
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
class HistoryEvent:
    """A row of history, in words; `name_actors` adds `who` and `contact`."""

    row: Any
    verb: str
    icon: str
    mark: str
    """What the colour behind the icon says: added, deleted, or one of many; empty for nothing."""
    changes: list[ValueChange]

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
        run = run_of(self.row)
        return str(run.who if run else self.row.actor)


def run_of(row: Any) -> Any:
    """Return the record of the import that a row of history is a part of; None if it is of none."""
    return row.change.run if row.change else None


def history_of(pet: Pet) -> list[Any]:
    """Return the newest rows of history, one more than is shown: a change is what differs from the row before."""
    rows = Pet.history.filter(id=pet.pk).select_related("category", "change__imported").order_by("-history_id")
    return list(rows.defer("change__imported__rejects", "change__left")[: SHOWN + 1])


def first_of(pet: Pet, newest: list[Any]) -> Any:
    """Return the row that says where the animal came from."""
    if len(newest) <= SHOWN:
        return newest[-1] if newest else None
    return Pet.history.filter(id=pet.pk).order_by("history_id").select_related("change__imported").first()


def events(rows: Sequence[Any], former: Any = None) -> list[HistoryEvent]:
    """Return what each row says happened; `former` is the one before the oldest of them."""
    return [_event(row, before) for row, before in pairwise([*rows, former])]


def _event(row: Any, before: Any) -> HistoryEvent:
    changes = _edits(before, row)
    verb = _verb(row, changes, is_back=before is not None)
    mark = {"+": "good", "-": "bad"}.get(row.history_type) or ("info" if _is_one_of_many(row) else "")
    return HistoryEvent(row, verb, _icon(row, verb, changes), mark, list(changes.values()))


def _edits(before: Any, row: Any) -> dict[Column, ValueChange]:
    """Return what a row changed, if it is no addition or deletion."""
    return changes_between(before, row) if before is not None and row.history_type == "~" else {}


def _verb(row: Any, changes: Mapping[Column, ValueChange], *, is_back: bool) -> str:
    if row.undo_of_id:
        return f"undid import {row.undo_of_id}{', which deleted it' if row.history_type == '-' else ''}"
    if run_of(row):
        return "updated it" if row.history_type == "~" else "imported it"
    if row.history_type == "-":
        return "deleted it"
    if row.history_type == "+":
        return "restored it" if is_back else "added it"
    if (row.history_change_reason or "").startswith(RESTORED.format("")):
        return "restored an old version"
    return _verb_of_edit(row, changes)


def _verb_of_edit(row: Any, changes: Mapping[Column, ValueChange]) -> str:
    is_undo = (row.history_change_reason or "").startswith(REASON.format("")) or (row.change and row.change.is_undo)
    if len(changes) != 1:
        return "undid a change" if is_undo else "changed it"
    [(column, changed)] = changes.items()
    return column.say(column.undoing if is_undo else column.verb, after=changed.word)


def _is_one_of_many(row: Any) -> bool:
    return bool(row.change and (row.change.run or row.change.changed > 1))


def _icon(row: Any, verb: str, changes: Mapping[Column, ValueChange]) -> str:
    if row.history_type == "-":
        return "trash-2"
    if verb.startswith(("undid", "restored")):
        return "undo-2"
    if _is_one_of_many(row):
        return "file-up" if run_of(row) else "layers"
    return "plus" if row.history_type == "+" else "tags" if [*changes] == [CATEGORY] else "pencil"


def changes_between(before: Any, after: Any) -> dict[Column, ValueChange]:
    """Return by column what one row of history has otherwise than the one before."""
    different = [column for column in ON_PAGES if getattr(before, column.name) != getattr(after, column.name)]
    return {column: value_change(column, before, after) for column in different}


def value_change(column: Column, before: Any, after: Any) -> ValueChange:
    """Return what a row of history has instead of the row `before`, or of nothing."""
    badge = getattr(after, column.name) if column.is_badge else ""
    return ValueChange(column.title, _value(before, column), _value(after, column), badge)


def _value(row: Any, column: Column) -> str:
    if row is None:
        return ""
    if column is CATEGORY:
        return row.category.name if row.category else "a deleted category"
    return value_in_words(Pet, column.name, getattr(row, column.name)) or "none"


# --- A change ---------------------------------------------------------------------------------------------------------


def sentence(change: Any) -> str:
    """Return what a change did, without who did it: "moved 39 animals to Snakes"."""
    if change.run is not None:
        return _import(change)
    if change.kind == Kind.MERGE:
        return f"merged {change.what}{'' if change.state == State.DONE else f': {_reached(change)}'}"
    is_undo = change.kind == Kind.UNDO
    if change.animal is not None and not (is_undo and change.animal.row.history_type != "~"):
        return _single(change)
    return _undo(change) if is_undo else _several(change)


def _undo(change: Any) -> str:
    first = change
    while first.kind == Kind.UNDO and first.undo_of is not None:
        first = first.undo_of
    what = "a change" if first.kind == Kind.UNDO else f"“{sentence(first)}”"
    return f"{'redid' if change.is_redo else 'undid'} {what}"


def animals(count: int) -> str:
    """Return "1 animal" or "24 animals"."""
    return f"{count:,} animal{'s' * (count != 1)}"


def undo_in_words(change: Any, plan: Any) -> str:
    """Return all that an undo would do, for its title and its button: "Undo: delete 1,200 animals and set back 3"."""
    is_redo = change.undo_word == "Redo"
    sets = "change" if is_redo else "set back"
    counts = (("delete", plan.deletes), ("restore", plan.restores), (sets, plan.sets))
    first, *others = [(does, count) for does, count in counts if count]
    *listed, last = [f"{first[0]} {animals(first[1])}", *(f"{does} {count:,}" for does, count in others)]
    what = f"{', '.join(listed)} and {last}" if listed else last
    is_restore = first[0] == "restore" and not others and not is_redo
    return capfirst(what) if is_restore else f"{change.undo_word}: {what}"


def undone_in_words(undo: Any, verb: str) -> str:
    """Return what an undo did, in a sentence; `verb` is what it did with animals that were changed."""
    counts = ((undo.deleted, "deleted"), (undo.added, "restored"), (undo.changed, verb))
    first, *others = [(count, did) for count, did in counts if count] or [(0, verb)]
    parts = [f"{animals(first[0])} {'was' if first[0] == 1 else 'were'} {first[1]}"]
    return f"{', '.join([*parts, *(f'{count:,} {did}' for count, did in others)])}."


def _import(change: Any) -> str:
    run = change.run
    verb = IMPORTS.get(run.state) or ("imported" if run.state in IMPORTED else "tried to import")
    counts = ((change.added, "added"), (change.changed, "changed"))
    what = ", ".join(f"{count:,} {word}" for count, word in counts if count)
    file = "standard input" if run.file_name == STANDARD_INPUT else _cut(run.file_name)
    return f"{verb} {file}{what and f': {what}'}"


def _several(change: Any) -> str:
    if change.kind == Kind.ADDITION:
        hour = change.made_at.astimezone(UTC).hour
        return f"added {animals(change.animals)}, {hour}:00 to {hour + 1}:00"
    if change.kind in {Kind.DELETION, Kind.RESTORE}:
        return f"{'deleted' if change.kind == Kind.DELETION else 'restored'} {_reached(change)}"
    column = BY_NAME[change.column]
    return column.say(column.sentence, name=_reached(change), after=_cut(change.what.partition(" becomes ")[2]))


def _reached(change: Any) -> str:
    """Return how many animals; of a change that did not come to its end, of how many."""
    if change.state == State.RUNNING:
        done, of = change.progress
        return f"{done:,} of {animals(of)}"
    if change.unreached:
        return f"{change.animals:,} of {animals(change.animals + change.unreached)}"
    return animals(change.animals)


def _single(change: Any) -> str:
    former, row = change.animal.former, change.animal.row
    name = _cut(row.name)
    if change.kind == Kind.RESTORE:
        return f"restored {name}"
    if row.history_type != "~":
        return f"{DID[row.history_type]} {name}"
    if change.is_redo:
        return f"redid “{_sentence_of_edit(former, row, name)}”"
    if change.kind == Kind.UNDO:
        return f"undid “{_sentence_of_edit(row, former, name)}”"
    return _sentence_of_edit(former, row, name)


def _sentence_of_edit(former: Any, row: Any, name: str) -> str:
    changes = changes_between(former, row) if former is not None else {}
    if len(changes) != 1:
        return f"changed {name}"
    [(column, change)] = changes.items()
    return column.say(column.sentence, name=name, before=_cut(change.before), after=_cut(change.word))


def _cut(text: str) -> str:
    return text if len(text) <= MOST else f"{text[: MOST - 1]}…"


# --- The animals of a change ------------------------------------------------------------------------------------------


@dataclass
class AnimalInWords:
    """An animal of a change: its row of history, what that changed, and how it is otherwise now, and since when."""

    row: Any
    changes: list[ValueChange]
    is_there: bool
    undone: str
    """What an undo of the change did with it."""
    otherwise: list[str]
    """What others did."""
    since: Any


def animals_in_words(rows: Sequence[AnimalRow], reader: Any) -> list[AnimalInWords]:
    """Return these animals in words, with the names that `reader` can see."""
    name_actors([row.since for row in rows], reader)
    in_words = []
    for of in rows:
        changes = _edits(of.former, of.row)
        undone, otherwise = _since(of, changes)
        since = of.since if otherwise else None
        in_words.append(AnimalInWords(of.row, [*changes.values()], of.now is not None, undone, otherwise, since))
    return in_words


def _since(of: AnimalRow, changes: Mapping[Column, ValueChange]) -> tuple[str, list[str]]:
    """Return what an undo of the change did with an animal, and how it is otherwise now because of others."""
    row, now, undo = of.row, of.now, of.undo
    if now is None:
        by_undo = undo is not None and undo.history_type == "-" and not (of.since and of.since.history_id > undo.pk)
        return ("Deleted by the undo" if by_undo else ""), ["Deleted"] * (row.history_type != "-" and not by_undo)
    if row.history_type == "-":
        return ("Restored by the undo", []) if undo else ("", ["In the catalogue"])
    since = {column: change for column, change in changes_between(row, now).items() if not changes or column in changes}
    back = [
        column
        for column in since
        if undo and of.former and len({getattr(one, column.name) for one in (undo, now, of.former)}) == 1
    ]
    undone = f"Set back: {', '.join(since[column].after for column in back)}" if back else ""
    return undone, [change.after for column, change in since.items() if column not in back]


def line_of(row: AnimalInWords) -> list[str]:
    """Return the cells under `HEADER`."""
    after, since = row.row, row.since
    name, *others = (
        (after.category.name if after.category else "") if column is CATEGORY else getattr(after, column.name) or ""
        for column in ON_PAGES
    )
    return [
        str(after.id),
        name,
        DID[after.history_type],
        "; ".join(f"{change.label}: {change.before} → {change.after}" for change in row.changes),
        *others,
        ", ".join(filter(None, [row.undone, *row.otherwise])),
        since.who if since else "",
        f"{since.history_date.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}" if since else "",
    ]
