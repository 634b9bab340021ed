"""Undoing an import by a command: as `changes.undo` undoes every change, and what the command says of it."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from django.db import DatabaseError

from categories.models import Category
from changes import undo as undoing
from changes.models import Change, State
from changes.plan import BLOCK, CHANGED, GONE, AnimalUndo, planned, rows_before
from files.errors import ImportRejectedError, OutcomeUnknownError
from files.lock import only_import
from files.progress import Progress
from files.stopping import stop_if_asked, too_late
from files.transactions import clear_rejections, disconnect
from history.edits import NotUndoneError
from history.naming import who
from pets import stock
from pets.models import STANDING, ImportRun, ImportState

LISTED = 100  # animals that are left and held in memory
TRIES = 3
TRY_AGAIN = 1  # seconds until a block that failed is tried again: someone can hold one of its animals for a while


SeeLeft = Callable[[Sequence[AnimalUndo]], None]


@dataclass
class ImportUndo:
    """What was done, or would be: how much, and what is left: how many, why, and the first `LISTED` of them."""

    run: ImportRun
    see_left: SeeLeft | None = None  # gets what is left, block by block
    deleted: int = 0
    restored: int = 0
    categories: int = 0
    left_count: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    left: list[AnimalUndo] = field(default_factory=list)

    def see(self, plan: Sequence[AnimalUndo]) -> None:
        """Add a block."""
        self.deleted += sum(each.does == "-" for each in plan)
        self.restored += sum(each.does == "~" for each in plan)
        left = [each for each in plan if each.reason]
        self.left_count += len(left)
        self.reasons.update(each.reason for each in left)
        self.left += left[: LISTED - len(self.left)]
        if self.see_left is not None:
            self.see_left(left)

    @property
    def count(self) -> int:
        return self.deleted + self.restored

    @property
    def sentence(self) -> str:
        """Return it in words, without what follows."""
        run = self.run
        left = [f"{count:,} left because {_why(reason, count)}" for reason, count in sorted(self.reasons.items())]
        counts = [
            f"{self.deleted:,} {'animal' if self.deleted == 1 else 'animals'} removed",
            f"{self.restored:,} set back",
            *left,
        ]
        return (
            f"Undo {run} of {run.file_name} by {who(run.who)}, {run.started_at:%Y-%m-%d %H:%M} UTC: {', '.join(counts)}"
        )


def undoable(number: int, see_left: SeeLeft | None = None) -> ImportUndo:
    """Return what `undo_import` would do now; raises `ImportRejectedError` if there is nothing to undo."""
    would = ImportUndo(_standing(number), see_left)
    change, reached = would.run.change, None
    while change is not None and (rows := rows_before(change, reached)):
        would.see([*planned(change, rows)])
        reached = rows[-1]
        stop_if_asked()
    return would


def undo_import(number: int, progress: Progress, *, see_left: SeeLeft | None = None) -> ImportUndo:
    """Delete the animals that the import added, and set back the fields that it changed and nobody changed since.

    Categories that the import added go too, if they are empty and nobody renamed them. A large import is undone in
    blocks: if that is stopped or killed, a later call goes on. Raises `ImportRejectedError`, and `OutcomeUnknownError`
    if the database was lost in the very moment of the commit of a small one.
    """
    with only_import(), clear_rejections():
        run = _standing(number)
        done = ImportUndo(run, see_left)
        with progress.working(f"Undoing {run}"):
            undo = _undo(run, done.see)
        done.deleted, done.restored, done.left_count = undo.deleted, undo.changed, undo.left_count
        done.categories = Category.history.filter(change=undo.pk, history_type="-").count()
        done.run = ImportRun.objects.get(pk=run.pk)
        return done


def _undo(run: ImportRun, watch: undoing.Watch) -> Change:
    """Undo it, or go on with an undo that was interrupted, and return the undo."""
    change = run.change
    if change is None:
        message = f"Nothing changed. Import {run.pk} changed nothing, so there is nothing to undo."
        raise ImportRejectedError(message)
    known = {undo.pk for undo in change.undos}
    running = next((undo for undo in change.undos if undo.state == State.RUNNING), None)
    try:
        if running is None and change.animals <= BLOCK:
            return undoing.undo_small(change, watch=watch)
        running = running or undoing.begin(change)
        _finish(running.pk, watch)
        too_late()
    except NotUndoneError as error:
        raise ImportRejectedError(str(error)) from error
    except (DatabaseError, KeyboardInterrupt) as error:
        return _settled(run, known, error)
    return Change.objects.get(pk=running.pk)


def _finish(number: int, watch: undoing.Watch) -> None:
    failures, goes_on = 0, True
    while goes_on:
        try:
            failures, goes_on = 0, undoing.advance(number, watch=watch)
            if goes_on:
                stop_if_asked()
        except DatabaseError:
            failures += 1
            if failures == TRIES:
                raise
            disconnect()
            time.sleep(TRY_AGAIN)
    with suppress(DatabaseError):  # the nightly recount does it too
        stock.compact()


def _settled(run: ImportRun, known: set[int], error: BaseException) -> Change:
    """Return the undo if `error` came after its last commit; else raise it."""
    too_late()
    disconnect()  # what ended it may have interrupted a statement
    try:
        new = Change.objects.filter(undo_of=run.change_id).exclude(pk__in=known).first()
    except DatabaseError:
        undo = f"the undo of {run}"
        raise OutcomeUnknownError(undo, run=run.pk) from error
    if new is None or new.state == State.RUNNING:
        raise error
    return new


def _standing(number: int) -> ImportRun:
    run = ImportRun.objects.select_related("change").filter(pk=number).first()
    if run is None:
        message = f"There is no import {number}. list_imports shows them."
        raise ImportRejectedError(message)
    if run.state == ImportState.UNDONE:
        message = f"Nothing changed. Import {number} was already undone, at {run.undone_at:%Y-%m-%d %H:%M} UTC."
        raise ImportRejectedError(message)
    if run.state not in STANDING:
        message = f"Nothing changed. Import {number} wrote nothing ({run.state}), so there is nothing to undo."
        raise ImportRejectedError(message)
    return run


def _why(reason: str, count: int) -> str:
    """Return the reason as part of a sentence; `CHANGED` and `GONE` have no subject."""
    they = "it was " if count == 1 else "they were "
    return f"{they}{reason}" if reason in {CHANGED, GONE} else reason
