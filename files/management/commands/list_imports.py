"""`manage.py list_imports`: what was imported, newest first."""

from typing import Any

from django.core.management.base import CommandParser

from commands.base import StoreCommand
from files.lock import is_free
from files.management.base import count
from files.report import run_as_json, state
from history.naming import who
from pets.models import ENDED_EARLY, ImportRun

LAYOUT = "{:>6}  {:16}  {:16}  {:>11}  {:>11}  {:>11}  {:>9}  {:>8}  {:12}  {}"
TITLES = ("import", "started (UTC)", "state", "added", "changed", "unchanged", "rejected", "seconds", "who", "file")


class Command(StoreCommand):
    help = "List the imports, newest first: when, by whom, which file, how many animals, and why it failed."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--limit", type=count, default=20, metavar="N", help="How many to list; default 20.")

    def handle(self, **options: Any) -> None:
        """List them; what is recorded as running and is not is recorded as killed first."""
        is_free()
        runs = ImportRun.objects.all()[: options["limit"]]
        lines = [LAYOUT.format(*TITLES), *map(_line, runs)] if runs else ["Nothing was imported yet."]
        self.show("\n".join(lines), [run_as_json(run) for run in runs])


def _line(run: ImportRun) -> str:
    counts = (f"{number:,}" for number in (run.created, run.updated, run.unchanged, run.rejected))
    reason = f"\n{'':8}{run.outcome}" if run.state in ENDED_EARLY and run.outcome else ""
    started, took = f"{run.started_at:%Y-%m-%d %H:%M}", f"{run.seconds:.1f}"
    line = LAYOUT.format(run.pk, started, state(run), *counts, took, who(run.who), run.file_name)
    return f"{line}{reason}"
