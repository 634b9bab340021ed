"""`manage.py undo_import`: the catalogue as if a file had not been imported."""

from collections.abc import Iterable
from typing import Any

from django.core.management.base import CommandParser
from django.utils.text import capfirst

from changes.models import Change, State
from changes.preview import UndoPlan, undo_plan
from changes.words import undo_in_words, undone_in_words
from commands.base import StoreCommand, add_safety_options
from commands.exits import Exit, ExitError
from files.management.base import counting, ending
from files.undo import change_of, undo_import
from history.naming import who
from pets.models import ImportRun

SHOWN = 20
STOPPED = "Stopped. {:,} of its animals are done. To undo the rest: manage.py undo_import {}"
NOT_LOOKED_AT = "How many are left as they are shows only afterwards: there are too many to look at each of them."


class Command(StoreCommand):
    help = (
        "Undo an import: delete the animals it added and give those it changed their former values. "
        "Animals that were changed since are left as they are, and listed; undo it again once they are as before. "
        "Hide the progress with -v0."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", type=int, metavar="RUN", help="The number of the import, as list_imports shows it.")
        add_safety_options(parser)

    def handle(self, **options: Any) -> None:
        number, dry_run = options["run"], options["dry_run"]
        if dry_run or self.would_ask(yes=options["yes"]):
            with ending():
                change = change_of(number)
                plan = undo_plan(change)
            if dry_run:
                self._report_plan(change, plan)
                return
            if plan.count:
                self.confirm(f"{_would(change, plan)}?", yes=False)
        shown = options["verbosity"] > 0
        with ending(), counting(f"Undoing import {number}", "blocks", shown=shown) as progress:
            undo = undo_import(number, progress)
        if undo.state == State.STOPPED:
            raise ExitError(STOPPED.format(undo.passed, number), status=Exit.STOPPED)
        self._report(undo, ImportRun.objects.get(pk=number))

    def _report_plan(self, change: Change, plan: UndoPlan) -> None:
        lines = [f"{_would(change, plan)}."]
        left = [(animal.undo.animal, animal.undo.reason) for animal in plan.left]
        lines += _lines(left, plan.left_count) if plan.is_exact else [NOT_LOOKED_AT]
        result = {"import": change.run.pk, "state": "dry run", "dry_run": True, "deleted": plan.deletes}
        result |= {"restored": plan.sets, "left_count": plan.left_count if plan.is_exact else None}
        self.report("\n".join([*lines, "Dry run: nothing was saved."]), result | {"left": _json(left)})
        if plan.left_count:
            raise SystemExit(Exit.DONE_WITH_REJECTED_ROWS)

    def _report(self, undo: Change, run: ImportRun) -> None:
        left = sorted((number, reason) for number, _, reason in undo.left)
        lines = [f"Undone, {_named(run)}: {undone_in_words(undo, 'set back')}", *_lines(left, undo.left_count)]
        if left:
            lines.append(f"Once they are as the import left them: manage.py undo_import {run.pk}")
        result = {"import": run.pk, "state": run.state, "dry_run": False, "deleted": undo.deleted}
        result |= {"restored": undo.changed, "left_count": undo.left_count, "left": _json(left)}
        self.report("\n".join(lines), result)
        if left:
            raise SystemExit(Exit.DONE_WITH_REJECTED_ROWS)


def _named(run: ImportRun) -> str:
    return f"{run} of {run.file_name} by {who(run.who)}"


def _would(change: Any, plan: UndoPlan) -> str:
    run, change.undo_word = change.run, "Undo"
    does = undo_in_words(change, plan) if plan.count else "There is nothing to undo"
    return f"{capfirst(_named(run))}, {run.started_at:%Y-%m-%d %H:%M} UTC. {does}"


def _lines(left: list[tuple[int, str]], count: int) -> Iterable[str]:
    """Return the lines about the animals that are left: how many, the first of them, and how many more."""
    if count:
        yield f"{count:,} left as {'it is' if count == 1 else 'they are'}:"
    yield from (f"  animal {number}: {reason}" for number, reason in left[:SHOWN])
    if count > SHOWN:
        yield f"  … and {count - SHOWN:,} more."


def _json(left: list[tuple[int, str]]) -> list[dict[str, int | str]]:
    return [{"id": number, "reason": reason} for number, reason in left]
