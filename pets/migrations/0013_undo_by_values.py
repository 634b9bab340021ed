"""What undoing needs: the day of a sale that ended, which import a change undid, and states of their own."""

import django.db.models.deletion
from django.db import migrations, models

from pets import triggers

STATES = [
    ("running", "Running"),
    ("done", "Done"),
    ("dry run", "Dry Run"),
    ("rejected", "Rejected"),
    ("already imported", "Already imported"),
    ("stopped", "Stopped"),
    ("failed", "Failed"),
    ("killed", "Killed"),
    ("partly undone", "Partly Undone"),
    ("undone", "Undone"),
]


class Migration(migrations.Migration):
    dependencies = [("pets", "0012_ids_of_an_import")]

    operations = [
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
            options={"indexes": [models.Index(fields=["pet", "ended_at"], name="ended_sale_of_pet")]},
        ),
        migrations.AddField(
            model_name="petchange",
            name="undo_of",
            field=models.ForeignKey(
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
        migrations.AlterField(
            model_name="bulkchange",
            name="undo_of",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="undoings",
                to="pets.bulkchange",
            ),
        ),
        migrations.RemoveConstraint(model_name="importrun", name="import_state_is_known"),
        migrations.AlterField(
            model_name="importrun",
            name="state",
            field=models.CharField(choices=STATES, default="running", max_length=16),
        ),
        migrations.AddConstraint(
            model_name="importrun",
            constraint=models.CheckConstraint(
                condition=models.Q(("state__in", [state for state, _ in STATES])), name="import_state_is_known"
            ),
        ),
        migrations.RemoveField(model_name="importupload", name="confirmed_at"),
        migrations.RunPython(lambda *_: triggers.install(), lambda *_: triggers.remove()),
    ]
