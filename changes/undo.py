"""Undoing a change: an edit, a click, a request, a bulk change, an import, a deletion, a restore, or an undo.

It is done in blocks, newest row first, each decided under lock in a transaction of its own (docs/decisions/0075). So it
can be killed at any moment and go on, and two can work at once. The undo is a change, which can be undone.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.contrib.auth.base_user import AbstractBaseUser
from django.db import IntegrityError, transaction
from django.db.models import OuterRef, Subquery, Sum
from django.utils import timezone

from categories.models import Category
from changes import bulk, merging
from changes.models import AnyChange, Change, Kind, SelectedBlock, State, UnrecordedChange
from changes.plan import BLOCK, LEFT_LISTED, REFERENCE_TAKEN, AnimalUndo, deleted_categories, lock, planned, rows_before
from changes.progress import WorkProgress, left, waiting
from changes.write import add_again, change_animals, delete_animals
from history.acting import account, acting, recording
from history.conflicts import MEANWHILE
from history.edits import NotUndoneError
from history.naming import who
from pets import stock
from pets.columns import CATEGORY
from pets.models import ImportState, Pet

NOTHING = "Nothing changed. {}"
GREW = "More animals were added to it meanwhile. Look at them first."
OWNER_GONE = "The account of its owner was deleted."
TRIES = 3
NAMED = 10  # animals that a message names


def rights_to_undo(change: AnyChange) -> Sequence[str]:
    """Return the permissions that undoing a change needs."""
    if change.kind == Kind.UNDO and change.undo_of is not None:
        return rights_to_undo(change.undo_of)
    if change.kind == Kind.MERGE:
        return merging.RIGHTS
    if change.kind == Kind.DELETION:
        return ["pets.restore_pet"]
    if _only_added(change):
        return ["pets.delete_pet"]
    return ["pets.add_importrun" if change.kind == Kind.IMPORT else "pets.change_pet"]


def may_undo(user: Any, change: AnyChange) -> bool:
    """Return whether this user can undo this change."""
    return bool(user.has_perms(rights_to_undo(change)))


def why_not(change: AnyChange) -> str:
    """Return why a change cannot be undone now; nothing if it can."""
    running = next((undo for undo in change.undos if undo.state == State.RUNNING), None)
    if change.state == State.RUNNING:
        return "It is running. Wait, or stop it, then undo it."
    if not change.animals:
        return "It changed nothing, so there is nothing to undo."
    if running is not None:
        return f"It is being undone by {who(running.who)}."
    if change.is_undone and change.undone is not None:
        return f"It was undone already, by {who(change.undone.who)}."
    return ""


def begin(change: AnyChange, *, user: AbstractBaseUser | None = None) -> Change:
    """Create the undo of a change, which nothing has done anything of yet. Raises `NotUndoneError`."""
    with transaction.atomic():
        seen, change = change.animals, _locked(change)
        if change.kind == Kind.ADDITION and change.animals != seen:
            raise NotUndoneError(NOTHING.format(GREW))
        if message := why_not(change):
            raise NotUndoneError(NOTHING.format(message))
        return Change.begin(
            kind=Kind.RESTORE if change.kind == Kind.DELETION else Kind.DELETION if _only_added(change) else Kind.UNDO,
            user_id=user.pk if user else None,
            who=acting().actor or account(),
            what=change.what,
            column=change.column,
            undo_of_id=change.pk,
            undo_of_row=change.row,
        )


def undo(
    change: AnyChange,
    *,
    user: AbstractBaseUser | None = None,
    animals: Sequence[int] | None = None,
    category: int | None = None,
) -> Change:
    """Undo a change, or these animals of it, and return the undo; a large one is left to the process for work.

    A small one is undone again if someone took what it needs at the same moment. `category` is for animals that come
    back and whose category is gone. Raises `NotUndoneError`, also if nothing was to undo: then nothing is kept.
    """
    if animals is None and change.animals > BLOCK:
        return begin(change, user=user)
    for attempt in range(TRIES):
        try:
            with transaction.atomic():
                undo = begin(change, user=user)
                vars(change).pop("undos", None)  # as they are now
                while _undo_block(undo, change, animals=animals, category=category):
                    pass
                _end(undo)
                if not undo.animals:
                    raise NotUndoneError(_nothing(undo))
        except IntegrityError as error:
            if attempt == TRIES - 1:
                raise NotUndoneError(NOTHING.format(f"{MEANWHILE} Try again.")) from error
        else:
            break
    return undo


def advance(number: int) -> bool:
    """Do the next block of a change, and return whether it still runs; raises what the database raises."""
    with transaction.atomic():
        running = Change.objects.select_for_update(of=("self",)).select_related("undo_of__imported")
        change = running.filter(pk=number).first()
        if change is None or change.state != State.RUNNING:  # one that would change nothing goes
            return False
        before = change.animals + change.left_count
        if change.is_undo:
            goes_on = _undo_block(change, undone_by(change))
        else:
            goes_on = merging.move_block(change) if change.kind == Kind.MERGE else bulk.change_block(change)
        change.note_block(change.animals + change.left_count - before)
        if goes_on:
            change.save()
        else:
            _end(change)
    return goes_on


def stop(number: int, why: str) -> Change:
    """End a change after the block that is being done. What it did stays, and can be undone."""
    with transaction.atomic():
        change = Change.objects.select_for_update().get(pk=number)
        if change.state == State.RUNNING:
            change.outcome = why
            _end(change)
    return change


def stop_with_owner(*, instance: AbstractBaseUser, **_signal: Any) -> None:
    """Receive `pre_delete`: what remains to be done goes with the account of the person who began it."""
    for change in Change.objects.filter(user_id=instance.pk, state=State.RUNNING):
        stop(change.pk, OWNER_GONE)


def work(change: Change, done: int, of: int) -> WorkProgress:
    """Return how far a change is that runs, in words, or since when no process works on it."""
    line = f"{done:,} of {of:,} animals"
    if change.waits_since is not None:
        return waiting(change.waits_since, f"{line} are done." if done else "Nothing is changed yet.")
    figure, rate = "Starting", ""
    if change.rate:
        figure, rate = left(timedelta(seconds=(of - done) / change.rate)), f", {change.rate:,.0f} a second"
    return WorkProgress(figure, line + rate, 100 * done / max(of, 1))


def progress(change: Change) -> tuple[int, int]:
    """Return with how many animals a change that runs is done, and of how many."""
    if change.is_undo:
        return change.passed, undone_by(change).animals
    if change.kind == Kind.MERGE:
        return change.passed, change.passed + sum(stock.by_status(category=change.merged_category).values())
    selection = change.selection
    remaining = selection.blocks.aggregate(animals=Sum("size"))["animals"] or 0
    return selection.animals - remaining, selection.animals


def undone_by(undo: Change) -> AnyChange:
    """Return the change that an undo is of."""
    return undo.undo_of or UnrecordedChange.of_row(Pet.history.get(history_id=undo.undo_of_row))


def _locked(change: AnyChange) -> AnyChange:
    """Return the change as it is now. No one else can begin to undo it before this transaction ends."""
    if change.row is None:
        return Change.objects.select_for_update().get(pk=change.pk)
    return UnrecordedChange.of_row(Pet.history.select_for_update().get(history_id=change.row))


def _undo_block(
    undo: Change,
    change: AnyChange,
    *,
    animals: Sequence[int] | None = None,
    category: int | None = None,
) -> bool:
    """Undo the next rows of the change, and return whether there were any."""
    rows = rows_before(change, undo.reached, animals)
    if not rows:
        _delete_categories(change, undo)
        return False
    lock(rows)
    plan: list[AnimalUndo] = []
    waiting = rows
    while waiting:
        decided = [*planned(change, waiting, category=category)]
        taken = [step.row for step in decided if step.reason == REFERENCE_TAKEN]
        waiting = taken if len(taken) < len(decided) else []  # for references that the others give back
        ready = [step for step in decided if not waiting or step.reason != REFERENCE_TAKEN]
        _restore_categories(ready, change, undo)
        _write(ready, undo)
        plan += ready
    left = [[step.animal, step.name, step.reason] for step in plan if step.reason]
    undo.left = [*undo.left, *left][:LEFT_LISTED]
    undo.left_count += len(left)
    undo.passed += len(rows)
    undo.reached = rows[-1]
    return True


def _write(plan: Sequence[AnimalUndo], undo: Change) -> None:
    now = timezone.now()
    deletes, sets, adds = ([step for step in plan if step.does == does] for does in "-~+")
    days = [step.day_of for step in plan if step.day_of]
    if deletes:
        delete_animals([step.animal for step in deletes], now, undo)
    if sets:
        change_animals({step.animal: step.after for step in sets}, now, undo, days=days)
    if adds:
        add_again({step.animal: step.after for step in adds}, now, undo, days=days)
    undo.deleted += len(deletes)
    undo.changed += len(sets)
    undo.added += len(adds)


def _end(change: Change) -> None:
    """End a change: it is done, or stopped if it says why."""
    if change.outcome:
        done, of = progress(change)
        change.unreached = of - done
        SelectedBlock.objects.filter(selection__change=change).delete()
    change.state, change.ended_at = State.STOPPED if change.outcome else State.DONE, timezone.now()
    change.save()
    if change.is_undo:
        _settle_import(change)


def _only_added(change: AnyChange) -> bool:
    return change.kind in {Kind.ADDITION, Kind.RESTORE} or bool(change.kind == Kind.EDIT and change.added)


def _nothing(undo: Change) -> str:
    if not undo.left_count:
        return "Nothing changed. Its animals are as before already."
    reasons = ", ".join(f"“{name}” ({number}): {reason}" for number, name, reason in undo.left[:NAMED])
    more = undo.left_count - NAMED
    return f"Nothing changed. {reasons}{f', and {more:,} more' if more > 0 else ''}."


# --- Categories and imports ------------------------------------------------------------------------------------------


def _restore_categories(plan: Sequence[AnimalUndo], change: AnyChange, undo: Change) -> None:
    """Add the categories again that the change deleted and animals go back to, under the IDs that they had."""
    wanted = {step.values.get(CATEGORY.name) for step in plan}
    for category in deleted_categories(change):
        if category.pk in wanted:
            with recording(undo.pk):
                category.save(force_insert=True)
            first = Category.history.filter(id=category.pk).earliest("history_id")
            Category.objects.filter(pk=category.pk).update(created_at=first.history_date)


def _delete_categories(change: AnyChange, undo: Change) -> None:
    """Delete the categories that a change added, as far as they are empty and nobody changed them since."""
    if change.row is not None:
        return
    added = Category.history.filter(change=change.pk, history_type="+").values_list("id", flat=True)
    newest = Category.history.filter(id=OuterRef("pk")).order_by("-history_id").values("history_type")[:1]
    empty = Category.objects.filter(pk__in=[*added, *(change.run.new_categories if change.run else [])], pets=None)
    with recording(undo.pk):
        empty.alias(newest=Subquery(newest)).filter(newest="+").delete()


def _settle_import(undo: Change) -> None:
    """Let the record of an import say that it was undone, if that is what this change undoes, or is done again."""
    change, is_undone = undo, False
    while change.undo_of is not None:
        change, is_undone = change.undo_of, not is_undone
    run = change.run
    if run is None:
        return
    run.state, run.undone_at, run.outcome = _state(Change.objects.get(pk=change.pk)), None, ""
    if is_undone:
        count = undo.left_count
        they = "animal was left as it is" if count == 1 else "animals were left as they are"
        run.undone_at = undo.ended_at
        run.outcome = f"It was undone by {who(undo.who)}.{f' {count:,} {they}.' if count else ''}"
    run.save(update_fields=["state", "undone_at", "outcome"])


def _state(change: Change) -> ImportState:
    """Return what is left of a change by its undos, what undid these, and so on."""
    states = [(undo, _state(undo)) for undo in change.undos if undo.state != State.RUNNING and undo.animals]
    if all(state == ImportState.UNDONE for _, state in states):
        return ImportState.DONE
    for undo, state in states:
        if state == ImportState.DONE:  # what undid it was undone itself
            undo.redone = None
    return ImportState.UNDONE if change.is_undone else ImportState.PARTLY_UNDONE
