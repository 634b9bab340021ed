"""A change in words, "marked 24 animals sold": for the lists, the pages and the messages about it."""

from typing import Any

from changes.models import Kind, State
from pets.admin.story import changes_between
from pets.models import IMPORTED, STANDARD_INPUT, ImportState

VERBS = {"+": "added", "-": "deleted"}
IMPORTS = {ImportState.RUNNING: "is importing", ImportState.DRY_RUN: "previewed"}
MOST = 60
"""Characters of a name within a sentence."""


def sentence(change: Any) -> str:
    """Return what a change did, without who did it: "moved 39 animals to Snakes"."""
    if change.run is not None:
        return _import(change)
    if change.kind == Kind.MERGE:
        return f"merged {change.what}{'' if change.state == State.DONE else f': {_reached(change)}'}"
    is_undo = change.kind == Kind.UNDO
    if change.animal is not None and not (is_undo and change.animal.row.history_type != "~"):
        return _single(change)
    if is_undo:
        return f"undid “{sentence(change.undo_of)}”" if change.undo_of else "undid a change"
    return _several(change)


def animals(count: int) -> str:
    """Return "1 animal" or "24 animals"."""
    return f"{count:,} animal{'s' * (count != 1)}"


def _import(change: Any) -> str:
    run = change.run
    verb = IMPORTS.get(run.state) or ("imported" if run.state in IMPORTED else "tried to import")
    counts = ((change.added, "added"), (change.changed, "changed"))
    what = ", ".join(f"{count:,} {word}" for count, word in counts if count)
    file = "standard input" if run.file_name == STANDARD_INPUT else _cut(run.file_name)
    return f"{verb} {file}{what and f': {what}'}"


def _several(change: Any) -> str:
    if change.kind in {Kind.DELETION, Kind.RESTORE}:
        return f"{'deleted' if change.kind == Kind.DELETION else 'restored'} {_reached(change)}"
    if change.column == "status":
        return f"marked {_reached(change)} {change.becomes}"
    return f"moved {_reached(change)} to {_cut(change.becomes)}"


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
    name = _cut(change.animal.name)
    if change.kind == Kind.RESTORE:
        return f"restored {name}"
    if row.history_type != "~":
        return f"{VERBS[row.history_type]} {name}"
    if change.kind == Kind.UNDO:
        return f"undid “{_edit(row, former, name)}”"
    return _edit(former, row, name)


def _edit(former: Any, row: Any, name: str) -> str:
    found = changes_between(former, row) if former is not None else {}
    if len(found) != 1:
        return f"changed {name}"
    [(column, change)] = found.items()
    return column.say(column.sentence, name=name, before=_cut(change.before), after=_cut(change.word))


def _cut(text: str) -> str:
    return text if len(text) <= MOST else f"{text[: MOST - 1]}…"
