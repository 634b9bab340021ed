"""Undoing an import by a command, as `changes.undo` undoes every change."""

from contextlib import suppress

from django.db import DatabaseError

from changes import undo as undoing
from changes.models import Change, State
from files.errors import ImportRejectedError, OutcomeUnknownError
from files.lock import only_import
from files.progress import Progress
from files.stopping import stop_if_asked, too_late
from files.transactions import clear_rejections, disconnect
from history.edits import NotUndoneError
from pets import stock
from pets.models import ImportRun


def change_of(number: int) -> Change:
    """Return the change that an import made; raises `ImportRejectedError` if there is nothing to undo."""
    run = ImportRun.objects.select_related("change").filter(pk=number).first()
    if run is None:
        message = f"There is no import {number}. list_imports shows them."
        raise ImportRejectedError(message)
    if run.change is None:
        message = f"Nothing changed. Import {number} changed nothing, so there is nothing to undo."
        raise ImportRejectedError(message)
    return run.change


def undo_import(number: int, progress: Progress) -> Change:
    """Undo an import and return the undo, or go on with one that was interrupted; raises `ImportRejectedError`.

    A large one is undone in blocks: if that is stopped or killed, a later call goes on, or the process for work does.
    Raises `OutcomeUnknownError` if the database was lost in the very moment of a commit.
    """
    with only_import(), clear_rejections(), progress.working(f"Undoing import {number}"):
        change = change_of(number)
        undo = next((undo for undo in change.undos if undo.state == State.RUNNING), None)
        ended = [before.pk for before in change.undos if before != undo]
        try:
            undo = undo or undoing.undo(change)
            while undo.state == State.RUNNING and undoing.advance(undo.pk):
                stop_if_asked()
            too_late()
        except NotUndoneError as error:
            raise ImportRejectedError(str(error)) from None
        except (DatabaseError, KeyboardInterrupt) as error:
            return _settled(change, ended, error)
        with suppress(DatabaseError):  # it is undone, and the nightly recount does it too
            stock.compact()
        return Change.objects.get(pk=undo.pk)


def _settled(change: Change, ended: list[int], error: BaseException) -> Change:
    """Return the undo if `error` came after its last commit; else raise it."""
    too_late()
    disconnect()  # what ended it may have interrupted a statement
    try:
        undo = Change.objects.filter(undo_of=change.pk).exclude(pk__in=ended).first()
    except DatabaseError:
        raise OutcomeUnknownError(change.run.pk) from error
    if undo is None or undo.state == State.RUNNING:
        raise error
    return undo
