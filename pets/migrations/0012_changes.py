"""Imports have a change, and rows of history refer to one by the column that they had for bulk changes."""

import django.db.models.deletion
from django.db import migrations, models

MOVED = [
    migrations.RemoveField(model_name="selection", name="bulk_change"),
    migrations.RemoveField(model_name="petchange", name="bulk_change"),
    migrations.DeleteModel(name="BulkChange"),
    migrations.AddField(
        model_name="petchange",
        name="change",
        field=models.ForeignKey(
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
    migrations.AddField(
        model_name="selection",
        name="change",
        field=models.OneToOneField(
            db_column="bulk_change_id",
            null=True,
            on_delete=django.db.models.deletion.CASCADE,
            related_name="selection",
            to="changes.change",
        ),
    ),
    migrations.AlterField(
        model_name="petchange",
        name="import_run",
        field=models.ForeignKey(
            blank=True,
            db_constraint=False,
            db_index=False,
            null=True,
            on_delete=django.db.models.deletion.PROTECT,
            related_name="changes",
            to="pets.importrun",
        ),
    ),
    migrations.CreateModel(
        name="BulkChange",
        fields=[],
        options={"ordering": ["-id"], "proxy": True, "indexes": [], "constraints": []},
        bases=("changes.change",),
    ),
]


class Migration(migrations.Migration):
    reviewed = "The table of imports has a row for each import: its new unique index is made in a moment."
    dependencies = [("pets", "0011_search_index"), ("changes", "0001_changes")]

    operations = [
        migrations.SeparateDatabaseAndState(state_operations=MOVED),
        migrations.AddField(
            model_name="importrun",
            name="change",
            field=models.OneToOneField(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="imported", to="changes.change"
            ),
        ),
    ]
