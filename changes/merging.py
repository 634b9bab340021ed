"""Merging a category into another: its animals move in blocks, and with the last of them it is deleted. One change."""

from django.contrib.auth.base_user import AbstractBaseUser
from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.text import Truncator

from categories.models import Category
from changes.models import Change, Kind, State
from changes.plan import BLOCK
from changes.write import change_animals
from history.acting import recording
from history.naming import who
from pets.columns import CATEGORY, NAMES
from pets.models import Pet

RIGHTS = ("pets.change_pet", "categories.delete_category")
"""What merging needs, and undoing a merge."""

CUT = 190  # characters of a name in what the record says

GONE = "Nothing changed. Someone deleted one of the categories."
BUSY = "Nothing changed. “{}” is being merged by {}."
EMPTY = "Nothing changed. “{}” has no animals. Delete it instead."
INTO_GONE = "The category to merge into was deleted."


class NotMergedError(Exception):
    """Nothing was changed; the text says why."""


def begin(category: Category, into: Category, *, user: AbstractBaseUser) -> Change:
    """Create the merge of a category into another, which nothing has moved yet. Raises `NotMergedError`."""
    with transaction.atomic():
        # Not FOR UPDATE: it would wait for a merge that moves animals to one of them and then deletes the other.
        there = Category.objects.select_for_update(no_key=True).filter(pk__in=[category.pk, into.pk]).order_by("pk")
        if len(there) < 2:
            raise NotMergedError(GONE)
        of_these = Q(merged_category__in=[category.pk, into.pk]) | Q(into_category=category.pk)
        running = Change.objects.filter(of_these, kind=Kind.MERGE, state=State.RUNNING).first()
        if running is not None:
            raise NotMergedError(BUSY.format(category, who(running.who)))
        if not category.pets.exists():
            raise NotMergedError(EMPTY.format(category))
        return Change.begin(
            kind=Kind.MERGE,
            user_id=user.pk,
            what=described(category, into),
            column=CATEGORY.name,
            merged_category=category.pk,
            into_category=into.pk,
        )


def described(category: Category, into: Category) -> str:
    """Return what a merge does, as its record says it."""
    return " into ".join(Truncator(one.name).chars(CUT) for one in (category, into))


def move_block(merge: Change) -> bool:
    """Move the next animals of a merge, and return whether it goes on: until the category is empty and deleted."""
    if not Category.objects.filter(pk=merge.into_category or 0).exists():
        merge.outcome = INTO_GONE
        return False
    animals = Pet.objects.filter(category=merge.merged_category)
    block = animals.filter(pk__in=[*animals.order_by("status", "pk").values_list("pk", flat=True)[:BLOCK]])
    values = {row.pop("pk"): row for row in block.order_by("pk").select_for_update().values("pk", *NAMES)}
    if values:
        moved = {number: row | {CATEGORY.name: merge.into_category} for number, row in values.items()}
        change_animals(moved, timezone.now(), merge)
    merge.changed += len(values)
    merge.passed = merge.changed
    return len(values) == BLOCK or not _delete(merge)


def _delete(merge: Change) -> bool:
    """Delete the category if it is empty, and return whether it is. No one can add an animal to it at this moment."""
    category = Category.objects.select_for_update().filter(pk=merge.merged_category or 0).first()
    if category is None or category.pets.exists():
        return category is None
    if merge.changed:  # else there was nothing to merge
        with recording(merge.pk):
            category.delete()
    return True
