"""The history of an animal as a file: a line for each change, newest first, with the values after it."""

from collections.abc import Iterator
from datetime import UTC
from itertools import chain
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, StreamingHttpResponse
from django.views.decorators.http import require_GET

from changes.words import HistoryEvent, cells, events, history_rows, run_of
from files.downloads import csv_of
from history.naming import name_actors
from history.paging import Part, parts_of
from pets.columns import ON_PAGES
from pets.permissions import may_see_animals

PART = 1_000
"""Changes that are read and sent at once."""

HEADER = [
    *("at", "who", "contact", "what", "changed", *(column.header for column in ON_PAGES)),
    *("file", "line", "bulk_change", "request_id", "change"),
]


@require_GET
def export(request: HttpRequest, number: int) -> StreamingHttpResponse:
    """Send the file, while it is read: there is no limit. It has the names of keys if you can see keys."""
    if not may_see_animals(request) or not request.user.has_perm("pets.export_pet"):
        raise PermissionDenied
    parts = parts_of(history_rows(number), PART)
    newest = next(parts, None)
    if newest is None:
        raise Http404
    return csv_of(f"animal-{number}-history.csv", HEADER, _lines(chain([newest], parts), request.user))


def _lines(parts: Iterator[Part], reader: Any) -> Iterator[list[list[str]]]:
    for part in parts:
        lines = events(part.changes, part.former)
        name_actors(lines, reader)
        yield [_line(event) for event in lines]


def _line(event: HistoryEvent) -> list[str]:
    row, run = event.row, run_of(event.row)
    changes = (f"{change.label}: {change.before} → {change.after}" for change in event.changes)
    return [
        f"{row.history_date.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
        event.who,
        event.contact,
        event.verb,
        "; ".join(changes),
        *cells(row),
        run.file_name if run else "",
        str(row.import_line or ""),
        "" if run else str(row.change_id or ""),
        row.request_id,
        str(row.history_id),
    ]
