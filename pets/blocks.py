"""Bulk changes of any size: animals are selected, then changed block by block, each in a short transaction.

The blocks of a selection are rows, and a block is deleted in the transaction that does it. So a process can be killed
at any moment, two can work at once, and the record says what was done (docs/decisions/0060).
"""

from collections import Counter
from datetime import timedelta

from django.contrib.auth.base_user import AbstractBaseUser
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from categories.models import Category
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
            kept.change = Change.begin(user_id=kept.user_id, what=str(target), column=target.column)
            kept.save()
    return kept.change


def change_block(bulk: Change) -> bool:
    """Change the next animals of a bulk change, and return whether it goes on."""
    selection = bulk.selection
    if bulk.column == "category_id" and not Category.objects.filter(pk=selection.value).exists():
        bulk.outcome = CATEGORY_GONE
        return False
    if block := selection.blocks.order_by("pk").first():
        value = selection.value if bulk.column == "status" else int(selection.value)
        made = plan(dict(block.animals), bulk.column, value, lock=True)
        write(made, bulk)
        block.delete()
        bulk.changed += len(made.changes)
        bulk.left_count += len(made.left)
        bulk.left = [*bulk.left, *made.left][:LEFT_LISTED]
    return bool(selection.blocks.exists())


def first_block(selection: Selection) -> Versions:
    """Return the first animals of a selection that are not done."""
    block = selection.blocks.order_by("pk").first()
    return dict(block.animals) if block else {}
