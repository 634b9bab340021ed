"""What was done: the record of a change of several animals."""

import math
from collections.abc import Iterable
from datetime import datetime
from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.functional import cached_property

from changes.progress import LATE
from history.acting import acting

RATED = 30
"""Seconds after which what was done counts for a third in the rate of a change."""


class Kind(models.TextChoices):
    """What a change is. The undo of a deletion is a restore, the other way round, and of additions a deletion."""

    EDIT = "edit"
    ADDITION = "addition"
    BULK = "bulk change"
    IMPORT = "import"
    DELETION = "deletion"
    RESTORE = "restore"
    UNDO = "undo"
    MERGE = "merge"


class State(models.TextChoices):
    """How far a change came."""

    RUNNING = "running"
    DONE = "done"
    STOPPED = "stopped"


def comment() -> str:
    """Return why the person acts who makes a change now."""
    return acting().comment


class AnyChange:
    """What every change says of itself and of its undos, whether it has a record or not."""

    pk: Any
    kind: Any
    who: Any
    what: Any
    made_at: Any
    state: Any = State.DONE
    user_id: Any = None
    request_id: Any = ""
    added: Any = 0
    changed: Any = 0
    deleted: Any = 0
    left_count: Any = 0
    unreached: Any = 0
    column: Any = ""
    comment: Any = ""
    outcome: Any = ""
    undo_of: Any = None
    undo_of_id: Any = None
    undo_of_row: Any = None

    row: int | None = None
    """The row of history that a change of one animal is."""
    run: Any = None
    """The record of the import that it is."""
    animal: Any = None
    """The one animal that it is about, before and after, if it was read with the change."""

    @cached_property
    def key(self) -> str:
        """Return what addresses call it: "12", "r345" of a row of history, "i6" of an import that changed nothing."""
        if self.row is not None:
            return f"r{self.row}"
        return str(self.pk) if self.pk else f"i{self.run.pk}" if self.run else ""

    @property
    def is_undo(self) -> bool:
        return self.undo_of_id is not None or self.undo_of_row is not None

    @property
    def is_redo(self) -> bool:
        """Return whether it does again what an undo undid."""
        of = self.undo_of
        return self.kind == Kind.UNDO and of is not None and of.kind == Kind.UNDO and not of.is_redo

    @cached_property
    def undos(self) -> list[Any]:
        """Return what undoes it, running and stopped ones too, oldest first; each has `redone`."""
        return [*undos_of([self])]

    @property
    def _standing(self) -> list[Any]:
        return [undo for undo in self.undos if undo.state != State.RUNNING and not undo.redone]

    @cached_property
    def undone(self) -> "Change | None":
        """Return the last undo of it that has ended and is not undone itself."""
        return next(reversed(self._standing), None)

    @cached_property
    def is_undone(self) -> bool:
        """Return whether one undo left nothing, or several were about some of its animals each and left none."""
        ended = [undo for undo in self._standing if undo.state == State.DONE]
        parts = [min(undo.animals, undo.passed - undo.left_count) for undo in ended if undo.passed < self.animals]
        wholes = [undo.pk for undo in ended if undo.passed >= self.animals and not undo.left_count]
        # What an earlier one had undone, and that is back since, such a one has not undone.
        returns = [range(undo.pk + 1, undo.redone) for undo in self.undos if undo.redone]
        is_whole = any(not any(whole in between for between in returns) for whole in wholes)
        return is_whole or bool(parts and sum(parts) >= self.animals)

    @property
    def animals(self) -> int:
        return int(self.changed + self.added + self.deleted)


class UnrecordedChange(AnyChange):
    """A change without a record: a row of history of one animal, or an import that changed nothing, or not yet."""

    pk = None

    def __init__(self, kind: Kind, who: str, what: str, made_at: datetime, **others: Any) -> None:
        self.kind, self.who, self.what, self.made_at = kind, who, what, made_at
        vars(self).update(others)

    @classmethod
    def of_row(cls, row: Any) -> "UnrecordedChange":
        """Return the change that a row of history of an animal is."""
        did = row.history_type
        return cls(
            kind=Kind.DELETION if did == "-" else Kind.EDIT,
            who=row.actor,
            what=row.name,
            made_at=row.history_date,
            user_id=row.history_user_id,
            request_id=row.request_id,
            added=int(did == "+"),
            changed=int(did == "~"),
            deleted=int(did == "-"),
            row=row.history_id,
        )

    @classmethod
    def of_import(cls, run: Any) -> "UnrecordedChange":
        """Return the change that an import is which has no record of one."""
        state = State.RUNNING if run.state == "running" else State.DONE
        return cls(Kind.IMPORT, run.who, run.file_name, run.started_at, state=state, run=run)


class Change(AnyChange, models.Model):
    """One change of several animals, or the undo of any change. Rows of history refer to it.

    It is made in blocks, each in a transaction of its own that also counts here: what it says was done was done. A
    change of one animal by a form, a click or a request is its row of history itself, and has no record here.
    """

    kind = models.CharField(max_length=11, choices=Kind, default=Kind.BULK, db_default=Kind.BULK.value)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    who = models.CharField(max_length=200)
    what = models.CharField(max_length=400)
    """Both in words that stay: "staff anna", "Status becomes sold"; of an import the name of its file."""
    column = models.CharField(
        max_length=11, choices=[("status", "Status"), ("category_id", "Category")], help_text="Of a bulk change."
    )
    changed = models.BigIntegerField(default=0, help_text="Animals that were changed.")
    added = models.BigIntegerField(default=0, db_default=0, help_text="Animals that were added or restored.")
    deleted = models.BigIntegerField(default=0, db_default=0, help_text="Animals that were deleted.")
    left = models.JSONField(
        default=list, help_text="The animals that were left as they are: a list of `[id, name, reason]`."
    )
    left_count = models.BigIntegerField(default=0, db_default=0, help_text="How many were left. `left` has the first.")
    state = models.CharField(max_length=7, choices=State, default=State.DONE, db_default=State.DONE.value)
    outcome = models.CharField(max_length=300, default="", db_default="", help_text="Why it was stopped.")
    unreached = models.BigIntegerField(default=0, db_default=0, help_text="Animals that it was stopped before.")
    request_id = models.CharField(
        max_length=128, default="", db_default="", help_text="The X-Request-ID of the request, if any."
    )
    comment = models.CharField(
        max_length=300, default=comment, db_default="", help_text="Why, in the words of who made it."
    )
    made_at = models.DateTimeField(auto_now_add=True)
    worked_at = models.DateTimeField(null=True, help_text="When the last block was done.")
    rate = models.FloatField(null=True, help_text="Animals a second, of about the last half minute of work.")
    kills = models.SmallIntegerField(db_default=0, help_text="How often its process was killed since the last block.")
    ended_at = models.DateTimeField(null=True)
    undo_of = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="undoings")
    undo_of_row = models.BigIntegerField(null=True, help_text="The row of history of an animal that it undoes.")
    passed = models.BigIntegerField(
        default=0, db_default=0, help_text="Animals of the undone change that were decided."
    )
    reached = models.BigIntegerField(null=True, help_text="The last row of history that the undo decided.")

    merged_category = models.BigIntegerField(null=True)
    into_category = models.BigIntegerField(null=True)
    """Of a merge: which category it deletes, and where the animals of that go."""

    class Meta:
        """Newest first. The table was that of bulk changes, and keeps its name."""

        db_table = "pets_bulkchange"
        default_permissions = ()
        ordering: ClassVar = ["-id"]
        indexes: ClassVar = [
            models.Index(fields=["id"], condition=models.Q(state=State.RUNNING), name="change_that_runs")
        ]

    def __str__(self) -> str:
        return f"change {self.key}"

    @classmethod
    def begin(cls, **fields: Any) -> "Change":
        """Create a change of who acts now, which runs; nothing of it is done yet."""
        now = {"request_id": acting().request_id, "state": State.RUNNING, "worked_at": timezone.now()}
        return cls.objects.create(**{"who": acting().actor, **now, **fields})

    @property
    def run(self) -> Any:
        return getattr(self, "imported", None)

    def note_block(self, animals: int) -> None:
        """Note that a block of so many animals was done now. Its time counts if it was not spent waiting."""
        now, last = timezone.now(), self.worked_at
        if last is not None and last < now < last + LATE:
            seconds = (now - last).total_seconds()
            latest = 1 if self.rate is None else 1 - math.exp(-seconds / RATED)
            self.rate = (self.rate or 0) * (1 - latest) + animals / seconds * latest
        self.worked_at, self.kills = now, 0

    @property
    def waits_since(self) -> datetime | None:
        """Return since when no process works on it, if it runs and none does."""
        last = self.worked_at or self.made_at
        return last if self.state == State.RUNNING and self.run is None and timezone.now() - last > LATE else None


def late() -> "models.QuerySet[Change]":
    """Return the changes that run and that no process works on, newest first; `Change.waits_since` is of one."""
    running = Change.objects.filter(state=State.RUNNING).defer("left")
    return running.annotate(last=Coalesce("worked_at", "made_at")).filter(last__lt=timezone.now() - LATE)


def undos_of(changes: Iterable[AnyChange]) -> "models.QuerySet[Change]":
    """Return what undoes these, oldest first, each with `redone`: the number of what last undid it, if anything did."""
    changes = [*changes]
    redone = Change.objects.filter(undo_of=models.OuterRef("pk")).exclude(state=State.RUNNING).order_by("-pk")
    of = models.Q(undo_of__in=[change.pk for change in changes if change.row is None])
    of |= models.Q(undo_of_row__in=[change.row for change in changes if change.row is not None])
    undos = Change.objects.filter(of).defer("left").order_by("pk")
    return undos.annotate(redone=models.Subquery(redone.values("pk")[:1]))


class Selection(models.Model):
    """Animals that someone selected in the list, or that an undo is about: what is done with them is asked, then done.

    Once a bulk change was made of it, its blocks are what remains to be done.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    filters = models.TextField(blank=True, help_text="The query of the list, to go back to it.")
    animals = models.BigIntegerField(default=0, help_text="How many.")
    counts = models.JSONField(default=list, help_text="How many of what: a list of `[status, category, animals]`.")
    value = models.CharField(max_length=20, blank=True, help_text="What the column of the bulk change becomes.")
    change = models.OneToOneField(
        Change, on_delete=models.CASCADE, null=True, related_name="selection", db_column="bulk_change_id"
    )
    worked_at = models.DateTimeField(null=True, help_text="When the last block was done.")
    """Of release 1.6; now the change has it."""

    made_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        """Nobody is given permissions for it: it belongs to one person. Its table was made by `pets`."""

        app_label = "pets"
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.animals:,} animals"


class SelectedBlock(models.Model):
    """So many animals of a selection as fit into a short transaction."""

    selection = models.ForeignKey(Selection, on_delete=models.CASCADE, related_name="blocks")
    size = models.IntegerField()
    animals = models.JSONField(help_text="A list of `[id, row of history]`: the row that was the latest, or is undone.")

    class Meta:
        """As a selection."""

        app_label = "pets"
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.size:,} animals"
