"""Deleting animals as one change, and the animals that were deleted."""

from typing import Any

from django.contrib.auth.base_user import AbstractBaseUser
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from changes.acting import acting
from changes.models import Change, Kind, State
from pets.bulk import Seen, plan
from pets.models import Pet
from pets.writing import delete_animals

SEARCHED = 10_000
"""Deletions, the newest, that a name or a reference is looked for in; history is indexed by animal only."""


def delete(seen: Seen, *, user: AbstractBaseUser) -> Change:
    """Delete the animals that are as they were seen, all or nothing; undoing the change restores them.

    If none is, the record is not saved: it says only what was left.
    """
    with transaction.atomic():
        made = plan(seen, "status", "", lock=True)
        now = timezone.now()
        change = Change(
            kind=Kind.DELETION,
            user_id=user.pk,
            who=acting().actor,
            deleted=made.count,
            left=made.left,
            left_count=len(made.left),
            request_id=acting().request_id,
            state=State.DONE,
            ended_at=now,
        )
        if made.count:
            change.save()
            delete_animals([pet.pk for pets in made.changes.values() for pet in pets], now, change)
    return change


def deleted_animals(needle: str = "") -> QuerySet[Any]:
    """Return the last row of history of each deleted animal, newest first.

    `needle` is a part of the name or the reference, looked for in the newest `SEARCHED` deletions, or an id, of any.
    """
    deletions = Pet.history.filter(history_type="-").order_by("-history_id")
    back = Pet.objects.filter(pk=OuterRef("id"))
    later = Pet.history.filter(id=OuterRef("id"), history_id__gt=OuterRef("history_id"), history_type="-")
    gone: QuerySet[Any] = deletions.filter(~Exists(back), ~Exists(later)).select_related("category")
    if not needle:
        return gone
    first = deletions.values_list("history_id", flat=True)[SEARCHED - 1 : SEARCHED].first() or 0
    wanted = Q(history_id__gte=first) & (Q(name__matches=needle) | Q(external_reference__matches=needle))
    if needle.isascii() and needle.isdecimal() and len(needle) < len(str(2**63)):
        wanted |= Q(id=int(needle))
    found: QuerySet[Any] = gone.filter(wanted)
    return found
