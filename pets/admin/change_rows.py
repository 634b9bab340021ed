"""An animal of a change in words: for the page of the change, and as a line of its file."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any

from changes.naming import name_actors
from pets.activity import AnimalRow
from pets.admin.story import Changed, cells, changes_between
from pets.columns import ON_PAGES

_, *OTHERS = (column.header for column in ON_PAGES)
HEADER = [
    *("id", "name", "what", "changed", *OTHERS),
    *("now", "changed_since_by", "changed_since_at"),
]
WHAT = {"+": "added", "~": "changed", "-": "deleted"}


@dataclass
class Shown:
    """An animal of a change: its row of history, what that changed, how it is otherwise now, and since when."""

    row: Any
    changes: list[Changed]
    is_there: bool
    otherwise: list[str]
    since: Any


def shown(rows: Sequence[AnimalRow], reader: Any) -> list[Shown]:
    """Return these animals in words, with the names that `reader` can see."""
    name_actors([row.since for row in rows], reader)
    return [Shown(row.row, _edits(row), row.now is not None, _otherwise(row), row.since) for row in rows]


def line_of(row: Shown) -> list[str]:
    """Return the cells under `HEADER`."""
    after, since = row.row, row.since
    name, *others = cells(after)
    return [
        str(after.id),
        name,
        WHAT[after.history_type],
        "; ".join(f"{change.label}: {change.before} → {change.after}" for change in row.changes),
        *others,
        ", ".join(row.otherwise),
        since.who if since else "",
        f"{since.history_date.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}" if since else "",
    ]


def _otherwise(row: AnimalRow) -> list[str]:
    """Return what of an animal is otherwise now than the change left it; nothing if all is as it was set."""
    if row.now is None:
        return [] if row.row.history_type == "-" else ["Deleted"]
    if row.row.history_type == "-":
        return ["In the catalogue"]
    labels = {change.label for change in _edits(row)}
    since = changes_between(row.row, row.now).values()
    return [change.after for change in since if not labels or change.label in labels]


def _edits(row: AnimalRow) -> list[Changed]:
    """Return what a change gave an animal otherwise than before; nothing if it added or deleted it."""
    is_edit = row.former is not None and row.row.history_type == "~"
    return list(changes_between(row.former, row.row).values()) if is_edit else []
