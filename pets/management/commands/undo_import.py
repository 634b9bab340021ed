"""`manage.py undo_import`: the catalogue as if a file had not been imported."""

import json
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from pets.importing.progress import Progress
from pets.importing.undo import Undone, undo_import
from pets.management.stopping import sigterm_as_ctrl_c
from pets.management.telling import refusals, tell

TOLD = 20


class Command(BaseCommand):
    """Takes one import back."""

    help = (
        "Take back an import: delete the animals it added and give those it changed their former values. "
        "Animals that were changed since are left as they are, and listed."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add which, and how to print."""
        parser.add_argument("run", type=int, metavar="RUN", help="The number of the import, as list_imports shows it.")
        parser.add_argument("--dry-run", action="store_true", help="Say what would be done, and do nothing.")
        parser.add_argument("--json", action="store_true", help="Print one JSON object, which lists all that is left.")

    def handle(self, **options: Any) -> None:
        """Undo and tell."""
        progress = Progress(sys.stderr, shown=options["verbosity"] > 0)
        stopped = "Stopped: nothing was taken back."
        with refusals(self, as_json=options["json"], stopped=stopped), sigterm_as_ctrl_c():
            undone = undo_import(options["run"], progress, dry_run=options["dry_run"])
        tell(self, json.dumps(_as_json(undone, options)) if options["json"] else _text(undone, options))


def _as_json(undone: Undone, options: dict[str, Any]) -> dict[str, Any]:
    return {
        "import": undone.run.pk,
        "dry_run": options["dry_run"],
        "deleted": undone.deleted,
        "restored": undone.restored,
        "categories_deleted": undone.categories,
        "left": [{"id": left.pet_id, "reason": left.reason} for left in undone.left],
    }


def _text(undone: Undone, options: dict[str, Any]) -> str:
    left = f"{len(undone.left):,} left as {'it is' if len(undone.left) == 1 else 'they are'}"
    did = "Dry run of undoing" if options["dry_run"] else "Undone,"
    lines = [
        f"{did} {undone.run}: {undone.deleted:,} animals deleted, {undone.restored:,} given their former values, "
        f"{undone.categories:,} categories deleted, {left}."
    ]
    lines += [f"  animal {left.pet_id}: {left.reason}" for left in undone.left[:TOLD]]
    if len(undone.left) > TOLD:
        lines.append(f"  … and {len(undone.left) - TOLD:,} more; --json lists all.")
    if options["dry_run"]:
        lines.append("All of it was taken back; nothing was changed.")
    return "\n".join(lines)
