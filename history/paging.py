"""The history of one thing by pages, newest first. Nothing is counted, so a long one opens as fast."""

from typing import Any, NamedTuple

from history.edits import undoings
from history.values import row_number

PER_PAGE = 50


class HistoryPage(NamedTuple):
    """Some changes, newest first; each has `undone_by`, the actor who undid it, or None."""

    changes: list[Any]
    former: Any
    """The one before the oldest of them, which says what that changed; None if there is none."""
    is_first: bool
    older: str
    """Where the page with older changes begins; empty if there are none."""


def page_of(rows: Any, query: Any) -> HistoryPage:
    """Return the page of these rows that a query asks for by `before=12`; the newest for any other."""
    newest, before = rows.order_by("-history_id"), row_number(query.get("before", ""))
    read = list((newest.filter(history_id__lt=before) if before else newest)[: PER_PAGE + 1])
    if before and not read:
        return page_of(rows, {})
    changes, former = read[:PER_PAGE], next(iter(read[PER_PAGE:]), None)
    undone = undoings(changes)
    for change in changes:
        change.undone_by = undone.get(change.history_id)
    return HistoryPage(changes, former, not before, str(changes[-1].history_id) if former else "")
