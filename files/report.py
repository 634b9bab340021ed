"""What an import did, for people and for machines."""

from typing import Any

from files.changes import EXAMPLES, Changes, RowPlan, Tally, changes_of
from files.errors import printable, quoted
from files.options import Outcome
from files.readers.header import named
from files.staging import MissingAnimal
from pets.columns import COLUMNS
from pets.models import ENDED_EARLY, ImportRun, ImportState

NAMED = 20  # new categories, and missing animals, that are listed


def report(outcome: Outcome) -> str:
    """Return the sentences about a run that is done, or was a dry run."""
    run = outcome.run
    would = run.state == ImportState.DRY_RUN
    new = len(run.new_categories)
    left_out = f", {run.left_out:,} left out" if run.left_out else ""
    categories = f" and {new:,} new {'category' if new == 1 else 'categories'}" if new else ""
    lines = [
        f"{'Dry run' if would else 'Done'}, {run}: of {run.rows:,} {'row' if run.rows == 1 else 'rows'} "
        f"{run.created:,} added, {run.updated:,} changed, {run.unchanged:,} unchanged, {run.rejected:,} rejected"
        f"{left_out}{categories}, in {run.seconds:.1f} s."
    ]
    if run.updated + run.unchanged:
        lines.append(f"Matched {run.matched_by_id:,} by id and {run.matched_by_reference:,} by external_reference.")
    if outcome.changes is not None:
        lines += summary(outcome.changes, would=would)
        lines += [f"  {outcome.place} {row.line:,}, {_does(row)}" for row in outcome.changes.first]
        if would and (more := run.created + run.updated - len(outcome.changes.first)) > 0:
            lines.append(f"  … and {more:,} more.")
    if outcome.new_categories:
        lines.append(f"New categories: {named(outcome.new_categories, NAMED)}.")
    if outcome.missing is not None:
        lines += _missing(outcome.missing)
    if would:
        lines.append("Dry run: nothing was saved.")
    elif run.created or run.updated or run.new_categories:
        lines.append(f"To undo it: manage.py undo_import {run.pk}")
    if run.rejects:
        lines.append(f"The rejected rows are in {run.rejects}.")
        lines.append("Fix them and import that file, with the same options, but without --header-row.")
    return "\n".join(lines)


def _missing(missing: Tally[MissingAnimal]) -> list[str]:
    named = [
        f"  animal {animal.id}{f' ({printable(animal.external_reference)})' if animal.external_reference else ''}: "
        f"{printable(animal.name)}"
        for animal in missing.first[:NAMED]
    ]
    if missing.count > len(named):
        named.append(f"  … and {missing.count - len(named):,} more.")
    return [f"Missing in the file: {missing.count:,} {'animal' if missing.count == 1 else 'animals'}.", *named]


def state(run: ImportRun) -> str:
    """Return how far a run came. A dry run that has not ended as one says that it is one."""
    is_dry = run.options.get("dry_run") and run.state in {ImportState.RUNNING, *ENDED_EARLY}
    return f"dry run {run.state}" if is_dry else run.state


def as_json(outcome: Outcome) -> dict[str, Any]:
    """Return all of an outcome for a machine."""
    run = outcome.run
    result = run_as_json(run) | {
        "new_category_names": list(outcome.new_categories),
        "errors": [error.as_json() for error in outcome.errors],
    }
    if outcome.changes is not None:
        result |= {"changes": changes_as_json(outcome.changes)}
    if outcome.missing is not None:
        missing = [animal._asdict() for animal in outcome.missing.first]
        result |= {"missing_count": outcome.missing.count, "missing": missing}
    return result if outcome.rejection is None else result | {"message": outcome.rejection}


RECORDED = (
    *("state", "who", "sha256", "options", "rows", "created", "updated", "unchanged"),
    *("matched_by_id", "matched_by_reference", "rejected", "left_out", "rejects", "outcome"),
)


def run_as_json(run: ImportRun) -> dict[str, Any]:
    """Return the record of a run; times are ISO 8601 in UTC."""
    return {name: getattr(run, name) for name in RECORDED} | {
        "import": run.pk,
        "file": run.file_name,
        "new_categories": len(run.new_categories),
        "started_at": run.started_at.isoformat(),
        "seconds": round(run.seconds, 3),
        "undone_at": run.undone_at.isoformat() if run.undone_at else None,
    }


IF_RIGHT = "If they are right, use --accept-references."
IF_FOREIGN = "If they are, use --ignore-ids. If the changes are right, use --accept-ids."


def foreign_ids(changes: Changes) -> str:
    """Return how many rows make another animal of the one with their ID, and the first of them."""
    return (
        f"The IDs look like those of another catalogue. Most rows with one ({changes.foreign_ids.count:,}) change the "
        f"name and also the reference or category of its animal: {'; '.join(map(_does, changes.foreign_ids.first))}"
    )


def altered(changes: Changes) -> str:
    """Return how many references and names look altered, and the first of them."""
    look = "reference or name looks" if changes.altered.count == 1 else "references or names look"
    first = ", ".join(
        f"{_quoted(change.before)} → {_quoted(change.after)} (animal {change.id})"
        for change in changes.altered.first[:EXAMPLES]
    )
    return f"{changes.altered.count:,} {look} altered by a spreadsheet program or a wrong encoding: {first}"


def _quoted(value: str | None) -> str:
    return "none" if value is None else quoted(value)


def summary(changes: Changes, *, would: bool) -> list[str]:
    """Return the lines about the fields that change, and about what looks wrong."""
    fields = [f"{header}: {count:,} changed" for header, count in changes.fields.items() if count]
    lines = [f"Fields: {', '.join(fields)}."] if fields else []
    if changes.foreign_ids.count and would:
        lines += [f"Warning: {foreign_ids(changes)}.", f"The import will stop there. {IF_FOREIGN}"]
    if changes.altered.count and would:
        lines += [f"Warning: {altered(changes)}.", f"The import will stop there. {IF_RIGHT}"]
    if changes.misread.count:
        lines.append(f"Warning: {misread(changes)}.")
    return lines


def misread(changes: Changes) -> str:
    """Return how many names of new animals look wrong, and the first of them."""
    count = changes.misread.count
    first = [
        f"{quoted(each.name)} is probably {'no name' if each.likely is None else quoted(each.likely)}"
        for each in changes.misread.first[:EXAMPLES]
    ]
    return f"{count:,} {'name looks' if count == 1 else 'names look'} wrong: {', '.join(first)}"


def _does(row: RowPlan) -> str:
    changes = list(changes_of(row))
    reference = next((f" ({printable(change.reference)})" for change in changes if change.reference), "")
    if row.pet_id is None:
        values = ", ".join(f"{change.field} {quoted(change.after)}" for change in changes)
        return f"new animal: {values}"
    values = ", ".join(f"{change.field} {_quoted(change.before)} → {quoted(change.after)}" for change in changes)
    return f"animal {row.pet_id}{reference}: {values}"


def changes_as_json(changes: Changes) -> dict[str, Any]:
    """Return all of it for a machine; `first` has a dry run only."""
    return {
        "fields": {column.header: changes.fields[column.header] for column in COLUMNS},
        "foreign_ids": {
            "count": changes.foreign_ids.count,
            "first": [change._asdict() for row in changes.foreign_ids.first for change in changes_of(row)],
        },
        "altered": _doubts(changes.altered),
        "misread": _doubts(changes.misread),
        "first": [change._asdict() for row in changes.first for change in changes_of(row)],
    }


def _doubts(doubts: Tally[Any]) -> dict[str, Any]:
    return {"count": doubts.count, "first": [doubt._asdict() for doubt in doubts.first[:EXAMPLES]]}
