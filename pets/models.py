"""Animals, their history and stock, saved views of their list; and the records of imports, which are below.

Files come in through `files/`. The records of imports are here, as the history names the import that undid a row.
"""

from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models.functions import Length
from simple_history.models import HistoricalRecords

from categories.models import Category
from categories.names import NAME_LENGTH, NameField, validate_name, visible_text
from history.models import HistoryRow, change_of_row, staff_member

REFERENCE_LENGTH = 100


class PetStatus(models.TextChoices):
    """Availability of an animal (interface document, section 2)."""

    AVAILABLE = "available"
    PENDING = "pending"
    SOLD = "sold"


def validate_reference(reference: str) -> None:
    """Raise `ValidationError` unless `reference` has 1 to 100 code points, one of them visible, none a control."""
    visible_text(reference, longest=REFERENCE_LENGTH)


class ChangeOfPet(HistoryRow):
    """What a change was a part of, if it was no change by itself."""

    import_line = models.BigIntegerField(null=True, blank=True, help_text="Where in the file, from 1.")
    undo_of = models.ForeignKey(
        "pets.ImportRun",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        db_constraint=False,
        db_index=False,  # looked for by the animal
        help_text="The import that this change undid for the animal.",
    )
    change = change_of_row(column="bulk_change_id")
    sold_on = models.DateField(null=True, blank=True, editable=False)
    """As of the animal; a trigger copies it. Rows of before 2.0 have it where the sale ended with the next row."""

    class Meta:
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
    sold_on = models.DateField(
        null=True,
        editable=False,
        help_text="In UTC. Kept by a trigger. Not known of an animal that was sold when it was added.",
    )

    history = HistoricalRecords(
        bases=[ChangeOfPet],
        custom_model_name="PetChange",
        verbose_name="change of an animal",
        verbose_name_plural="changes of animals",
        history_id_field=models.BigAutoField(primary_key=True),
        excluded_fields=["created_at", "updated_at", "sold_on"],
        no_db_index=["id", "category"],  # the migration makes one of id and history_id, for "the change before"
        get_user=staff_member,
    )

    class Meta:
        """One index per shape of the list: before the primary key status, category and status, or the day of sale."""

        verbose_name = "animal"
        permissions: ClassVar = [("export_pet", "Can export animals"), ("restore_pet", "Can restore deleted animals")]
        indexes: ClassVar = [
            models.Index(fields=["status", "id"], name="pet_status_id"),
            models.Index(fields=["category", "status", "id"], name="pet_category_status_id"),
            models.Index(fields=["sold_on", "id"], condition=models.Q(sold_on__isnull=False), name="pet_sold_on"),
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
        return f"{self.animals:+} {self.status}, added on {self.day}"


class SavedView(models.Model):
    """A name that one person gave to a query of the list of animals."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=60)
    query = models.CharField(max_length=2_000, blank=True)
    is_shared = models.BooleanField("share with everyone", default=False, db_default=False)

    class Meta:
        ordering: ClassVar = ["name"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["user", "name"], name="saved_view_is_one")]

    def __str__(self) -> str:
        return self.name


# --- Imports ---------------------------------------------------------------------------------------------------------


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

STANDARD_INPUT = "-"
"""What a file that was piped is called."""


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
    """Of release 1.6."""
    outcome = models.TextField(blank=True, help_text="Why it was rejected, stopped or failed; how it was undone.")
    previewed_at = models.DateTimeField(null=True, help_text="When its sender saw what it would do.")
    reading_share = models.FloatField(null=True, help_text="How much of its time reading took, from 0 to 1.")
    """Of release 1.6."""
    started_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)
    undone_at = models.DateTimeField(null=True)
    change = models.OneToOneField("changes.Change", on_delete=models.PROTECT, null=True, related_name="imported")
    """What it did; none of one that wrote nothing."""

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

    @property
    def left_out(self) -> int:
        """How many rows were left out because someone chose that for one of their values."""
        read = self.state in {ImportState.DRY_RUN, *IMPORTED}
        return self.rows - self.created - self.updated - self.unchanged - self.rejected if read else 0

    @property
    def seconds(self) -> float:
        """How long it took; 0 if it has no end."""
        return (self.finished_at - self.started_at).total_seconds() if self.finished_at else 0.0


class ImportUpload(models.Model):
    """A file in the back office, kept until its sender has seen what it would do and decided."""

    uploaded_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    file_name = models.CharField(max_length=255)
    content = models.BinaryField()
    """Its beginning; `UploadPart` has the rest."""
    options = models.JSONField(help_text="What was chosen in the form.")
    rejects = models.BinaryField(default=b"", help_text="The rejected rows, as import_pets --rejects writes them.")
    run = models.ForeignKey(ImportRun, on_delete=models.SET_NULL, null=True, related_name="uploads")
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)
    work: Any = models.JSONField(null=True, help_text="What is done with it, for whom, and what was found.")
    waits_since = models.DateTimeField(null=True, help_text="Since when a process should check or import it.")
    stop_asked = models.BooleanField(db_default=False)

    class Meta:
        """The index finds what waits."""

        indexes: ClassVar = [
            models.Index(
                fields=["waits_since"], condition=models.Q(waits_since__isnull=False), name="upload_that_waits"
            )
        ]

    def __str__(self) -> str:
        return self.file_name

    @property
    def size(self) -> int:
        rest = self.parts.aggregate(bytes=models.Sum(Length("content")))["bytes"]
        return len(self.content) + (rest or 0)


class UploadPart(models.Model):
    """So much of a file as the database takes at a time."""

    upload = models.ForeignKey(ImportUpload, on_delete=models.CASCADE, related_name="parts")
    content = models.BinaryField()

    class Meta:
        default_permissions = ()
        ordering: ClassVar = ["pk"]

    def __str__(self) -> str:
        return str(self.upload)


class ColumnProfile(models.Model):
    """What the columns under one header are; the next file with this header is read in the same way."""

    name = models.CharField(max_length=60, unique=True)
    header = models.JSONField(help_text="The titles of the columns, in lower case and without blanks around them.")
    columns = models.JSONField(help_text="What each of them is in an import; empty for one that is left out.")
    encoding = models.CharField(max_length=40, blank=True, help_text="Of files that are not UTF-8.")
    sheet = models.CharField(max_length=255, blank=True, db_default="", help_text="Of workbooks that have several.")
    defaults = models.JSONField(default=dict, help_text="The category and status of new animals without one.")
    fill_merged = models.BooleanField(null=True, help_text="Whether merged cells have the value of the first.")
    values: Any = models.JSONField(null=True, help_text="What the values of its columns become, by column.")
    saved_by = models.CharField(max_length=150, help_text='"staff anna", or the account that ran the command.')
    saved_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering: ClassVar = ["name"]

    def __str__(self) -> str:
        return self.name
