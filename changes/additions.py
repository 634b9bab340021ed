"""Additions through the API by the hour: what one key added in a clock hour is one change, if it is several animals.

A request only adds its row of history. The process for work gathers these rows, so an addition costs what it did.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import TruncHour
from django.utils import timezone

from changes.models import Change, Kind
from changes.plan import BLOCK
from pets.models import Pet

EVERY = 60  # seconds between two looks: so long an addition can be a line of its own

SINCE = timedelta(days=1)
"""How old what is gathered can be: additions of earlier releases, and of days without this process, stay single."""

BLOCKS = 10  # that are gathered at once
HOUR = timedelta(hours=1)


def gather() -> bool:
    """Give what each key added in a clock hour to a change of that hour, and return whether there may be more.

    It does a few blocks at once, so that other work does not wait for it.
    """
    rows = _single().filter(history_date__gt=timezone.now() - SINCE)
    hours = rows.annotate(hour=TruncHour("history_date", tzinfo=UTC)).order_by().values_list("actor", "hour")
    blocks = 0
    for actor, hour in [*hours.distinct()]:
        while _gather_block(actor, hour):
            blocks += 1
            if blocks == BLOCKS:
                return True
    return False


def of_requests(actors: Iterable[str], begun: datetime, ended: datetime) -> QuerySet[Change]:
    """Return the changes that have gathered what requests of these keys added between two times."""
    changes = Change.objects.filter(kind=Kind.ADDITION, who__in=actors, made_at__gt=begun - HOUR)
    return changes.filter(made_at__lt=ended, ended_at__gte=begun)


def _gather_block(actor: str, hour: datetime) -> bool:
    """Gather the next rows, and return whether there may be more. One that is alone in its hour stays so."""
    with transaction.atomic():
        rows = _single().filter(actor=actor, history_date__gte=hour, history_date__lt=hour + HOUR)
        locked = rows.select_for_update().order_by("history_id").values_list("history_id", "history_date")
        block: dict[int, datetime] = dict(locked[:BLOCK])
        is_full = len(block) == BLOCK
        undone = {*Change.objects.filter(undo_of_row__in=[*block]).values_list("undo_of_row", flat=True)}
        block = {row: at for row, at in block.items() if row not in undone}  # undone while this waited for the lock
        of_hour = of_requests([actor], hour, hour + HOUR)
        change = of_hour.select_for_update().first()  # the newest: those before were undone
        if change is not None and change.undoings.exists():
            change = None
        if len(block) < (1 if change else 2):
            return False
        change = change or Change.objects.create(kind=Kind.ADDITION, who=actor)
        Pet.history.filter(history_id__in=[*block]).update(change=change)
        change.added += len(block)
        # It stays at its place in the list when more comes: who turns the page misses no line.
        change.made_at = min(change.made_at, *block.values())
        change.ended_at = max(change.ended_at or change.made_at, *block.values())
        change.save(update_fields=["added", "made_at", "ended_at"])
    return is_full


def _single() -> QuerySet[Any]:
    """Return the rows of additions by keys that are no part of a change, and that nobody undid."""
    single: QuerySet[Any] = Pet.history.filter(actor__startswith="key ", history_type="+", change=None, undo_of=None)
    return single.exclude(Exists(Change.objects.filter(undo_of_row=OuterRef("history_id"))))
