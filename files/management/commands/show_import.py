"""`manage.py show_import`: all that is known about one import."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from commands.base import StoreCommand
from commands.exits import ExitError
from files.changes import Changes, done_by, recorded_changes
from files.errors import ImportRejectedError
from files.lock import is_free
from files.management.base import add_changes, add_run
from files.new_file import ChangesFile
from files.report import animals, changes_as_json, counts, run_as_json, state, summary, switches
from files.undo import ImportUndo, undoable
from history.naming import who
from pets.models import IMPORTED, STANDING, ImportRun


class Command(StoreCommand):
    help = (
        "Show an import: who, when, the file, its options, what it did and why it ended, what it changed, and what of "
        "that can be undone."
    )
    examples = ("12", "12 --changes changes.csv")

    def add_arguments(self, parser: CommandParser) -> None:
        add_run(parser)
        add_changes(parser)

    def handle(self, **options: Any) -> None:
        """Show it; one that is recorded as running and is not is recorded as killed first."""
        is_free()
        run = ImportRun.objects.filter(pk=options["run"]).first()
        if run is None:
            message = f"There is no import {options['run']}. list_imports shows them."
            raise ExitError(message)
        try:
            changes = recorded_changes(run.pk) if run.state in IMPORTED else None
            undo = undoable(run.pk) if run.state in STANDING else None
            if options["changes"] is not None:
                changes = _write(run, changes, options["changes"])
        except ImportRejectedError as error:
            raise ExitError(str(error)) from None
        self.show("\n".join(_lines(run, changes, undo)), _json(run, changes, undo))


def _write(run: ImportRun, changes: Changes | None, path: Path) -> Changes:
    if changes is None:
        message = f"Import {run.pk} changed nothing ({run.state}). There is nothing to write."
        raise ImportRejectedError(message)
    with ChangesFile(path, formula_safe=run.options.get("reading", {}).get("formula_safe", False)) as file:
        file.write(done_by(run.pk))
        file.publish()
        file.kept = True
    changes.path = str(file.path)
    return changes


def _lines(run: ImportRun, changes: Changes | None, undo: ImportUndo | None) -> list[str]:
    facts = [
        ("Started", f"{run.started_at:%Y-%m-%d %H:%M} UTC by {who(run.who)}, took {run.seconds:.1f} s"),
        ("File", f"{run.file_name}, SHA-256 {run.sha256}"),
        ("Options", switches(run)),
        ("Rows", f"{run.rows:,}: {counts(run)}"),
        ("Reason", run.outcome),
        ("Rejects", run.rejects),
        ("Undone", f"{run.undone_at:%Y-%m-%d %H:%M} UTC" if run.undone_at else ""),
    ]
    lines = [f"Import {run.pk}: {state(run)}", *(f"{name + ':':9} {value}" for name, value in facts if value)]
    if changes is not None:
        lines += summary(changes, would=False)
        lines += animals(changes, run.created + run.updated, "line")
        lines += [f"All changes are in {changes.path}."] if changes.path else []
    return [*lines, _undo(run, undo)]


def _undo(run: ImportRun, undo: ImportUndo | None) -> str:
    if undo is None:
        return "Nothing can be undone: it wrote nothing." if run.state not in IMPORTED else "It is undone."
    if undo.count:
        return f"{undo.sentence}.\nTo undo it: manage.py undo_import {run.pk}"
    return f"{undo.sentence}. There is nothing to undo." if not undo.left else f"{undo.sentence}."


def _json(run: ImportRun, changes: Changes | None, undo: ImportUndo | None) -> dict[str, Any]:
    return run_as_json(run) | {
        "changes": None if changes is None else changes_as_json(changes),
        "undo": None if undo is None else {"deleted": undo.deleted, "restored": undo.restored, "left": undo.reasons},
    }
