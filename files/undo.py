"""Undoing an import by a command, as `changes.undo` undoes every change."""

import time
from collections.abc import Callable
from typing import Any

from django.db import DatabaseError

from changes import undo as undoing
from changes.models import Change, State
from files.errors import ImportRejectedError, OutcomeUnknownError
from files.lock import only_import
from files.stopping import stop_if_asked, too_late
from files.transactions import clear_rejections, disconnect
from history.acting import acting
from history.edits import NotUndoneError
from history.naming import who
from pets import stock
from pets.models import ImportRun

TRIES, TRY_AGAIN = 3, 1
"""How often a block is tried, and seconds in between."""


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


def undo_import(number: int, progress: Callable[[int], Any] = int) -> Change:
    """Undo an import and return the undo, or go on with one that was interrupted; raises `ImportRejectedError`.

    A large one is undone in blocks. Ctrl-C stops it after one: what is undone stays so, and a later call undoes the
    rest. If it is killed, or the database is away for long, the process for work goes on with it. `progress` counts the
    blocks. Raises `OutcomeUnknownError` if the database was lost in the very moment of a commit.
    """
    with only_import():
        change = change_of(number)
        undo = next((undo for undo in change.undos if undo.state == State.RUNNING), None)
        ended = [before.pk for before in change.undos if before != undo]
        try:
            if undo is None:
                with clear_rejections():
                    undo = undoing.undo(change)
            while undo.state == State.RUNNING and _advance(undo.pk):
                progress(1)
                stop_if_asked()
            too_late()
        except NotUndoneError as error:
            raise ImportRejectedError(str(error)) from None
        except (DatabaseError, KeyboardInterrupt) as error:
            return _settled(change, ended, error)
        try:
            stock.compact()
        except DatabaseError:  # it is undone, and the nightly recount does it too
            disconnect()
        return Change.objects.get(pk=undo.pk)


def _advance(number: int) -> bool:
    """Do the next block, and return whether the undo goes on. Someone can hold one of its animals for a while."""
    for _ in range(TRIES - 1):
        try:
            return undoing.advance(number)
        except DatabaseError:
            disconnect()
            time.sleep(TRY_AGAIN)
    return undoing.advance(number)


def _settled(change: Change, ended: list[int], error: BaseException) -> Change:
    """Return the undo if `error` came after its last commit, or stopped it; else raise the error."""
    too_late()
    disconnect()  # what ended it may have interrupted a statement
    try:
        undo = Change.objects.filter(undo_of=change.pk).exclude(pk__in=ended).first()
        if undo is not None and undo.state == State.RUNNING and isinstance(error, KeyboardInterrupt):
            undo = undoing.stop(undo.pk, f"Stopped by {who(acting().actor)}.")
    except DatabaseError:
        raise OutcomeUnknownError(change.run.pk) from error
    if undo is None or undo.state == State.RUNNING:
        raise error
    return undo
