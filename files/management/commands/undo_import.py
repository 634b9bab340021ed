"""`manage.py undo_import`: the catalogue as if a file had not been imported."""

import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import IO, Any

from django.core.management.base import CommandParser

from changes.models import Change, State
from changes.plan import AnimalUndo
from commands.arguments import add_safety_options
from commands.base import StoreCommand, to_json
from commands.exits import Exit, ExitError
from files.management.base import ending
from files.progress import Progress
from files.undo import ImportUndo, SeeLeft, undo_import, undoable
from history.naming import who

SHOWN = 20
STOPPED = "Stopped. A part is undone. To go on: manage.py undo_import {}"

BLOCK = 10_000
"""Animals that were left, of those printed at once."""


class Command(StoreCommand):
    help = (
        "Undo an import: delete the animals it added and give those it changed their former values. "
        "Animals that were changed since are left as they are, and listed; undo it again once they are as before. "
        "Hide the progress with -v0."
    )
    examples = ("12 --dry-run", "12 --yes")

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", type=int, metavar="RUN", help="The number of the import, as list_imports shows it.")
        add_safety_options(parser)

    def handle(self, **options: Any) -> None:
        """Undo and report; JSON lists all animals that were left, through a file as they may be a million."""
        dry_run = options["dry_run"]
        if not dry_run:
            self._ask(options)
        progress = Progress(sys.stderr, shown=options["verbosity"] > 0)
        with ending(), tempfile.TemporaryFile("w+") as left:

            def keep(animals: Sequence[AnimalUndo]) -> None:
                left.writelines(_lines(animals, is_first=not left.tell()))

            see_left = keep if options["json"] else None
            undone = undoable(options["run"], see_left) if dry_run else self._undo(options["run"], progress, see_left)
            if options["json"]:
                self.report_in_parts(_json(undone, left, dry_run=dry_run))
            else:
                self.report(_text(undone, dry_run=dry_run), None)
        if undone.left_count:
            raise SystemExit(Exit.DONE_WITH_REJECTED_ROWS)

    def _undo(self, number: int, progress: Progress, see_left: SeeLeft | None) -> ImportUndo:
        try:
            return undo_import(number, progress, see_left=see_left)
        except KeyboardInterrupt:
            if Change.objects.filter(undo_of__imported=number, state=State.RUNNING).exists():
                raise ExitError(STOPPED.format(number), status=Exit.STOPPED) from None
            raise

    def _ask(self, options: dict[str, Any]) -> None:
        """Ask with what would be done, which takes as long as planning it."""
        if self.would_ask(yes=options["yes"]):
            with ending():
                question = undoable(options["run"]).sentence
            self.confirm(f"{question}?", yes=False)


def _lines(animals: Sequence[AnimalUndo], *, is_first: bool) -> Iterator[str]:
    for number, animal in enumerate(animals):
        comma = "" if is_first and not number else ","
        yield f"{comma}{to_json({'id': animal.animal, 'reason': animal.reason})}\n"


def _json(undone: ImportUndo, left: IO[str], *, dry_run: bool) -> Iterator[str]:
    """Yield one JSON object in parts, each of which ends between two values."""
    head = {
        "import": undone.run.pk,
        "state": "dry run" if dry_run else undone.run.state,
        "dry_run": dry_run,
        "deleted": undone.deleted,
        "restored": undone.restored,
        "categories_deleted": undone.categories,
        "left_count": undone.left_count,
    }
    yield f'{to_json(head)[:-1]}, "left": ['
    left.seek(0)
    while lines := "".join(islice(left, BLOCK)):
        yield lines
    yield "]}"


def _text(undone: ImportUndo, *, dry_run: bool) -> str:
    left = f"{undone.left_count:,} left as {'it is' if undone.left_count == 1 else 'they are'}"
    run = undone.run
    did = "Dry run of undoing" if dry_run else "Undone,"
    lines = [
        f"{did} {run} of {run.file_name} by {who(run.who)}: {undone.deleted:,} animals deleted, "
        f"{undone.restored:,} given their former values, "
        f"{undone.categories:,} categories deleted, {left}."
    ]
    first = sorted(undone.left, key=lambda left: left.animal)[:SHOWN]
    lines += [f"  animal {left.animal}: {left.reason}" for left in first]
    if undone.left_count > SHOWN:
        lines.append(f"  … and {undone.left_count - SHOWN:,} more; --json lists all.")
    if dry_run:
        lines.append("Dry run: nothing was saved.")
    elif undone.left_count:
        lines.append(f"Once they are as the import left them: manage.py undo_import {undone.run.pk}")
    return "\n".join(lines)
