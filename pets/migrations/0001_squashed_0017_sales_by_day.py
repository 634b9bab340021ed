"""Animals, their history, imports, what a bulk change selects, and the stock that triggers keep."""

import categories.names
import django.db.models.deletion
import pets.models
import simple_history.models
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True
    replaces = [
        ("pets", "0001_pets"),
        ("pets", "0004_saved_views"),
        ("pets", "0005_previews_of_imports"),
        ("pets", "0007_lists_by_category"),
        ("pets", "0008_reading_share"),
        ("pets", "0009_bulk_changes_in_blocks"),
        ("pets", "0012_changes"),
        ("pets", "0014_column_profiles"),
        ("pets", "0016_large_uploads"),
        ("pets", "0017_sales_by_day"),
    ]

    dependencies = [
        ("categories", "0001_squashed_0004_changes"),
        ("changes", "0001_squashed_0002_merges"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Pet",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", categories.names.NameField(max_length=255, validators=[categories.names.validate_name])),
                (
                    "status",
                    models.CharField(
                        choices=[("available", "Available"), ("pending", "Pending"), ("sold", "Sold")],
                        default="available",
                        max_length=9,
                    ),
                ),
                (
                    "external_reference",
                    categories.names.NameField(
                        blank=True,
                        help_text="The store's own number for this animal. Imports update by it; the API never shows it.",
                        max_length=100,
                        null=True,
                        validators=[pets.models.validate_reference],
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                (
                    "category",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="pets",
                        to="categories.category",
                    ),
                ),
            ],
            options={
                "verbose_name": "animal",
                "permissions": [("export_pet", "Can export animals"), ("restore_pet", "Can restore deleted animals")],
                "indexes": [
                    models.Index(fields=["status", "id"], name="pet_status_id"),
                    models.Index(fields=["category", "status", "id"], name="pet_category_status_id"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("external_reference",),
                        name="pet_external_reference_is_unique",
                        violation_error_message="Another animal has this external reference.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("status__in", ["available", "pending", "sold"])), name="pet_status_is_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("name", ""), _negated=True), name="pet_name_is_not_empty"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("external_reference", ""), _negated=True), name="pet_reference_is_not_empty"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ImportRun",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "who",
                    models.CharField(help_text='"staff anna", or the account that ran the command.', max_length=150),
                ),
                ("file_name", models.CharField(help_text='Without its folder; "-" is standard input.', max_length=255)),
                (
                    "sha256",
                    models.CharField(
                        db_index=True, help_text="Of the file as it was given, in hexadecimal.", max_length=64
                    ),
                ),
                ("options", models.JSONField(help_text="What was asked for.")),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("running", "Running"),
                            ("done", "Done"),
                            ("dry run", "Preview"),
                            ("rejected", "Rejected"),
                            ("already imported", "Already imported"),
                            ("stopped", "Stopped"),
                            ("failed", "Failed"),
                            ("killed", "Killed"),
                            ("partly undone", "Partly Undone"),
                            ("undone", "Undone"),
                        ],
                        default="running",
                        max_length=16,
                    ),
                ),
                ("rows", models.BigIntegerField(default=0, help_text="Rows read, without the header.")),
                ("created", models.BigIntegerField(default=0, help_text="Animals that were added.")),
                ("updated", models.BigIntegerField(default=0, help_text="Animals that were changed.")),
                (
                    "unchanged",
                    models.BigIntegerField(default=0, help_text="Rows that say what the catalogue already said."),
                ),
                (
                    "matched_by_id",
                    models.BigIntegerField(default=0, help_text="Rows whose animal was found by its ID."),
                ),
                ("rejected", models.BigIntegerField(default=0, help_text="Rows with an error.")),
                (
                    "new_categories",
                    models.JSONField(default=list, help_text="The ids of the categories that were added."),
                ),
                ("first_id", models.BigIntegerField(help_text="The first of its reserved ids.", null=True)),
                ("last_id", models.BigIntegerField(help_text="The last of them.", null=True)),
                ("rejects", models.TextField(blank=True, help_text="The file with the rejected rows.")),
                (
                    "rejects_sha256",
                    models.CharField(
                        blank=True, help_text="Of that file as it was written, in hexadecimal.", max_length=64
                    ),
                ),
                (
                    "outcome",
                    models.TextField(
                        blank=True, help_text="Why it was rejected, stopped or failed; how it was undone."
                    ),
                ),
                ("started_at", models.DateTimeField(auto_now_add=True)),
                ("finished_at", models.DateTimeField(null=True)),
                ("undone_at", models.DateTimeField(null=True)),
                ("previewed_at", models.DateTimeField(help_text="When its sender saw what it would do.", null=True)),
                (
                    "reading_share",
                    models.FloatField(help_text="How much of its time reading took, from 0 to 1.", null=True),
                ),
                (
                    "change",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="imported",
                        to="changes.change",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
                "indexes": [
                    models.Index(condition=models.Q(("state", "running")), fields=["id"], name="import_that_runs")
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "state__in",
                                [
                                    "running",
                                    "done",
                                    "dry run",
                                    "rejected",
                                    "already imported",
                                    "stopped",
                                    "failed",
                                    "killed",
                                    "partly undone",
                                    "undone",
                                ],
                            )
                        ),
                        name="import_state_is_known",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ImportUpload",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("file_name", models.CharField(max_length=255)),
                ("content", models.BinaryField()),
                ("options", models.JSONField(help_text="What was chosen in the form.")),
                (
                    "rejects",
                    models.BinaryField(
                        default=b"", help_text="The rejected rows, as import_pets --rejects writes them."
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True, db_index=True)),
                (
                    "run",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="uploads",
                        to="pets.importrun",
                    ),
                ),
                (
                    "uploaded_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("work", models.JSONField(help_text="How far a thread came with it, and what it found.", null=True)),
                ("stop_asked", models.BooleanField(db_default=False)),
            ],
        ),
        migrations.CreateModel(
            name="Sale",
            fields=[
                (
                    "pet",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        primary_key=True,
                        related_name="sale",
                        serialize=False,
                        to="pets.pet",
                    ),
                ),
                ("day", models.DateField(help_text="In UTC.", verbose_name="sold on")),
            ],
            options={
                "indexes": [models.Index(fields=["day", "pet"], name="sale_day")],
            },
        ),
        migrations.CreateModel(
            name="EndedSale",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("day", models.DateField(help_text="On which it had been sold, in UTC.")),
                ("ended_at", models.DateTimeField()),
                (
                    "pet",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="pets.pet",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["pet", "ended_at"], name="ended_sale_of_pet")],
            },
        ),
        migrations.CreateModel(
            name="PetChange",
            fields=[
                ("id", models.BigIntegerField(auto_created=True, blank=True, verbose_name="ID")),
                (
                    "actor",
                    models.CharField(
                        blank=True,
                        help_text='Who, in words that stay: "staff anna", "key Ab3dE6gH", "import 12".',
                        max_length=200,
                    ),
                ),
                (
                    "request_id",
                    models.CharField(blank=True, help_text="The X-Request-ID of the request, if any.", max_length=128),
                ),
                ("import_line", models.BigIntegerField(blank=True, help_text="Where in the file, from 1.", null=True)),
                ("name", categories.names.NameField(max_length=255, validators=[categories.names.validate_name])),
                (
                    "status",
                    models.CharField(
                        choices=[("available", "Available"), ("pending", "Pending"), ("sold", "Sold")],
                        default="available",
                        max_length=9,
                    ),
                ),
                (
                    "external_reference",
                    categories.names.NameField(
                        blank=True,
                        help_text="The store's own number for this animal. Imports update by it; the API never shows it.",
                        max_length=100,
                        null=True,
                        validators=[pets.models.validate_reference],
                    ),
                ),
                ("history_id", models.BigAutoField(editable=False, primary_key=True, serialize=False)),
                ("history_date", models.DateTimeField()),
                ("history_change_reason", models.CharField(max_length=100, null=True)),
                (
                    "history_type",
                    models.CharField(choices=[("+", "Created"), ("~", "Changed"), ("-", "Deleted")], max_length=1),
                ),
                (
                    "category",
                    models.ForeignKey(
                        blank=True,
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="categories.category",
                    ),
                ),
                (
                    "history_user",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "import_run",
                    models.ForeignKey(
                        blank=True,
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="changes",
                        to="pets.importrun",
                    ),
                ),
                (
                    "undo_of",
                    models.ForeignKey(
                        blank=True,
                        db_constraint=False,
                        db_index=False,
                        help_text="The import that this change undid for the animal.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="pets.importrun",
                    ),
                ),
                (
                    "change",
                    models.ForeignKey(
                        blank=True,
                        db_column="bulk_change_id",
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="%(class)s_rows",
                        to="changes.change",
                    ),
                ),
            ],
            options={
                "verbose_name": "change of an animal",
                "verbose_name_plural": "changes of animals",
                "ordering": ("-history_date", "-history_id"),
                "get_latest_by": ("history_date", "history_id"),
            },
            bases=(simple_history.models.HistoricalChanges, models.Model),
        ),
        migrations.CreateModel(
            name="StockMovement",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("day", models.DateField(help_text="When the animals were added, in UTC.", null=True)),
                (
                    "status",
                    models.CharField(
                        choices=[("available", "Available"), ("pending", "Pending"), ("sold", "Sold")],
                        max_length=9,
                        null=True,
                    ),
                ),
                ("animals", models.BigIntegerField()),
                (
                    "category",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="categories.category",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="SavedView",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=60)),
                ("query", models.CharField(blank=True, max_length=2000)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "ordering": ["name"],
                "constraints": [models.UniqueConstraint(fields=("user", "name"), name="saved_view_is_one")],
            },
        ),
        migrations.CreateModel(
            name="Selection",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("filters", models.TextField(blank=True, help_text="The query of the list, to go back to it.")),
                ("animals", models.BigIntegerField(default=0, help_text="How many.")),
                (
                    "counts",
                    models.JSONField(
                        default=list, help_text="How many of what: a list of `[status, category, animals]`."
                    ),
                ),
                (
                    "value",
                    models.CharField(
                        blank=True, help_text="What the column of the bulk change becomes.", max_length=20
                    ),
                ),
                ("worked_at", models.DateTimeField(help_text="When the last block was done.", null=True)),
                ("made_at", models.DateTimeField(auto_now_add=True, db_index=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "change",
                    models.OneToOneField(
                        db_column="bulk_change_id",
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="selection",
                        to="changes.change",
                    ),
                ),
            ],
            options={
                "default_permissions": (),
            },
        ),
        migrations.CreateModel(
            name="SelectedBlock",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("size", models.IntegerField()),
                (
                    "animals",
                    models.JSONField(
                        help_text="A list of `[id, row of history]`: the row that was the latest, or is undone."
                    ),
                ),
                (
                    "selection",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="blocks", to="pets.selection"
                    ),
                ),
            ],
            options={
                "default_permissions": (),
            },
        ),
        migrations.CreateModel(
            name="ColumnProfile",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=60, unique=True)),
                (
                    "header",
                    models.JSONField(
                        help_text="The titles of the columns, in lower case and without blanks around them."
                    ),
                ),
                (
                    "columns",
                    models.JSONField(help_text="What each of them is in an import; empty for one that is left out."),
                ),
                ("encoding", models.CharField(blank=True, help_text="Of files that are not UTF-8.", max_length=40)),
                (
                    "defaults",
                    models.JSONField(default=dict, help_text="The category and status of new animals without one."),
                ),
                (
                    "saved_by",
                    models.CharField(help_text='"staff anna", or the account that ran the command.', max_length=150),
                ),
                ("saved_at", models.DateTimeField(auto_now=True)),
            ],
            options={
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            name="UploadPart",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("content", models.BinaryField()),
                (
                    "upload",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="parts", to="pets.importupload"
                    ),
                ),
            ],
            options={
                "ordering": ["pk"],
                "default_permissions": (),
            },
        ),
    ]
