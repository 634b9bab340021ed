"""The table of bulk changes becomes that of all changes of several animals: more columns, and the model moves here.

It keeps its name, and so does the column of the history that refers to it. No row is copied, and the release before
goes on reading and writing it.
"""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

MODEL = migrations.CreateModel(
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
                default=list, help_text="The animals that were left as they are: a list of `[id, name, reason]`."
            ),
        ),
        ("left_count", models.BigIntegerField(default=0, db_default=0, help_text="How many were left. `left` has the first.")),
        (
            "state",
            models.CharField(
                choices=[("running", "Running"), ("done", "Done"), ("stopped", "Stopped")],
                default="done",
                db_default="done",
                max_length=7,
            ),
        ),
        ("outcome", models.CharField(default="", db_default="", help_text="Why it was stopped.", max_length=300)),
        ("unreached", models.BigIntegerField(default=0, db_default=0, help_text="Animals that it was stopped before.")),
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
    ],
    options={"db_table": "pets_bulkchange", "ordering": ["-id"], "default_permissions": ()},
)

KINDS = [
    *(("edit", "Edit"), ("bulk change", "Bulk"), ("import", "Import"), ("deletion", "Deletion")),
    *(("restore", "Restore"), ("undo", "Undo"), ("merge", "Merge")),
]
COLUMNS = {
    "kind": models.CharField(choices=KINDS, default="bulk change", db_default="bulk change", max_length=11),
    "added": models.BigIntegerField(default=0, db_default=0, help_text="Animals that were added or restored."),
    "deleted": models.BigIntegerField(default=0, db_default=0, help_text="Animals that were deleted."),
    "request_id": models.CharField(
        default="", db_default="", help_text="The X-Request-ID of the request, if any.", max_length=128
    ),
    "worked_at": models.DateTimeField(help_text="When the last block of an undo was done.", null=True),
    "ended_at": models.DateTimeField(null=True),
    "undo_of_row": models.BigIntegerField(help_text="The row of history of an animal that it undoes.", null=True),
    "passed": models.BigIntegerField(default=0, db_default=0, help_text="Animals of the undone change that were decided."),
    "reached": models.BigIntegerField(help_text="The last row of history that the undo decided.", null=True),
}


class Migration(migrations.Migration):
    initial = True

    dependencies = [("pets", "0011_search_index"), migrations.swappable_dependency(settings.AUTH_USER_MODEL)]

    operations = [
        migrations.SeparateDatabaseAndState(state_operations=[MODEL]),
        *(migrations.AddField("change", name, column) for name, column in COLUMNS.items()),
    ]
