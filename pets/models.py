"""Animals, their history, and the imports that brought them."""

import statistics
from datetime import UTC, date, datetime, time
from typing import ClassVar, Self

from django.conf import settings
from django.db import models
from simple_history.models import HistoricalRecords

from categories.models import Category
from categories.names import NAME_LENGTH, NameField, validate_name, validate_text
from history.models import Change, staff_member

REFERENCE_LENGTH = 100


class PetStatus(models.TextChoices):
    """Availability of an animal (interface document, section 2)."""

    AVAILABLE = "available"
    PENDING = "pending"
    SOLD = "sold"


def validate_reference(reference: str) -> None:
    """Raise `ValidationError` unless `reference` has 1 to 100 code points, one of them visible, none a control."""
    validate_text(reference, longest=REFERENCE_LENGTH)


class ImportState(models.TextChoices):
    """How far an import came. Only `done`, `partly undone` and `undone` ever wrote an animal."""

    RUNNING = "running"
    DONE = "done"
    DRY_RUN = "dry run", "Preview"
    REJECTED = "rejected"
    ALREADY = "already imported", "Already imported"
    STOPPED = "stopped"
    FAILED = "failed"
    KILLED = "killed"
    PARTLY_UNDONE = "partly undone"
    UNDONE = "undone"


STANDING = (ImportState.DONE, ImportState.PARTLY_UNDONE)
"""Imports whose animals, or some of them, are as they left them: there is something to undo."""

IMPORTED = (*STANDING, ImportState.UNDONE)
"""Imports that wrote what they were to write."""

ENDED_EARLY = (ImportState.REJECTED, ImportState.STOPPED, ImportState.FAILED, ImportState.KILLED)
"""Imports that wrote nothing, though someone meant them to."""


class ImportRunQuerySet(models.QuerySet["ImportRun"]):
    """The filters that later imports and the overview need."""

    def wrote(self) -> Self:
        """Return the imports that added or changed animals and are not undone."""
        return self.filter(models.Q(created__gt=0) | models.Q(updated__gt=0), state__in=STANDING)

    def without_previews(self) -> Self:
        """Return what was to be imported, without what was only looked at."""
        return self.exclude(state=ImportState.DRY_RUN)

    def usual_reading_share(self) -> float | None:
        """Return the median share of reading in the last five imports that recorded one; None if none did."""
        last = self.order_by("-id").filter(reading_share__isnull=False)[:5]
        shares = [run.reading_share for run in last if run.reading_share is not None]
        return statistics.median(shares) if shares else None

    def troubled_since(self, day: date) -> Self:
        """Return the imports that were started on `day` (UTC) or later and rejected rows, or ended early."""
        began = datetime.combine(day, time(), UTC)
        real = self.without_previews().exclude(state=ImportState.UNDONE).filter(started_at__gte=began)
        return real.filter(models.Q(rejected__gt=0) | models.Q(state__in=ENDED_EARLY))


class ImportRun(models.Model):
    """One import, from its preview on. The row and the animals are committed together, so it says what happened."""

    who = models.CharField(max_length=150, help_text='"staff anna", or the account that ran the command.')
    file_name = models.CharField(max_length=255, help_text='Without its folder; "-" is standard input.')
    sha256 = models.CharField(max_length=64, db_index=True, help_text="Of the file as it was given, in hexadecimal.")
    options = models.JSONField(help_text="What was asked for.")
    state = models.CharField(max_length=16, choices=ImportState, default=ImportState.RUNNING)
    rows = models.BigIntegerField(default=0, help_text="Rows read, without the header.")
    created = models.BigIntegerField(default=0, help_text="Animals that were added.")
    updated = models.BigIntegerField(default=0, help_text="Animals that were changed.")
    unchanged = models.BigIntegerField(default=0, help_text="Rows that say what the catalogue already said.")
    matched_by_id = models.BigIntegerField(default=0, help_text="Rows whose animal was found by its ID.")
    rejected = models.BigIntegerField(default=0, help_text="Rows with an error.")
    new_categories = models.JSONField(default=list, help_text="The ids of the categories that were added.")
    first_id = models.BigIntegerField(null=True, help_text="The first of its reserved ids.")
    last_id = models.BigIntegerField(null=True, help_text="The last of them.")
    rejects = models.TextField(blank=True, help_text="The file with the rejected rows.")
    rejects_sha256 = models.CharField(
        max_length=64, blank=True, help_text="Of that file as it was written, in hexadecimal."
    )
    outcome = models.TextField(blank=True, help_text="Why it was rejected, stopped or failed; how it was undone.")
    previewed_at = models.DateTimeField(null=True, help_text="When its sender saw what it would do.")
    reading_share = models.FloatField(null=True, help_text="How much of its time reading took, from 0 to 1.")
    started_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)
    undone_at = models.DateTimeField(null=True)

    objects = ImportRunQuerySet.as_manager()

    class Meta:
        """Newest first; the index finds the one that runs, at every look at a list."""

        ordering: ClassVar = ["-id"]
        indexes: ClassVar = [
            models.Index(fields=["id"], condition=models.Q(state=ImportState.RUNNING), name="import_that_runs")
        ]
        constraints: ClassVar = [
            models.CheckConstraint(condition=models.Q(state__in=ImportState.values), name="import_state_is_known")
        ]

    def __str__(self) -> str:
        """Return what it is called everywhere."""
        return f"import {self.pk}"

    @property
    def matched_by_reference(self) -> int:
        """How many rows found their animal by its reference."""
        return self.updated + self.unchanged - self.matched_by_id


class ImportUpload(models.Model):
    """A small file in the back office, kept until its sender has seen what it would do and decided."""

    uploaded_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    file_name = models.CharField(max_length=255)
    content = models.BinaryField()
    options = models.JSONField(help_text="What was chosen in the form.")
    rejects = models.BinaryField(default=b"", help_text="The rejected rows, as import_pets --rejects writes them.")
    run = models.ForeignKey(ImportRun, on_delete=models.SET_NULL, null=True, related_name="uploads")
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)

    def __str__(self) -> str:
        """Return the name of the file."""
        return self.file_name


class BulkState(models.TextChoices):
    """How far a bulk change came."""

    RUNNING = "running"
    DONE = "done"
    STOPPED = "stopped"


class BulkChange(models.Model):
    """One change of many animals at once by one person, or the undoing of one; its rows of history point to it.

    It is made in blocks, each in a transaction of its own that also counts here: what it says was done was done.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    who = models.CharField(max_length=200)
    what = models.CharField(max_length=400)
    """Both in words that stay: "staff anna", "Status becomes sold"."""
    column = models.CharField(max_length=11, choices=[("status", "Status"), ("category_id", "Category")])
    changed = models.BigIntegerField(default=0, help_text="Animals that were changed.")
    left = models.JSONField(
        default=list, help_text="The animals that were left as they are: a list of `[id, name, reason]`."
    )
    left_count = models.BigIntegerField(db_default=0, help_text="How many were left. `left` has the first.")
    state = models.CharField(max_length=7, choices=BulkState, db_default=BulkState.DONE.value)
    outcome = models.CharField(max_length=300, db_default="", help_text="Why it was stopped.")
    unreached = models.BigIntegerField(db_default=0, help_text="Animals that it was stopped before.")
    made_at = models.DateTimeField(auto_now_add=True)
    undo_of = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="undoings")

    class Meta:
        """Newest first."""

        ordering: ClassVar = ["-id"]

    def __str__(self) -> str:
        """Return what it is called everywhere."""
        return f"bulk change {self.pk}"


class Selection(models.Model):
    """Animals that someone selected in the list, or that an undo is about: what is done with them is asked, then done.

    Once a bulk change was made of it, its blocks are what remains to be done.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    filters = models.TextField(blank=True, help_text="The query of the list, to go back to it.")
    animals = models.BigIntegerField(default=0, help_text="How many.")
    counts = models.JSONField(default=list, help_text="How many of what: a list of `[status, category, animals]`.")
    value = models.CharField(max_length=20, blank=True, help_text="What the column of the bulk change becomes.")
    bulk_change = models.OneToOneField(BulkChange, on_delete=models.CASCADE, null=True, related_name="selection")
    worked_at = models.DateTimeField(null=True, help_text="When the last block was done.")
    made_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        """Nobody is given permissions for it: it belongs to one person."""

        default_permissions = ()

    def __str__(self) -> str:
        """Return how many animals there are."""
        return f"{self.animals:,} animals"


class SelectedBlock(models.Model):
    """So many animals of a selection as fit into a short transaction."""

    selection = models.ForeignKey(Selection, on_delete=models.CASCADE, related_name="blocks")
    size = models.IntegerField()
    animals = models.JSONField(help_text="A list of `[id, row of history]`: the row that was the latest, or is undone.")

    class Meta:
        """As a selection."""

        default_permissions = ()

    def __str__(self) -> str:
        """Return how many animals there are."""
        return f"{self.size:,} animals"


class SavedView(models.Model):
    """A name that one person gave to a query of the list of animals."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=60)
    query = models.CharField(max_length=2_000, blank=True)

    class Meta:
        """By name."""

        ordering: ClassVar = ["name"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["user", "name"], name="saved_view_is_one")]

    def __str__(self) -> str:
        """Return the name."""
        return self.name


class ChangeOfPet(Change):
    """Where a change came from, if from a file or a bulk change."""

    import_run = models.ForeignKey(
        ImportRun, on_delete=models.PROTECT, null=True, blank=True, related_name="changes", db_constraint=False
    )
    import_line = models.BigIntegerField(null=True, blank=True, help_text="Where in the file, from 1.")
    undo_of = models.ForeignKey(
        ImportRun,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        db_constraint=False,
        db_index=False,  # looked for by the animal
        help_text="The import that this change undid for the animal.",
    )
    bulk_change = models.ForeignKey(
        BulkChange,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="changes",
        db_constraint=False,
        db_index=False,  # the migration makes one of the few rows that have one
    )

    class Meta:
        """A part of `PetChange`."""

        abstract = True


class Pet(models.Model):
    """An animal in the catalogue."""

    name = NameField(max_length=NAME_LENGTH, validators=[validate_name])
    category = models.ForeignKey(Category, on_delete=models.PROTECT, related_name="pets", db_index=False)
    status = models.CharField(max_length=9, choices=PetStatus, default=PetStatus.AVAILABLE)
    external_reference = NameField(
        max_length=REFERENCE_LENGTH,
        null=True,
        blank=True,
        validators=[validate_reference],
        help_text="The store's own number for this animal. Imports update by it; the API never shows it.",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    history = HistoricalRecords(
        bases=[ChangeOfPet],
        custom_model_name="PetChange",
        verbose_name="change of an animal",
        verbose_name_plural="changes of animals",
        history_id_field=models.BigAutoField(primary_key=True),
        excluded_fields=["created_at", "updated_at"],
        no_db_index=["id", "category"],  # the migration makes one of id and history_id, for "the change before"
        get_user=staff_member,
    )

    class Meta:
        """One index per shape of the list: the primary key, and status, or category and status, before it."""

        verbose_name = "animal"
        permissions: ClassVar = [("export_pet", "Can export animals"), ("restore_pet", "Can restore deleted animals")]
        indexes: ClassVar = [
            models.Index(fields=["status", "id"], name="pet_status_id"),
            models.Index(fields=["category", "status", "id"], name="pet_category_status_id"),
        ]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["external_reference"],
                name="pet_external_reference_is_unique",
                violation_error_message="Another animal has this external reference.",
            ),
            models.CheckConstraint(condition=models.Q(status__in=PetStatus.values), name="pet_status_is_known"),
            models.CheckConstraint(condition=~models.Q(name=""), name="pet_name_is_not_empty"),
            models.CheckConstraint(condition=~models.Q(external_reference=""), name="pet_reference_is_not_empty"),
        ]

    def __str__(self) -> str:
        """Return the name."""
        return str(self.name)


class StockMovement(models.Model):
    """So many animals more, or fewer. Triggers of the database write it, whichever way an animal is changed.

    The sum by category and status is the stock; the sum by day is how many animals of the catalogue were added then.
    `pets.stock` sums, and compacts: what was counted again has a day, or a category and a status, and not all three.
    """

    day = models.DateField(null=True, help_text="When the animals were added, in UTC.")
    category = models.ForeignKey(
        Category, on_delete=models.DO_NOTHING, null=True, related_name="+", db_constraint=False, db_index=False
    )
    status = models.CharField(max_length=9, choices=PetStatus, null=True)
    animals = models.BigIntegerField()

    def __str__(self) -> str:
        """Return how many, and what they are."""
        return f"{self.animals:+} {self.status}, added on {self.day}"


class Sale(models.Model):
    """On which day an animal that is sold became so. Triggers of the database write it.

    An animal that was sold when it came into the catalogue has none: nobody knows its day.
    """

    pet = models.OneToOneField(
        Pet, on_delete=models.DO_NOTHING, primary_key=True, related_name="sale", db_constraint=False
    )
    day = models.DateField("sold on", db_index=True, help_text="In UTC.")

    def __str__(self) -> str:
        """Return the animal and the day."""
        return f"animal {self.pet_id}, sold on {self.day}"


class EndedSale(models.Model):
    """A sale that ended: the animal was sold no longer, or was deleted. Triggers of the database write it.

    `ended_at` is the `updated_at` of the animal after the change, which an import or a bulk change shares with its rows
    of history, so that undoing it finds the day. The last one of a deleted animal is what restoring it needs.
    """

    pet = models.ForeignKey(Pet, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    day = models.DateField(help_text="On which it had been sold, in UTC.")
    ended_at = models.DateTimeField()

    class Meta:
        """Looked for by the animal and the change."""

        indexes: ClassVar = [models.Index(fields=["pet", "ended_at"], name="ended_sale_of_pet")]

    def __str__(self) -> str:
        """Return the animal and the day."""
        return f"animal {self.pet_id}, had been sold on {self.day}"
