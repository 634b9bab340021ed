"""`manage.py list_imports`: what was imported, newest first."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from pets.importing.lock import mark_killed
from pets.importing.report import run_as_json, seconds
from pets.management.telling import tell
from pets.models import ImportRun

LAYOUT = "{:>6}  {:16}  {:8}  {:>11}  {:>11}  {:>11}  {:>9}  {:>8}  {:12}  {}"
TITLES = ("import", "started (UTC)", "state", "added", "changed", "unchanged", "refused", "seconds", "who", "file")


class Command(BaseCommand):
    """Lists imports."""

    help = "List the imports, newest first: when, by whom, which file, how many animals, and what became of it."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add how many, and how to print."""
        parser.add_argument("--limit", type=int, default=20, metavar="N", help="How many to list; default 20.")
        parser.add_argument("--json", action="store_true", help="Print a JSON array.")

    def handle(self, **options: Any) -> None:
        """List them; what is recorded as running and is not is recorded as killed first."""
        mark_killed()
        runs = ImportRun.objects.all()[: max(0, options["limit"])]
        if options["json"]:
            tell(self, json.dumps([run_as_json(run) for run in runs]))
        elif not runs:
            tell(self, "Nothing was imported yet.")
        else:
            tell(self, "\n".join([LAYOUT.format(*TITLES), *(_line(run) for run in runs)]))


def _line(run: ImportRun) -> str:
    counts = (f"{count:,}" for count in (run.created, run.updated, run.unchanged, run.refused))
    return LAYOUT.format(
        run.pk, f"{run.started_at:%Y-%m-%d %H:%M}", run.state, *counts, f"{seconds(run):.1f}", run.who, run.file_name
    )
