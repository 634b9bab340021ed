"""The history of an animal as a file: a line for each change, newest first, with the values after it."""

from datetime import UTC
from itertools import islice
from tempfile import SpooledTemporaryFile

from django.core.exceptions import PermissionDenied
from django.http import FileResponse, Http404, HttpRequest
from django.views.decorators.http import require_safe

from history.naming import name_actors
from history.paging import parts_of
from pets.admin.downloads import CONTENT_TYPES, MEMORY
from pets.admin.permissions import may_see_animals
from pets.admin.story import Happened, history_rows, told
from pets.exporting import FileFormat
from pets.exporting.rows import csv_lines
from pets.spreadsheets import guarded

PART = 1_000
"""Changes that are read at once."""

MOST_PARTS = 100
"""100,000 changes are more than an animal ever had."""

HEADER = [
    *("at", "who", "contact", "what", "changed", "name", "status", "category", "external_reference"),
    *("file", "line", "bulk_change", "request_id", "change"),
]


@require_safe
def export(request: HttpRequest, number: int) -> FileResponse:
    """Return the file. It has the names of keys if you can see keys. Memory doesn't grow with the history."""
    if not may_see_animals(request) or not request.user.has_perm("pets.export_pet"):
        raise PermissionDenied
    rows = history_rows(number)
    if not rows.exists():
        raise Http404
    file = SpooledTemporaryFile(MEMORY)  # noqa: SIM115 - the response closes it
    file.write(csv_lines([HEADER]))
    for part in islice(parts_of(rows, PART), MOST_PARTS):
        events = told(part.changes, part.former)
        name_actors(events, request.user)
        file.write(csv_lines([[guarded(text) for text in _line(event)] for event in events]))
    file.seek(0)
    name = f"animal-{number}-history.csv"
    return FileResponse(file, as_attachment=True, filename=name, content_type=CONTENT_TYPES[FileFormat.CSV])


def _line(event: Happened) -> list[str]:
    row = event.row
    changes = (f"{change.label}: {change.before} → {change.after}" for change in event.changes)
    return [
        f"{row.history_date.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
        event.who,
        event.contact,
        event.verb,
        "; ".join(changes),
        row.name,
        row.status,
        row.category.name if row.category else "",
        row.external_reference or "",
        row.import_run.file_name if row.import_run else "",
        str(row.import_line or ""),
        str(row.bulk_change_id or ""),
        row.request_id,
        str(row.history_id),
    ]
