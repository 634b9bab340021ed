"""The history of one thing, read in parts, newest first. Nothing is counted, so a long one opens as fast."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from history.edits import undoings
from history.values import row_number

PER_PAGE = 50


class Part(NamedTuple):
    """Some changes, newest first, and the one before the oldest of them, which says what that changed."""

    changes: list[Any]
    former: Any
    """None if the oldest of them is the first of all."""


class HistoryPage(NamedTuple):
    """A part on a page; each change has `undone_by`, the actor who undid it, or None."""

    changes: list[Any]
    former: Any
    is_first: bool
    older: str
    """Where the page with older changes begins; empty if there are none."""


def page_of(rows: Any, query: Any) -> HistoryPage:
    """Return the page of these rows that a query asks for by `before=12`; the newest for any other."""
    before = row_number(query.get("before", ""))
    changes, former = _part(rows, before, PER_PAGE)
    if before and not changes:
        return page_of(rows, {})
    undone = undoings(changes)
    for change in changes:
        change.undone_by = undone.get(change.history_id)
    return HistoryPage(changes, former, not before, str(changes[-1].history_id) if former else "")


def parts_of(rows: Any, size: int) -> Iterator[Part]:
    """Yield all of these rows, so many at a time; a cursor of the database would hold all of them behind PgBouncer."""
    part = _part(rows, None, size)
    while part.changes:
        yield part
        part = _part(rows, part.changes[-1].history_id, size) if part.former else Part([], None)


def _part(rows: Any, before: int | None, size: int) -> Part:
    newest = rows.order_by("-history_id")
    found = list((newest.filter(history_id__lt=before) if before else newest)[: size + 1])
    return Part(found[:size], found[size] if len(found) > size else None)
