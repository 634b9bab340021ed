"""Changes of several animals. The table was that of bulk changes only, and keeps its name."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True
    replaces = [("changes", "0001_changes"), ("changes", "0002_merges")]

    dependencies = [migrations.swappable_dependency(settings.AUTH_USER_MODEL)]

    operations = [
        migrations.CreateModel(
            name="Change",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("who", models.CharField(max_length=200)),
                ("what", models.CharField(max_length=400)),
                (
                    "column",
                    models.CharField(
                        choices=[("status", "Status"), ("category_id", "Category")],
                        help_text="Of a bulk change.",
                        max_length=11,
                    ),
                ),
                ("changed", models.BigIntegerField(default=0, help_text="Animals that were changed.")),
                (
                    "left",
                    models.JSONField(
                        default=list,
                        help_text="The animals that were left as they are: a list of `[id, name, reason]`.",
                    ),
                ),
                (
                    "left_count",
                    models.BigIntegerField(
                        db_default=0, default=0, help_text="How many were left. `left` has the first."
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[("running", "Running"), ("done", "Done"), ("stopped", "Stopped")],
                        db_default="done",
                        default="done",
                        max_length=7,
                    ),
                ),
                (
                    "outcome",
                    models.CharField(db_default="", default="", help_text="Why it was stopped.", max_length=300),
                ),
                (
                    "unreached",
                    models.BigIntegerField(db_default=0, default=0, help_text="Animals that it was stopped before."),
                ),
                ("made_at", models.DateTimeField(auto_now_add=True)),
                (
                    "undo_of",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="undoings",
                        to="changes.change",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("edit", "Edit"),
                            ("bulk change", "Bulk"),
                            ("import", "Import"),
                            ("deletion", "Deletion"),
                            ("restore", "Restore"),
                            ("undo", "Undo"),
                            ("merge", "Merge"),
                        ],
                        db_default="bulk change",
                        default="bulk change",
                        max_length=11,
                    ),
                ),
                (
                    "added",
                    models.BigIntegerField(db_default=0, default=0, help_text="Animals that were added or restored."),
                ),
                ("deleted", models.BigIntegerField(db_default=0, default=0, help_text="Animals that were deleted.")),
                (
                    "request_id",
                    models.CharField(
                        db_default="", default="", help_text="The X-Request-ID of the request, if any.", max_length=128
                    ),
                ),
                ("worked_at", models.DateTimeField(help_text="When the last block of an undo was done.", null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "undo_of_row",
                    models.BigIntegerField(help_text="The row of history of an animal that it undoes.", null=True),
                ),
                (
                    "passed",
                    models.BigIntegerField(
                        db_default=0, default=0, help_text="Animals of the undone change that were decided."
                    ),
                ),
                (
                    "reached",
                    models.BigIntegerField(help_text="The last row of history that the undo decided.", null=True),
                ),
                ("merged_category", models.BigIntegerField(null=True)),
                ("into_category", models.BigIntegerField(null=True)),
            ],
            options={
                "db_table": "pets_bulkchange",
                "ordering": ["-id"],
                "default_permissions": (),
            },
        ),
        migrations.RunSQL(
            [
                "CREATE INDEX change_made ON pets_bulkchange (made_at, id)",
                "CREATE INDEX change_undo_of_row ON pets_bulkchange (undo_of_row) WHERE undo_of_row IS NOT NULL",
                "CREATE INDEX change_that_runs ON pets_bulkchange (id) WHERE state = 'running'",
            ],
            ["DROP INDEX change_made", "DROP INDEX change_undo_of_row", "DROP INDEX change_that_runs"],
        ),
    ]
