"""Undoing an import by a command, as `changes.undo` undoes every change."""

from contextlib import suppress

from django.db import DatabaseError

from changes import undo as undoing
from changes.models import Change, State
from files.errors import ImportRejectedError
from files.lock import only_import
from files.progress import Progress
from files.stopping import stop_if_asked
from files.transactions import clear_rejections
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
    """
    with only_import(), progress.working(f"Undoing import {number}"):
        change = change_of(number)
        undo = next((undo for undo in change.undos if undo.state == State.RUNNING), None)
        if undo is None:
            with clear_rejections():
                try:
                    undo = undoing.undo(change)
                except NotUndoneError as error:
                    raise ImportRejectedError(str(error)) from None
        if undo.state == State.RUNNING:
            while undoing.advance(undo.pk):
                stop_if_asked()
            with suppress(DatabaseError):  # it is undone, and the nightly recount does it too
                stock.compact()
        return Change.objects.get(pk=undo.pk)
