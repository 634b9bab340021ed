"""What the page of a check shows, as JSON: the rows with what they do, and what of them looks wrong."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import accumulate
from typing import Any, NamedTuple

from django.utils import timezone

from changes.progress import Phase, WorkProgress, left, waiting
from files.changes import Changes, RowPlan, Tally
from files.errors import quoted
from files.lock import is_free
from files.options import Outcome
from files.rejects import Reject
from files.report import NAMED, changes_as_json
from files.staging import MissingAnimal
from history.naming import who
from pets import rules
from pets.columns import CATEGORY, CATEGORY_ID, COLUMNS, NAME, REFERENCE, STATUS
from pets.models import ImportRun, ImportState, ImportUpload

SHOWN = {column.header: column for column in (NAME, CATEGORY, STATUS, *COLUMNS)}
PHASES = (("read", "Read", ""), ("check", "Check", "against the animals"), ("write", "Write", "all or nothing"))
PLACES = 10  # rows with equal errors that are named
MOST_CATEGORIES = 100  # new ones that the page names

KINDS = (
    ("added", "New", "new", "available"),
    ("changed", "Changed", "changed", "sold"),
    ("warning", "Warnings", "with a warning", "pending"),
    ("unchanged", "Unchanged", "unchanged", "answered"),
    ("rejected", "Errors", "with errors", "failed"),
)


class KindCount(NamedTuple):
    """How many rows of one kind there are, and their part of a bar of 100."""

    kind: str  # as "does" of a row has it
    title: str
    word: str
    colour: str
    rows: int
    start: float
    width: float


def tallies(run: ImportRun, found: Mapping[str, Any]) -> list[KindCount]:
    """Return how many rows do what."""
    new, changed = found["warned"]
    counts = (run.created - new, run.updated - changed, new + changed, run.unchanged, run.rejected)
    starts = accumulate(counts, initial=0)
    total = sum(counts) or 1
    parts = [
        KindCount(*kind, count, 100 * start / total, 100 * count / total)
        for kind, count, start in zip(KINDS, counts, starts, strict=False)
    ]
    return [part for part in parts if part.rows or part.kind != "warning"]


class Doubt(NamedTuple):
    """Why a value looks wrong: a sentence, perhaps with the name of an animal between its two parts."""

    field: str
    said: str
    pet_id: int | None = None
    name: str = ""
    more: str = ""
    instead: str = ""  # the reference that can be taken


def found(outcome: Outcome) -> dict[str, Any]:
    """Return what a check found."""
    changes = outcome.changes or Changes()
    doubts, warned = _doubts(outcome, changes)
    alike: dict[tuple[str, ...], list[Reject]] = defaultdict(list)
    for row in outcome.rejected:
        alike[tuple(error.text for error in row.errors)].append(row)
    rows = [*(_plan(row, doubts.get(row.line, ())) for row in outcome.planned), *map(_rejected, alike.values())]
    names = sorted(outcome.new_categories)
    missing = Tally[MissingAnimal]() if outcome.missing is None else outcome.missing
    return {
        "place": outcome.place,
        "categories": names[:MOST_CATEGORIES],
        "new_categories": len(names),
        "lines": sorted(rows, key=lambda row: row["number"]),
        "warned": warned,
        "boxes": sum(
            doubts.count > 0 for doubts in (outcome.near, changes.foreign_ids, changes.altered, changes.misread)
        ),
        "missing": {"count": missing.count, "first": [animal._asdict() for animal in missing.first[:NAMED]]},
        "lacks_category": any(
            error.field in {CATEGORY.header, CATEGORY_ID} and error.message == rules.REQUIRED
            for row in outcome.rejected
            for error in row.errors
        ),
        "foreign": [[header, value, rows] for (header, value), rows in outcome.foreign.items()],
        "near": {
            "count": outcome.near.count,
            "rejected": outcome.near_rejected.count,
            "pairs": [
                [near.line, near.reference, near.theirs] for near in (*outcome.near.first, *outcome.near_rejected.first)
            ],
            "first": [
                {"reference": quoted(near.reference), "theirs": quoted(near.theirs)} for near in outcome.near.first[:1]
            ],
        },
        **changes_as_json(changes),
    }


def _doubts(outcome: Outcome, changes: Changes) -> tuple[dict[int, list[Doubt]], list[int]]:
    """Return by line what looks wrong, and how many rows have such a doubt: new animals, and changed ones."""
    doubts: dict[int, list[Doubt]] = defaultdict(list)
    for near in outcome.near.first:
        said = f"New reference {quoted(near.reference)}, but "
        more = f" has {quoted(near.theirs)}. Is it the same animal?"
        doubts[near.line].append(Doubt(REFERENCE.header, said, near.id, near.name, more, quoted(near.theirs)))
    for misread in changes.misread.first:
        said = f"Looks wrongly decoded. It is probably {misread.likely}."
        doubts[misread.line].append(Doubt(NAME.header, said if misread.likely else "Programs write this for no name."))
    new = outcome.near.count + changes.misread.count
    new -= len(outcome.near.first) + len(changes.misread.first) - len(doubts)  # rows with both
    altered = {change.line for change in changes.altered.first}
    changed = changes.altered.count - len(changes.altered.first) + len(altered)
    for change in changes.altered.first:
        said = "A spreadsheet program or a wrong encoding may have altered it."
        doubts[change.line].append(Doubt(change.field, said))
    return doubts, [new, changed]


def with_columns(page: Any) -> Any:
    """Return the page of lines, with copies of them whose cells have the columns that they are of."""
    page.object_list = [
        line | {"cells": [cell | {"column": SHOWN[cell["header"]]} for cell in line["cells"]]} for line in page
    ]
    return page


def _plan(row: RowPlan, doubts: Sequence[Doubt]) -> dict[str, Any]:
    doubtful = {doubt.field for doubt in doubts}
    cells = []
    for header in SHOWN:
        cell = row.cells[header]
        before = (cell.before or "none") if cell.changes else ""
        cells.append({"header": header, "before": before, "after": cell.after, "doubtful": header in doubtful})
    is_changed = any(cell.changes for cell in row.cells.values())
    does = "added" if row.pet_id is None else "changed" if is_changed else "unchanged"
    return {
        "number": row.line,
        "does": "warning" if doubts else does,
        "cells": cells,
        "pet_id": row.pet_id,
        "by_id": row.by_id,
        "doubts": [doubt._asdict() for doubt in doubts],
    }


def _rejected(rows: Sequence[Reject]) -> dict[str, Any]:
    """Return one line for rows with equal errors; of several, it has only what is wrong."""
    row = rows[0]
    wrong = {CATEGORY.header if error.field == CATEGORY_ID else error.field for error in row.errors}
    texts = {} if row.cells is None else {CATEGORY.header: row.cells.get(CATEGORY_ID, ""), **row.cells}
    shown = () if row.cells is None else SHOWN
    cells = [
        {
            "header": header,
            "after": texts.get(header, "") if header in wrong or len(rows) == 1 else "…",
            "wrong": header in wrong,
        }
        for header in shown
    ]
    lines = [each.line for each in rows]
    errors = [error.text for error in row.errors]
    return {"number": row.line, "does": "rejected", "cells": cells, "errors": errors} | (
        {"rows": len(lines), "places": lines[:PLACES]} if len(lines) > 1 else {}
    )


def work(upload: ImportUpload) -> WorkProgress:
    """Return how far a file is that is checked or imported, or what it waits for."""
    known, now = upload.work, timezone.now()
    is_running = known["state"] == "running" and not is_free()
    steps = PHASES[:2] if known["checks"] else PHASES
    at = min([key for key, _, _ in PHASES].index(known.get("phase", "read")), len(steps) - 1) if is_running else -1
    phases = [
        Phase(
            name,
            of or upload.file_name,
            *(("done", 100) if number < at else ("now", None) if number == at else ("later", 0)),
        )
        for number, (_, name, of) in enumerate(steps)
    ]
    nothing = "It was interrupted and starts again by itself. " if "again" in known else ""
    nothing += "Nothing is saved until you confirm." if known["checks"] else "Nothing is saved until it ends."
    if not is_running:
        phases[0] = phases[0]._replace(state="wait", text="Waiting")
        other = ImportRun.objects.filter(state=ImportState.RUNNING).exclude(pk=upload.run_id or 0).first()
        if other is None:
            return waiting(upload.waits_since or now, nothing, phases)
        line = f"It begins when {other} of {who(other.who)} ends. {nothing}"
        return WorkProgress("Waiting for another import", line, phases=phases)
    if at == 0:
        phases[0] = phases[0]._replace(share=100 * known.get("share", 0), text=f"{known.get('rows', 0):,} rows")
    if not known.get("rows"):
        return WorkProgress("Starting", nothing, phases=phases)
    begun, ends = map(datetime.fromisoformat, (known["begun_at"], known["ends_at"]))
    whole = min((now - begun) / (ends - begun), 0.99) if ends > begun else 0.99
    rate = f", {known['rows'] / max((now - begun).total_seconds(), 1):,.0f} a second" if at == 0 else ""
    line = f"{known['rows']:,} rows read{rate}. {nothing}"
    return WorkProgress(left(ends - now), line, 100 * whole, phases=phases)
