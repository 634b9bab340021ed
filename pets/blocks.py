"""Bulk changes of any size: animals are selected, then changed block by block, each in a short transaction.

The blocks of a selection are rows, and a block is deleted in the transaction that does it. So a process can be killed
at any moment, two can work at once, and the record says what was done (docs/decisions/0060).
"""

from collections import Counter
from datetime import timedelta
from typing import NamedTuple

from django.contrib.auth.base_user import AbstractBaseUser
from django.db import transaction
from django.db.models import QuerySet, Sum
from django.utils import timezone

from categories.models import Category
from changes.acting import acting
from changes.conflicts import latest_change_of_each
from changes.models import Change, State
from pets.bulk import Target, Versions, plan, write
from pets.models import Pet, SelectedBlock, Selection
from pets.plan import BLOCK, LEFT_LISTED

READ = 50_000
"""Animals that one statement selects: it takes a tenth of a statement's deadline."""

AT_MOST = 500_000
"""Animals in one bulk change: so many are selected within the deadline of a form."""

KEPT = timedelta(days=1)
CATEGORY_GONE = "Its category was deleted."


class TooManyError(Exception):
    """More animals were selected than can be changed at once."""


class Progress(NamedTuple):
    """How far a change came, in animals."""

    done: int
    of: int


def select(animals: QuerySet[Pet], *, user: AbstractBaseUser, filters: str = "", most: int = AT_MOST) -> Selection:
    """Keep the animals as they are now, for a day. Raises `TooManyError`."""
    Selection.objects.filter(made_at__lt=timezone.now() - KEPT).exclude(change__state=State.RUNNING).delete()
    selection = Selection.objects.create(user_id=user.pk, filters=filters)
    counts: Counter[tuple[str, int]] = Counter()
    latest = animals.order_by("pk").annotate(latest=latest_change_of_each(Pet.history))
    found = latest.values_list("pk", "latest", "status", "category_id")
    last: int | None = 0
    while last is not None:
        rows = list(found.filter(pk__gt=last)[:READ])
        last = rows[-1][0] if len(rows) == READ else None
        counts.update(row[2:] for row in rows)
        blocks = [[row[:2] for row in rows[start : start + BLOCK]] for start in range(0, len(rows), BLOCK)]
        kept = [SelectedBlock(selection=selection, size=len(block), animals=block) for block in blocks]
        SelectedBlock.objects.bulk_create(kept)
        selection.animals += len(rows)
        if selection.animals > most:
            selection.delete()
            raise TooManyError
    selection.counts = [[*of, count] for of, count in counts.items()]
    selection.save()
    return selection


def begin(selection: Selection, target: Target) -> Change:
    """Create the bulk change that the selection is for, or return the one that was made of it before."""
    with transaction.atomic():
        kept = Selection.objects.select_for_update().get(pk=selection.pk)
        if kept.change is None:
            kept.value = str(target.value)
            kept.change = Change.objects.create(
                request_id=acting().request_id,
                user_id=kept.user_id,
                who=acting().actor,
                what=str(target),
                column=target.column,
                state=State.RUNNING,
            )
            kept.save()
    return kept.change


def advance(number: int) -> bool:
    """Do the next block of a bulk change, and return whether it still runs; raises what the database raises."""
    with transaction.atomic():
        bulk = Change.objects.select_for_update().get(pk=number)
        if bulk.state != State.RUNNING:
            return False
        selection = bulk.selection
        if bulk.column == "category_id" and not Category.objects.filter(pk=selection.value).exists():
            _stop(bulk, CATEGORY_GONE)
            return False
        if block := selection.blocks.order_by("pk").first():
            value = selection.value if bulk.column == "status" else int(selection.value)
            made = plan(dict(block.animals), bulk.column, value, lock=True)
            write(made, bulk)
            block.delete()
            bulk.changed += len(made.changes)
            bulk.left_count += len(made.left)
            bulk.left = [*bulk.left, *made.left][:LEFT_LISTED]
        Selection.objects.filter(pk=selection.pk).update(worked_at=timezone.now())
        if not selection.blocks.exists():
            bulk.state = State.DONE
        bulk.save(update_fields=["changed", "left_count", "left", "state"])
    return bulk.state == State.RUNNING


def stop(number: int, why: str) -> Change:
    """End a bulk change after the block that is being done. What it changed stays changed, and can be undone."""
    with transaction.atomic():
        bulk = Change.objects.select_for_update().get(pk=number)
        if bulk.state == State.RUNNING:
            _stop(bulk, why)
    return bulk


def progress(bulk: Change) -> Progress:
    """Return how far a running bulk change came."""
    selection = bulk.selection
    return Progress(selection.animals - _remaining(selection), selection.animals)


def first_block(selection: Selection) -> Versions:
    """Return the first animals of a selection that are not done."""
    block = selection.blocks.order_by("pk").first()
    return dict(block.animals) if block else {}


def _stop(bulk: Change, why: str) -> None:
    bulk.state, bulk.outcome, bulk.unreached = State.STOPPED, why, _remaining(bulk.selection)
    bulk.save(update_fields=["state", "outcome", "unreached"])
    bulk.selection.blocks.all().delete()


def _remaining(selection: Selection) -> int:
    return int(selection.blocks.aggregate(animals=Sum("size"))["animals"] or 0)
