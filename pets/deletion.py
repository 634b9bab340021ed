"""Deleting animals as one change."""

from django.contrib.auth.base_user import AbstractBaseUser
from django.db import transaction
from django.utils import timezone

from changes.acting import acting
from changes.models import Change, Kind, State
from pets.bulk import Versions, plan
from pets.writing import delete_animals


def delete(seen: Versions, *, user: AbstractBaseUser) -> Change:
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
