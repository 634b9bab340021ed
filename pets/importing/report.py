"""What an import did, for people and for machines."""

import shlex
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from pets.importing.changes_report import animals, changes_as_json, summary
from pets.importing.errors import printable
from pets.importing.options import Outcome
from pets.importing.readers.header import named
from pets.importing.staging import Missing
from pets.models import ENDED_EARLY, ImportRun, ImportState

NAMED = 20
"""New categories, and missing animals, that are listed."""


def report(outcome: Outcome) -> str:
    """Return the sentences about a run that is done, or was a dry run."""
    run = outcome.run
    would = run.state == ImportState.DRY_RUN
    new = len(run.new_categories)
    categories = f" and {new:,} new {'category' if new == 1 else 'categories'}" if new else ""
    lines = [
        f"{'Dry run' if would else 'Done'}, {run}: of {run.rows:,} {'row' if run.rows == 1 else 'rows'} "
        f"{counts(run)}{categories}, "
        f"in {seconds(run):.1f} s."
    ]
    if hidden := str(outcome.hidden):
        lines.append(f"Hidden in the sheet, but read: {hidden}.")
    if run.updated + run.unchanged:
        lines.append(f"Matched {run.matched_by_id:,} by id and {run.matched_by_reference:,} by external_reference.")
    if outcome.changes is not None:
        lines += summary(outcome.changes, would=would)
        lines += animals(outcome.changes, run.created + run.updated, outcome.place) if would else []
    if outcome.new_categories:
        lines.append(f"New categories: {named(outcome.new_categories, NAMED)}.")
    if outcome.missing is not None:
        lines += _missing(outcome.missing)
    if would:
        lines.append("Dry run: nothing was saved.")
    elif run.created or run.updated or run.new_categories:
        lines.append(f"To undo it: manage.py undo_import {run.pk}")
    if outcome.changes is not None and outcome.changes.path:
        lines.append(f"All changes are in {outcome.changes.path}.")
    if run.rejects:
        lines.append(f"The rejected rows are in {run.rejects}.")
        lines.append(f"Fix them, then run: manage.py import_pets {shlex.join([run.rejects, *_needed(run.options)])}")
    return "\n".join(lines)


SWITCHES = {
    "ignore_ids": "--ignore-ids",
    "accept_references": "--accept-references",
    "create_categories": "--create-categories",
    "force_categories": "--create-categories=force",
}


def _needed(options: dict[str, Any]) -> Iterator[str]:
    """Yield the options of an import that its file of rejects needs too."""
    reading = options["reading"]
    for name in ("format", "delimiter"):
        if reading[name] and reading[name] != "xlsx":  # its rejects are CSV
            yield f"--{name}={reading[name]}"
    for title, column in reading["mapping"].items():
        yield f"--map={title}={column}"
    for column, value in reading["defaults"].items():
        yield f"--default-{column}={value}"
    if reading["formula_safe"]:
        yield "--formula-safe"
    if not options["keep_blanks"]:
        yield "--blank=clear"
    switches = {name: switch for name, switch in SWITCHES.items() if options[name]}
    if "force_categories" in switches:
        del switches["create_categories"]
    yield from switches.values()


def _missing(missing: Missing) -> list[str]:
    named = [
        f"  animal {animal.id}{f' ({printable(animal.external_reference)})' if animal.external_reference else ''}: "
        f"{printable(animal.name)}"
        for animal in missing.animals[:NAMED]
    ]
    if missing.count > len(named):
        named.append(f"  … and {missing.count - len(named):,} more.")
    return [f"Missing in the file: {missing.count:,} {'animal' if missing.count == 1 else 'animals'}.", *named]


def counts(run: ImportRun) -> str:
    """Return the result for its rows."""
    return f"{run.created:,} added, {run.updated:,} changed, {run.unchanged:,} unchanged, {run.rejected:,} rejected"


def state(run: ImportRun) -> str:
    """Return how far a run came. A dry run that has not ended as one says that it is one."""
    is_dry = run.options.get("dry_run") and run.state in {ImportState.RUNNING, *ENDED_EARLY}
    return f"dry run {run.state}" if is_dry else run.state


def seconds(run: ImportRun) -> float:
    """Return how long a run took; 0 for one that has no end."""
    return (run.finished_at - run.started_at).total_seconds() if run.finished_at else 0.0


def as_json(outcome: Outcome) -> dict[str, Any]:
    """Return all of an outcome for a machine."""
    run = outcome.run
    result = run_as_json(run) | {
        "hidden": asdict(outcome.hidden),
        "new_category_names": list(outcome.new_categories),
        "errors": [error.as_json() for error in outcome.errors],
    }
    if outcome.changes is not None:
        result |= {"changes": changes_as_json(outcome.changes)}
    if outcome.missing is not None:
        missing = [animal._asdict() for animal in outcome.missing.animals]
        result |= {"missing_count": outcome.missing.count, "missing": missing}
    return result if outcome.rejection is None else result | {"message": outcome.rejection}


def run_as_json(run: ImportRun) -> dict[str, Any]:
    """Return the record of a run; times are ISO 8601 in UTC."""
    return {
        "import": run.pk,
        "state": run.state,
        "who": run.who,
        "file": run.file_name,
        "sha256": run.sha256,
        "options": run.options,
        "rows": run.rows,
        "created": run.created,
        "updated": run.updated,
        "unchanged": run.unchanged,
        "matched_by_id": run.matched_by_id,
        "matched_by_reference": run.matched_by_reference,
        "rejected": run.rejected,
        "new_categories": len(run.new_categories),
        "rejects": run.rejects,
        "outcome": run.outcome,
        "started_at": run.started_at.isoformat(),
        "seconds": round(seconds(run), 3),
        "undone_at": run.undone_at.isoformat() if run.undone_at else None,
    }
